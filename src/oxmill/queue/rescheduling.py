"""What people do to schedules while everything runs."""

from __future__ import annotations

from typing import Any, Final, Literal, TypedDict, Unpack

from msgspec.structs import replace

from oxmill.errors import BadInput, ScheduleNotFound
from oxmill.model.job import Enqueue, Enqueued
from oxmill.model.schedule import (
    CODE,
    CatchUp,
    ListSchedules,
    Overlap,
    PutSchedules,
    Schedule,
    ScheduleInfo,
    Schedules,
    SchedulesPut,
)
from oxmill.queue.author import who
from oxmill.queue.client import Client
from oxmill.queue.talk import Talk
from oxmill.rules.duration import Duration, micros
from oxmill.store.driver import Driver


class Timetable(TypedDict, total=False):
    """When a schedule ticks. What is not given stays as it is."""

    cron: str
    """A cron expression, in place of the one or of the interval that there is."""
    every: Duration
    """An interval, in place of the one or of the cron expression that there is."""
    tz: str
    """An IANA time zone, for a cron expression."""
    catch_up: Literal["skip", "one", "all"]
    window: Duration
    overlap: Literal["allow", "skip", "queue_one"]
    jitter: Duration


class Rescheduling:
    """Looks at, pauses, resumes, runs, changes and drops the schedules of the store, whoever put them
    there. An unknown name is `ScheduleNotFound`, and then nothing was changed."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def schedules(self) -> tuple[ScheduleInfo, ...]:
        """The schedules of the store by name, with their next and last ticks. (`app.schedules` are
        those that the code declares.)"""
        return self._client.blocking("aschedules", _all)

    async def aschedules(self) -> tuple[ScheduleInfo, ...]:
        """The same without blocking the event loop."""
        return await self._client.awaiting(_all)

    def pause_schedule(self, *names: str, author: str = "") -> int:
        """Make no more jobs from these until they are resumed; how many were not paused before. It
        outlives restarts of workers and changes of the code."""
        request = PutSchedules(pause=names, author=who(author))
        return self._client.blocking("apause_schedule", lambda driver: _put(driver, request))

    async def apause_schedule(self, *names: str, author: str = "") -> int:
        """The same without blocking the event loop."""
        request = PutSchedules(pause=names, author=who(author))
        return await self._client.awaiting(lambda driver: _put(driver, request))

    def resume_schedule(self, *names: str, author: str = "") -> int:
        """Go on with paused ones; how many there were. Nothing is made up for the pause."""
        request = PutSchedules(resume=names, author=who(author))
        return self._client.blocking("aresume_schedule", lambda driver: _put(driver, request))

    async def aresume_schedule(self, *names: str, author: str = "") -> int:
        """The same without blocking the event loop."""
        request = PutSchedules(resume=names, author=who(author))
        return await self._client.awaiting(lambda driver: _put(driver, request))

    def drop_schedule(self, *names: str, author: str = "") -> int:
        """Remove these; how many there were. Jobs that they have made stay. One that the code still
        declares comes back with the next worker that starts."""
        request = PutSchedules(drop=names, author=who(author))
        return self._client.blocking("adrop_schedule", lambda driver: _put(driver, request))

    async def adrop_schedule(self, *names: str, author: str = "") -> int:
        """The same without blocking the event loop."""
        request = PutSchedules(drop=names, author=who(author))
        return await self._client.awaiting(lambda driver: _put(driver, request))

    def run_schedule(self, name: str) -> Enqueued:
        """Enqueue the job of a schedule now, besides its ticks, even while it is paused."""
        job_id = self._client.new_id()
        return self._client.blocking("arun_schedule", lambda driver: _run(driver, name, job_id))

    async def arun_schedule(self, name: str) -> Enqueued:
        """The same without blocking the event loop."""
        job_id = self._client.new_id()
        return await self._client.awaiting(lambda driver: _run(driver, name, job_id))

    def change_schedule(
        self, name: str, author: str = "", **changes: Unpack[Timetable]
    ) -> Schedule:
        """Change when a schedule ticks, from the next tick on; the schedule as it is now. It holds
        until `revert_schedule`, also where the code declares another time: a worker that starts
        brings the schedule's job up to date, and leaves its times alone."""
        told = dict(changes)
        return self._client.blocking(
            "achange_schedule", lambda driver: _change(driver, name, told, who(author))
        )

    async def achange_schedule(
        self, name: str, author: str = "", **changes: Unpack[Timetable]
    ) -> Schedule:
        """The same without blocking the event loop."""
        told = dict(changes)
        return await self._client.awaiting(lambda driver: _change(driver, name, told, who(author)))

    def revert_schedule(self, name: str, author: str = "") -> Schedule:
        """Let the code decide again: the next worker that starts puts what it declares."""
        return self._client.blocking(
            "arevert_schedule", lambda driver: _revert(driver, name, who(author))
        )

    async def arevert_schedule(self, name: str, author: str = "") -> Schedule:
        """The same without blocking the event loop."""
        return await self._client.awaiting(lambda driver: _revert(driver, name, who(author)))


def find_schedule(found: Schedules, name: str) -> ScheduleInfo:
    """The schedule of this name; else `ScheduleNotFound` with the nearest names."""
    for info in found.items:
        if info.schedule.name == name:
            return info
    from difflib import get_close_matches  # noqa: PLC0415 - only when something went wrong

    names = [info.schedule.name for info in found.items]
    raise ScheduleNotFound(name, get_close_matches(name, names, cutoff=0.5))


def changed(schedule: Schedule, changes: dict[str, Any], author: str) -> Schedule:
    """The schedule with other times, as its author wants it; `BadInput` if that makes no sense."""
    from oxmill.rules.cron import check_schedule  # noqa: PLC0415 - few change any

    if not changes:
        raise BadInput(f"schedule {schedule.name!r}: name what to change, such as cron='0 4 * * *'")
    if "cron" in changes and "every" in changes:
        raise BadInput(f"schedule {schedule.name!r}: give cron or every, not both")
    terms: dict[str, Any] = {"cron": None} if "every" in changes else {}
    if "cron" in changes:
        terms["every"] = None
    for key, value in changes.items():
        if key not in _TERMS:
            raise BadInput(f"schedule {schedule.name!r}: {key!r} cannot be changed; use {_NAMES}")
        field, read = _TERMS[key]
        try:
            terms[field] = read(value)
        except ValueError as error:
            raise BadInput(f"schedule {schedule.name!r}: {key}: {error}") from None
    # Whoever it is, it is not the code.
    wanted = replace(schedule, source=f"by {author}" if author == CODE else author, **terms)
    check_schedule(wanted)
    return wanted


_TERMS: Final[dict[str, Any]] = {
    "cron": ("cron", str),
    "every": ("every", micros),
    "tz": ("zone", str),
    "catch_up": ("catch_up", CatchUp),
    "window": ("window", micros),
    "overlap": ("overlap", Overlap),
    "jitter": ("jitter", micros),
}
_NAMES: Final = ", ".join(_TERMS)


def _all(driver: Driver) -> Talk[tuple[ScheduleInfo, ...]]:
    found: Schedules = yield driver.scheduling.schedules(ListSchedules())
    return found.items


def _put(driver: Driver, request: PutSchedules) -> Talk[int]:
    found: Schedules = yield driver.scheduling.schedules(ListSchedules())
    for name in (*request.pause, *request.resume, *request.drop):
        find_schedule(found, name)
    answer: SchedulesPut = yield driver.scheduling.put_schedules(request)
    return answer.changed


def _run(driver: Driver, name: str, job_id: str) -> Talk[Enqueued]:
    found: Schedules = yield driver.scheduling.schedules(ListSchedules())
    template = find_schedule(found, name).schedule.job
    job = replace(template, id=job_id, delay=0, run_at=None)
    answers: tuple[Enqueued, ...] = yield driver.enqueueing.enqueue(Enqueue(jobs=(job,)))
    return answers[0]


def _change(driver: Driver, name: str, changes: dict[str, Any], author: str) -> Talk[Schedule]:
    found: Schedules = yield driver.scheduling.schedules(ListSchedules())
    schedule = changed(find_schedule(found, name).schedule, changes, author)
    yield driver.scheduling.put_schedules(PutSchedules(put=(schedule,), author=author))
    return schedule


def _revert(driver: Driver, name: str, author: str) -> Talk[Schedule]:
    found: Schedules = yield driver.scheduling.schedules(ListSchedules())
    schedule = replace(find_schedule(found, name).schedule, source=CODE)
    yield driver.scheduling.put_schedules(PutSchedules(put=(schedule,), author=author))
    return schedule
