"""Scheduling in a SQL database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from oxmill.drivers.sql.changes import Changes
from oxmill.drivers.sql.enqueueing import take_in
from oxmill.drivers.sql.steps import NOW, Statement, operation
from oxmill.drivers.sql.uniques import Keys
from oxmill.model.bounds import Bounds
from oxmill.model.job import Enqueued
from oxmill.model.schedule import (
    Fire,
    Fired,
    ListSchedules,
    PutSchedules,
    Schedule,
    ScheduleInfo,
    Schedules,
    SchedulesPut,
)
from oxmill.store.admission import check_new_jobs, check_schedule
from oxmill.store.capabilities import Capability
from oxmill.store.plan import Plan, Steps, ask


class SqlScheduling:
    """Keeps schedules and fires their ticks, however many schedulers run."""

    def __init__(self, bounds: Bounds, able: Capability) -> None:
        self._bounds = bounds
        self._able = able

    def put_schedules(self, request: PutSchedules) -> Plan[SchedulesPut]:
        """Put, drop, pause and resume by name, all in one step."""
        for schedule in request.put:
            check_schedule(schedule, self._bounds, self._able)
        return self._put_schedules(request)

    @operation("put_schedules")
    def _put_schedules(self, request: PutSchedules) -> Steps[SchedulesPut]:
        changes = Changes((yield from ask(NOW)), Keys(), {})
        changed: list[tuple[str, str]] = []
        for schedule in request.put:
            changed += yield from _put_one(schedule)
        for names, kind, asked in (
            (request.drop, "drop", {}),
            (request.pause, "pause", {"paused": 1}),
            (request.resume, "resume", {"paused": 0}),
        ):
            statement = "drop_schedule" if kind == "drop" else "pause_schedule"
            for name in names:
                rows = yield from ask(Statement(statement, {"name": name} | asked))
                changed += [(f"schedule_{kind}", name) for _ in rows]
        for kind, name in changed:
            changes.tell(kind, name, author=request.author)
        yield from changes.write()
        return SchedulesPut(changed=len(changed))

    @operation("schedules", writes=False)
    def schedules(self, request: ListSchedules) -> Steps[Schedules]:
        """Schedules by name, or those that need a scheduler now."""
        now = yield from ask(NOW)
        asked = {"due_only": int(request.due_only), "now": now, "most": request.limit}
        rows = yield from ask(Statement("schedules_all", asked))
        return Schedules(items=tuple([info_of(row) for row in rows]), now=now)

    def fire(self, request: Fire) -> Plan[Fired]:
        """Enqueue a tick's jobs and set the next tick, if `expected` is still the next."""
        check_new_jobs(request.jobs, self._bounds, self._able)
        return self._fire(request)

    @operation("fire")
    def _fire(self, request: Fire) -> Steps[Fired]:
        rows = yield from ask(Statement("schedule_by_name", {"name": request.name}, locks=True))
        info = info_of(rows[0]) if rows else None
        if info is None or info.paused or info.next_at != request.expected:
            return Fired(won=False)
        answers: list[Enqueued] = []
        for job in request.jobs:
            answers += yield from take_in((job,))
        advance = {
            "name": request.name,
            "next_at": request.next_at,
            "last_at": request.tick,
            "last_job": answers[-1].id if answers else None,
            "error": request.error,
        }
        yield from ask(Statement("advance_schedule", advance))
        return Fired(won=True, answers=tuple(answers))


def _put_one(schedule: Schedule) -> Steps[list[tuple[str, str]]]:
    """The event of a schedule that is new or changed."""
    rows = yield from ask(Statement("schedule_by_name", {"name": schedule.name}, locks=True))
    if rows and info_of(rows[0]).schedule == schedule:
        return []
    text = msgspec.json.encode(schedule).decode()
    yield from ask(Statement("put_schedule", {"name": schedule.name, "schedule": text}))
    return [("schedule", schedule.name)]


def info_of(row: Sequence[Any]) -> ScheduleInfo:
    """A schedule, from the columns of `schedules_all`."""
    text, paused, next_at, last_at, last_job, error = row
    return ScheduleInfo(
        schedule=msgspec.json.decode(text, type=Schedule),
        paused=bool(paused),
        next_at=next_at,
        last_at=last_at,
        last_job=last_job,
        error=error,
    )
