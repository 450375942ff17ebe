"""`oxmill dev`: everything in one process, started again on every change."""

from __future__ import annotations

from pathlib import Path

import click

from oxmill.cli.framework import Command
from oxmill.cli.locate import check_found
from oxmill.cli.output import say
from oxmill.cli.session import Session
from oxmill.cli.supervise import Reloader, oxmill
from oxmill.cli.watch import Watch


@click.command(cls=Command, examples=("oxmill dev app.py", "oxmill dev app.py -n 5"))
@click.argument("file", required=False, metavar="[FILE]")
@click.option("-n", "--slots", type=click.IntRange(1), help="Jobs at once. Default: 20.")
@click.option("--no-reload", is_flag=True, help="Do not watch files.")
@click.pass_obj
def command(session: Session, *, file: str | None, slots: int | None, no_reload: bool) -> int:
    """Run worker and scheduler in one process, and again on every change.

    Without a file it takes the app that every other command would find.
    """
    if file is not None:
        session.name_app(file)
    place = session.place()
    if place is None:
        _ = session.app  # says what to do about it
    else:
        check_found(place)
    say('To enqueue from another terminal:  oxmill enqueue TASK \'{"name": "value"}\'', tone="dim")
    say("To look:                           oxmill status", tone="dim")
    say("In production:                     oxmill worker, with OXMILL_URL set", tone="dim")
    words = ["worker", "--grace", "3s", *session.words()]
    if slots is not None:
        words += ["--slots", str(slots)]
    watch = Watch(Path.cwd())
    return Reloader(oxmill(*words), (lambda: False) if no_reload else watch.changed).run()
