"""Scheduling: ticks become jobs."""

from __future__ import annotations

from typing import Protocol

from oxmill.model.schedule import (
    Fire,
    Fired,
    ListSchedules,
    PutSchedules,
    Schedules,
    SchedulesPut,
)
from oxmill.store.plan import Plan


class Scheduling(Protocol):
    """Keeps schedules and fires their ticks, however many schedulers run."""

    def put_schedules(self, request: PutSchedules, /) -> Plan[SchedulesPut]:
        """Put, drop, pause and resume by name, all in one step."""
        ...

    def schedules(self, request: ListSchedules, /) -> Plan[Schedules]:
        """Schedules by name, or those that need a scheduler now."""
        ...

    def fire(self, request: Fire, /) -> Plan[Fired]:
        """If the schedule is there, not paused, and `expected` is still its next tick: enqueue the
        jobs, set the next tick, and win. Otherwise change nothing. One winner per tick. An id
        conflict or a skipped unique key does not stop the tick from being won."""
        ...
