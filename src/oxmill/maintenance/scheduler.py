"""Turns the ticks of schedules into jobs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import ClassVar, Final

from msgspec.structs import replace

from oxmill.errors import BadInput, BadSchedule, NotSupported
from oxmill.maintenance.service import Service
from oxmill.model.schedule import CODE, Fire, ListSchedules, PutSchedules, Schedule, ScheduleInfo
from oxmill.model.settings import SECOND
from oxmill.model.value import Micros
from oxmill.observe.bus import Bus
from oxmill.observe.events import ScheduleBroken, TickFired
from oxmill.store.driver import Driver

LOOK_EVERY: Final = 1.0
"""Seconds between two looks, at most: a schedule put by somebody else is seen within this time."""
LOOK_AGAIN: Final[Micros] = 300 * SECOND
"""A schedule that cannot be worked out here is tried again after this time: other code may."""
OVERVIEW_EVERY: Final = 30.0
"""Seconds between two looks at all schedules; in between only due ones are asked for."""


def with_times_of(declared: Schedule, there: Schedule | None) -> Schedule:
    """What is put for a schedule that code declares: as it is, unless somebody has changed when the one
    that is there ticks. Then that holds, and the code decides about its job only."""
    if there is None or there.source == CODE:
        return declared
    return replace(there, job=declared.job)


class Scheduler(Service):
    """Fires due ticks. Any number may run: the store lets one of them win each tick.

    One bad schedule never stops the others: its error is recorded with it, for people to see.
    """

    name: ClassVar[str] = "scheduler"

    def __init__(
        self,
        driver: Driver,
        bus: Bus,
        declared: Sequence[Schedule] = (),
        *,
        firing: bool = True,
    ) -> None:
        super().__init__(driver, bus, LOOK_EVERY)
        self._declared = tuple(declared)
        self._firing = firing
        self._next: dict[str, Micros] = {}
        self._overview_at = float("-inf")

    async def run_once(self) -> float | None:
        """Put the schedules that code declares, once; then fire what is due. The seconds until the
        next tick that is known."""
        if self._declared:
            await self._put_declared()
            self._declared = ()
        if not self._firing:
            self.stop()
            return None
        plan = self.driver.scheduling.schedules(ListSchedules(due_only=True))
        found = await self.driver.arun(plan)
        more = False
        for info in found.items:
            if not info.paused and not self.stopping:
                more |= await self._fire(info, found.now)
        if more:
            return 0.0
        soonest = await self._soonest(found.now)
        return None if soonest is None else (soonest - found.now) / SECOND

    async def _put_declared(self) -> None:
        """All in one step; if the store refuses that, each by itself, so that the good ones run."""
        found = await self.driver.arun(self.driver.scheduling.schedules(ListSchedules()))
        there = {info.schedule.name: info.schedule for info in found.items}
        wanted = tuple(with_times_of(each, there.get(each.name)) for each in self._declared)
        try:
            await self._put(wanted)
        except (BadInput, NotSupported):
            for schedule in wanted:
                try:
                    await self._put((schedule,))
                except (BadInput, NotSupported) as error:
                    self.bus.emit(ScheduleBroken(schedule=schedule.name, error=str(error)))

    async def _put(self, schedules: tuple[Schedule, ...]) -> None:
        request = PutSchedules(put=schedules, author="code")
        await self.driver.arun(self.driver.scheduling.put_schedules(request))

    async def _fire(self, info: ScheduleInfo, now: Micros) -> bool:
        """Make the jobs of a schedule's due ticks; whether more of them are due."""
        request = self._decide(info, now)
        try:
            fired = await self.driver.arun(self.driver.scheduling.fire(request))
        except (BadInput, NotSupported) as error:  # the job it makes cannot be stored
            request = self._broken(info, now, error)
            fired = await self.driver.arun(self.driver.scheduling.fire(request))
        if not fired.won:
            return False
        if request.next_at is not None:
            self._next[info.schedule.name] = request.next_at
        if fired.answers:
            made = tuple(answer.id for answer in fired.answers)
            self.bus.emit(TickFired(schedule=info.schedule.name, jobs=made))
        return request.next_at is not None and request.next_at <= now

    def _decide(self, info: ScheduleInfo, now: Micros) -> Fire:
        """What to tell the store: jobs and the next tick, or what is wrong with the schedule."""
        from oxmill.rules.cron import (  # noqa: PLC0415 - many stores have no schedules
            check_schedule,
            due_ticks,
            next_tick,
            tick_job,
        )

        schedule, expected = info.schedule, info.next_at
        try:
            check_schedule(schedule)
            if expected is None:
                after = next_tick(schedule, now)
                return Fire(name=schedule.name, expected=None, next_at=after)
            due = due_ticks(schedule, expected, now)
            jobs = tuple(tick_job(schedule, tick) for tick in due.ticks)
        except BadSchedule as error:
            return self._broken(info, now, error)
        return Fire(
            name=schedule.name,
            expected=expected,
            next_at=due.next_at,
            jobs=jobs,
            tick=due.ticks[-1] if due.ticks else None,
        )

    def _broken(self, info: ScheduleInfo, now: Micros, error: Exception) -> Fire:
        name = info.schedule.name
        self.bus.emit(ScheduleBroken(schedule=name, error=str(error)))
        return Fire(name=name, expected=info.next_at, next_at=now + LOOK_AGAIN, error=str(error))

    async def _soonest(self, now: Micros) -> Micros | None:
        """The next tick of all schedules, as far as it is known here."""
        stale = any(tick <= now for tick in self._next.values())  # fired by another scheduler
        if stale or time.monotonic() >= self._overview_at + OVERVIEW_EVERY:
            found = await self.driver.arun(self.driver.scheduling.schedules(ListSchedules()))
            self._overview_at = time.monotonic()
            self._next = {
                info.schedule.name: info.next_at
                for info in found.items
                if info.next_at is not None and info.next_at > now and not info.paused
            }
        return min(self._next.values(), default=None)
