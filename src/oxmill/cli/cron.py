"""`oxmill cron`: schedules and their ticks."""

from __future__ import annotations

from itertools import islice

import click
from msgspec.structs import replace

from oxmill.cli import records
from oxmill.cli.framework import ListGroup
from oxmill.cli.output import Column, Listing, show_all, show_one
from oxmill.cli.session import Session
from oxmill.cli.times import ago, clock, iso
from oxmill.model.job import Enqueue
from oxmill.model.schedule import (
    CODE,
    CatchUp,
    ListSchedules,
    Overlap,
    PutSchedules,
    ScheduleInfo,
    Schedules,
)
from oxmill.model.value import Micros
from oxmill.queue.ids import IdSource
from oxmill.queue.rescheduling import changed, find_schedule
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
            Column("set by", lambda info: info.schedule.source),
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


command = ListGroup("cron", help="List, foresee, run, change, pause, resume and remove schedules.")


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
    info = find_schedule(found, name)
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
    info = find_schedule(read_schedules(session), name)
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


@command.command(
    "set",
    examples=(
        "oxmill cron set nightly --cron '30 4 * * *' --tz Europe/London",
        "oxmill cron set nightly --follow-code",
    ),
)
@click.argument("name")
@click.option("--cron", metavar="EXPRESSION", help="Another cron expression.")
@click.option("--every", metavar="DURATION", help="Another interval.")
@click.option("--tz", metavar="ZONE", help="An IANA time zone, for a cron expression.")
@click.option(
    "--catch-up",
    type=click.Choice([str(choice) for choice in CatchUp]),
    help="What to do about missed ticks.",
)
@click.option("--window", metavar="DURATION", help="How far back a missed tick still counts.")
@click.option(
    "--overlap",
    type=click.Choice([str(choice) for choice in Overlap]),
    help="What to do while the last tick's job is live.",
)
@click.option("--jitter", metavar="DURATION", help="Delay each tick's job by up to this.")
@click.option("--follow-code", is_flag=True, help="Drop such changes when a worker starts next.")
@click.pass_obj
def change(session: Session, /, *, name: str, follow_code: bool, **given: str | None) -> None:
    """Change when a schedule ticks.

    It holds from the next tick on, also where the code declares another time: workers that start
    leave it alone until --follow-code gives the schedule back to the code.
    """
    changes = {key: value for key, value in given.items() if value is not None}
    if follow_code == bool(changes):
        raise click.UsageError("name what to change, such as --cron, or give --follow-code")
    before = find_schedule(read_schedules(session), name).schedule
    if follow_code:
        wanted = replace(before, source=CODE)
    else:
        wanted = changed(before, changes, session.author)
    request = PutSchedules(put=(wanted,), author=session.author)
    session.run(session.driver.scheduling.put_schedules(request))
    after = read_schedules(session)
    info = find_schedule(after, name)
    told = "follows the code from the next start of a worker" if follow_code else _when(info)
    show_one(records.schedule(info), lambda: f"{name}: {told}", session.output)


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
        find_schedule(found, name)


def _put(session: Session, names: tuple[str, ...], request: PutSchedules) -> None:
    _known(session, names)
    session.run(session.driver.scheduling.put_schedules(request))
    after = read_schedules(session)
    states = {name: "paused" if find_schedule(after, name).paused else "open" for name in names}
    show_one(
        {"schedules": states},
        lambda: "\n".join(f"{name}: {state}" for name, state in states.items()),
        session.output,
    )
