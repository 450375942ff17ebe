"""`oxmill workers`: who works, and asking them to stop."""

from __future__ import annotations

import click

from oxmill.cli import records
from oxmill.cli.exits import Exit
from oxmill.cli.framework import ListGroup
from oxmill.cli.output import Column, Listing, say, show_all, show_one
from oxmill.cli.session import Session
from oxmill.cli.times import ago
from oxmill.model.info import Command, ListWorkers, Order, WorkerInfo, Workers
from oxmill.model.value import Micros


def worker_listing(now: Micros) -> Listing[WorkerInfo]:
    """Workers as a table."""
    return Listing(
        columns=(
            Column("worker", lambda info: info.id),
            Column("host", lambda info: f"{info.host}:{info.pid}"),
            Column("phase", lambda info: info.phase),
            Column("queues", lambda info: ", ".join(info.queues)),
            Column("busy", lambda info: f"{info.running}/{info.slots}", right=True),
            Column("done", lambda info: f"{info.done:,}", right=True),
            Column("started", lambda info: ago(info.started_at, now)),
            Column("beat", lambda info: ago(info.beat_at, now)),
        ),
        record=records.worker,
        empty="no worker is running. Start one with: oxmill worker",
    )


def read_workers(session: Session) -> Workers:
    """All workers with a fresh beat."""
    return session.run(session.driver.inspecting.workers(ListWorkers()))


command = ListGroup("workers", help="List workers, quiet them and stop them.")


@command.command("list", examples=("oxmill workers", "oxmill workers -o json"))
@click.pass_obj
def list_workers(session: Session) -> None:
    """List workers with a fresh beat."""
    found = read_workers(session)
    show_all(found.items, worker_listing(found.now), session.output)


@command.command(examples=("oxmill workers quiet 0199c3f2a4b5", "oxmill workers quiet --all"))
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--all", "everyone", is_flag=True, help="All workers.")
@click.pass_obj
def quiet(session: Session, *, ids: tuple[str, ...], everyone: bool) -> int:
    """Ask workers to take no new jobs and finish what they run."""
    return _order(session, Command.QUIET, ids, everyone)


@command.command(examples=("oxmill workers stop 0199c3f2a4b5", "oxmill workers stop --all"))
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--all", "everyone", is_flag=True, help="All workers.")
@click.pass_obj
def stop(session: Session, *, ids: tuple[str, ...], everyone: bool) -> int:
    """Ask workers to finish what they run and exit."""
    return _order(session, Command.STOP, ids, everyone)


def _order(session: Session, what: Command, ids: tuple[str, ...], everyone: bool) -> int:
    if bool(ids) is everyone:
        raise click.UsageError("name workers by id (or the start of one), or give --all")
    known = [info.id for info in read_workers(session).items]
    chosen = [one for one in known if everyone or one.startswith(ids)]
    asked = session.run(
        session.driver.housekeeping.order(
            Order(workers=tuple(chosen), command=what, author=session.author)
        )
    ).workers
    show_one(
        {"asked": list(asked)},
        lambda: "\n".join(f"{one} asked to {what}" for one in asked) or "nobody was asked",
        session.output,
    )
    missing = [given for given in ids if not any(one.startswith(given) for one in known)]
    for given in missing:
        say(f"there is no worker {given}; see: oxmill workers", tone="warn")
    return Exit.NOT_FOUND if missing else Exit.OK
