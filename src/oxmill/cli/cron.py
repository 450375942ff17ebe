"""`oxmill cron`: schedules and their ticks."""

from __future__ import annotations

from itertools import islice

import click
from msgspec.structs import replace

from oxmill.cli import records
from oxmill.cli.exits import NotFound
from oxmill.cli.framework import ListGroup, nearest
from oxmill.cli.output import Column, Listing, show_all, show_one
from oxmill.cli.session import Session
from oxmill.cli.times import ago, clock, iso
from oxmill.model.job import Enqueue
from oxmill.model.schedule import ListSchedules, PutSchedules, ScheduleInfo, Schedules
from oxmill.model.value import Micros
from oxmill.queue.ids import IdSource
from oxmill.rules.cron import ticks_after
from oxmill.rules.duration import spell


def schedule_listing(now: Micros) -> Listing[ScheduleInfo]:
    """Schedules as a table."""
    return Listing(
        columns=(
            Column("schedule", lambda info: info.schedule.name),
            Column("when", _when),
            Column("task", lambda info: info.schedule.job.task),
            Column("state", _state),
            Column("next", lambda info: ago(info.next_at, now)),
            Column("last", lambda info: ago(info.last_at, now)),
        ),
        record=records.schedule,
        empty="the store knows no schedule. Those of an app are put there when a worker starts",
    )


def _when(info: ScheduleInfo) -> str:
    plan = info.schedule
    if plan.every is not None:
        return f"every {spell(plan.every)}"
    return f"{plan.cron}" if plan.zone == "UTC" else f"{plan.cron} {plan.zone}"


def _state(info: ScheduleInfo) -> str:
    if info.error:
        return f"failed: {info.error}"
    return "paused" if info.paused else "open"


def read_schedules(session: Session) -> Schedules:
    """All schedules that the store knows."""
    return session.run(session.driver.scheduling.schedules(ListSchedules()))


command = ListGroup("cron", help="List, foresee, run, pause, resume and remove schedules.")


@command.command("list", examples=("oxmill cron list", "oxmill cron list -o json"))
@click.pass_obj
def list_schedules(session: Session) -> None:
    """List schedules with their next and last tick."""
    found = read_schedules(session)
    show_all(found.items, schedule_listing(found.now), session.output)


@command.command(
    "next", examples=("oxmill cron next nightly", "oxmill cron next nightly -n 20 -o json")
)
@click.argument("name")
@click.option("-n", "--number", default=5, type=click.IntRange(1, 1_000), help="How many ticks.")
@click.pass_obj
def foresee(session: Session, *, name: str, number: int) -> None:
    """Show the next ticks of a schedule, as if it were not paused."""
    found = read_schedules(session)
    info = _find(found, name)
    ticks = list(islice(ticks_after(info.schedule, found.now), number))
    show_one(
        {"schedule": name, "ticks": [iso(tick) for tick in ticks]},
        lambda: "\n".join(f"{clock(tick)}  {ago(tick, found.now)}" for tick in ticks),
        session.output,
    )


@command.command(examples=("oxmill cron run nightly", "oxmill cron run nightly -o json"))
@click.argument("name")
@click.pass_obj
def run(session: Session, *, name: str) -> None:
    """Enqueue the job of a schedule now, besides its ticks."""
    info = _find(read_schedules(session), name)
    job = replace(info.schedule.job, id=IdSource()(), delay=0, run_at=None)
    answer = session.run(session.driver.enqueueing.enqueue(Enqueue(jobs=(job,))))[0]
    record = {"id": answer.id, "verdict": answer.verdict, "state": answer.state}
    show_one(record, lambda: answer.id, session.output)


@command.command(examples=("oxmill cron pause nightly", "oxmill cron pause nightly hourly"))
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.pass_obj
def pause(session: Session, *, names: tuple[str, ...]) -> None:
    """Make no more jobs from these schedules until they are resumed."""
    _put(session, names, PutSchedules(pause=names, author=session.author))


@command.command(examples=("oxmill cron resume nightly", "oxmill cron resume nightly hourly"))
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.pass_obj
def resume(session: Session, *, names: tuple[str, ...]) -> None:
    """Go on with paused schedules. Nothing is made up for the pause."""
    _put(session, names, PutSchedules(resume=names, author=session.author))


@command.command("rm", examples=("oxmill cron rm nightly", "oxmill cron rm nightly hourly"))
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.pass_obj
def remove(session: Session, *, names: tuple[str, ...]) -> None:
    """Remove schedules that the code declares no more.

    Jobs that they have made stay. One that the code still declares comes back with the next worker.
    """
    _known(session, names)
    request = PutSchedules(drop=names, author=session.author)
    session.run(session.driver.scheduling.put_schedules(request))
    show_one(
        {"removed": names}, lambda: "\n".join(f"{name}: removed" for name in names), session.output
    )


def _known(session: Session, names: tuple[str, ...]) -> None:
    found = read_schedules(session)
    for name in names:
        _find(found, name)


def _put(session: Session, names: tuple[str, ...], request: PutSchedules) -> None:
    _known(session, names)
    session.run(session.driver.scheduling.put_schedules(request))
    after = read_schedules(session)
    states = {name: "paused" if _find(after, name).paused else "open" for name in names}
    show_one(
        {"schedules": states},
        lambda: "\n".join(f"{name}: {state}" for name, state in states.items()),
        session.output,
    )


def _find(found: Schedules, name: str) -> ScheduleInfo:
    for info in found.items:
        if info.schedule.name == name:
            return info
    near = nearest(name, [info.schedule.name for info in found.items])
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    raise NotFound(f"there is no schedule {name!r}.{hint} See: oxmill cron list")
