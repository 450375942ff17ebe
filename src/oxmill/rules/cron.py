"""Schedules: which instants are ticks, which ticks to fire, and the job that a tick makes.

Cron expressions have five fields, or six with the seconds first, and follow Debian's cron in a zone
of the IANA database: a fixed time that falls into the gap of a clock change runs at its end, once;
one that comes twice runs the first time only; `*/30` and the like go on through both. Intervals are
counted from the epoch, so they keep their phase over restarts, changes and schedulers, and need no
memory: `every="1h"` ticks on the full hour UTC.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo
from itertools import islice
from typing import Final
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError
from msgspec.structs import replace

from oxmill.errors import BadSchedule
from oxmill.model.job import NewJob
from oxmill.model.schedule import CatchUp, Overlap, Schedule
from oxmill.model.settings import SECOND
from oxmill.model.unique import OnConflict, UniqueKey, Until
from oxmill.model.value import Micros, Value

ALIASES: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
LONGEST: Final = 200
"""Characters in an expression: parsing and describing one stays cheap whoever wrote it."""
SHORTEST: Final[Micros] = SECOND // 10
"""The shortest interval."""
ON_TIME: Final[Micros] = 60 * SECOND
"""A tick found within this time counts as on time, not as missed: a deploy may take as long."""
AT_ONCE: Final = 500
"""Ticks that are made up for in one step; the rest follow in the next."""
_TRIES: Final = 10_000

TICK: Final = "oxmill-tick"
"""The header with the instant that a job stands for."""
SCHEDULE: Final = "oxmill-schedule"
"""The header with the name of its schedule."""


class Due(Value, frozen=True):
    """The ticks to fire now, oldest first, and the tick to wait for after them."""

    ticks: tuple[Micros, ...]
    next_at: Micros


def check_schedule(schedule: Schedule) -> None:
    """Raise `BadSchedule` unless the schedule's ticks can be worked out."""
    if (schedule.cron is None) == (schedule.every is None):
        raise BadSchedule(
            f"schedule {schedule.name!r} needs a cron expression or an interval, and not both"
        )
    if schedule.every is not None and schedule.every < SHORTEST:
        raise BadSchedule(
            f"schedule {schedule.name!r}: an interval of {schedule.every / SECOND:g} s is too "
            f"short; use at least {SHORTEST / SECOND:g} s"
        )
    if schedule.jitter < 0 or schedule.window < 0:
        raise BadSchedule(f"schedule {schedule.name!r}: jitter and window cannot be negative")
    if schedule.job.unique is not None and schedule.overlap is not Overlap.ALLOW:
        raise BadSchedule(
            f"schedule {schedule.name!r}: its job has a unique key of its own, which says what happens "
            f"when the last one is still live; leave overlap out, or bind with using(unique=False)"
        )
    next_tick(schedule, 0)


def next_tick(schedule: Schedule, after: Micros) -> Micros:
    """The first tick after this instant."""
    return next(ticks_after(schedule, after))


def ticks_after(schedule: Schedule, after: Micros) -> Iterator[Micros]:
    """Every tick after this instant, in strictly rising order."""
    if schedule.every is not None:
        first = (after // schedule.every + 1) * schedule.every
        while True:
            yield first
            first += schedule.every
    yield from _cron_ticks(schedule.cron or "", schedule.zone, after)


def _cron_ticks(expression: str, zone: str, after: Micros) -> Iterator[Micros]:
    start = datetime.fromtimestamp(after // SECOND, tz=find_zone(zone))
    last, wasted = after, 0
    for moment in _parse(expression, start):
        tick = round(moment.timestamp()) * SECOND
        # In the hour that comes twice the simulation may step back: only later instants count.
        if tick > last:
            yield tick
            last, wasted = tick, 0
        elif (wasted := wasted + 1) > _TRIES:
            break
    raise BadSchedule(
        f"{expression!r} never falls due within 50 years; check its day and month fields"
    )


def _parse(expression: str, start: datetime) -> CronSim:
    if len(expression) > LONGEST:
        raise BadSchedule(
            f"a cron expression of {len(expression)} characters is too long; the limit is "
            f"{LONGEST}. Split it into several schedules"
        )
    plain = ALIASES.get(expression.strip().lower(), expression)
    try:
        return CronSim(plain, start)
    except (CronSimError, AssertionError, ValueError) as error:
        raise BadSchedule(
            f"{expression!r} is not a cron expression ({error}); write 'minute hour day month "
            f"weekday', seconds before them if needed, or one of {', '.join(ALIASES)}"
        ) from None


def find_zone(name: str) -> tzinfo:
    """The time zone of this IANA name."""
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        raise BadSchedule(
            f"{name!r} is not a time zone known here; use an IANA name such as 'Europe/Paris', and "
            f"install the tzdata package where the system has no zone database"
        ) from None


def due_ticks(schedule: Schedule, next_at: Micros, now: Micros) -> Due:
    """What to fire at `now`, when `next_at` is the earliest tick that has not been fired.

    skip: the newest tick, if it is on time. one: the newest, if it is within the window. all:
    every tick within the window, oldest first, a bounded number at once.
    """
    if schedule.catch_up is CatchUp.ALL:
        first = max(next_at, now - schedule.window)
        ticks = tuple(islice(_between(schedule, first, now), AT_ONCE))
    else:
        reach = schedule.window if schedule.catch_up is CatchUp.ONE else ON_TIME
        newest = _newest(schedule, max(next_at, now - reach), now)
        ticks = () if newest is None else (newest,)
    full = len(ticks) == AT_ONCE
    return Due(ticks=ticks, next_at=next_tick(schedule, ticks[-1] if full else now))


def _between(schedule: Schedule, first: Micros, last: Micros) -> Iterator[Micros]:
    for tick in ticks_after(schedule, first - 1):
        if tick > last:
            return
        yield tick


def _newest(schedule: Schedule, first: Micros, last: Micros) -> Micros | None:
    """The newest tick from `first` to `last`, by halving: there may be millions between them."""
    newest = next_tick(schedule, first - 1)
    if newest > last:
        return None
    high = last  # no tick lies between here and `last`
    while newest < high:
        middle = (newest + high) // 2
        tick = next_tick(schedule, middle)
        if tick <= last:
            newest = tick
        else:
            high = middle
    return newest


def tick_job(schedule: Schedule, tick: Micros) -> NewJob:
    """The job of one tick: the same on every scheduler, down to its id and its jitter."""
    import hashlib  # noqa: PLC0415 - idle workers do without

    digest = hashlib.sha256(f"{schedule.name}\0{tick}".encode()).digest()
    offset = int.from_bytes(digest[16:24]) % (schedule.jitter + 1)
    moment = datetime.fromtimestamp(tick / SECOND, tz=UTC)
    return replace(
        schedule.job,
        id=digest[:16].hex(),
        delay=0,
        run_at=tick + offset if offset else None,
        unique=schedule.job.unique or _overlap_key(schedule),
        headers={
            **schedule.job.headers,
            SCHEDULE: schedule.name,
            TICK: moment.isoformat(),
        },
    )


def _overlap_key(schedule: Schedule) -> UniqueKey | None:
    if schedule.overlap is Overlap.ALLOW:
        return None
    # To queue one is to let one more run follow the live one: behind it, never beside it.
    after = OnConflict.SKIP if schedule.overlap is Overlap.SKIP else OnConflict.RERUN
    return UniqueKey(key=f"schedule:{schedule.name}", until=Until.FINISHED, on_conflict=after)
