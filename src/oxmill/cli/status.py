"""`oxmill status`: one screen."""

from __future__ import annotations

from collections.abc import Sequence

import click

from oxmill.cli import records
from oxmill.cli.cron import read_schedules
from oxmill.cli.framework import Command
from oxmill.cli.health import Scene, problems
from oxmill.cli.output import paint, say, show_all, show_one
from oxmill.cli.queues_look import queue_listing, read_queues
from oxmill.cli.session import Session
from oxmill.cli.workers import read_workers, worker_listing
from oxmill.model.info import Finding, Level


@click.command(cls=Command, examples=("oxmill status", "oxmill status -o json"))
@click.pass_obj
def command(session: Session) -> None:
    """Show queues, workers and what is wrong, on one screen."""
    scene = look(session)
    found = problems(scene)
    if session.output != "table":
        record = {
            "store": session.driver.url,
            "queues": [records.queue(info) for info in scene.queues],
            "workers": [records.worker(info) for info in scene.workers],
            "problems": [records.finding(one) for one in found],
        }
        show_one(record, str, session.output)
        return
    click.echo(f"store  {session.driver.url}\n")
    show_all(scene.queues, queue_listing(scene.now), "table")
    click.echo()
    show_all(scene.workers, worker_listing(scene.now), "table")
    _tell(found)


def look(session: Session) -> Scene:
    """What the store shows now."""
    queues = read_queues(session)
    return Scene(
        now=queues.now,
        queues=queues.items,
        workers=read_workers(session).items,
        schedules=read_schedules(session).items,
    )


def _tell(found: Sequence[Finding]) -> None:
    if not found:
        return
    say("")
    for one in found:
        text = f"{one.name}: {one.found}"
        mark = paint(text, "dim") if one.level is Level.NOTE else paint(text, "warn")
        say(f"{mark}  try: {one.remedy}")
