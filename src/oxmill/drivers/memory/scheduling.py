"""Scheduling in memory."""

from __future__ import annotations

import msgspec

from oxmill.drivers.memory.enqueueing import take_in
from oxmill.drivers.memory.transport import Call
from oxmill.drivers.memory.world import World
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
from oxmill.store.plan import Plan, Steps, ask, plan


class MemoryScheduling:
    """Keeps schedules and fires their ticks, however many schedulers run."""

    def __init__(self, world: World, able: Capability) -> None:
        self._world = world
        self._able = able

    def put_schedules(self, request: PutSchedules) -> Plan[SchedulesPut]:
        """Put, drop, pause and resume by name, all in one step."""
        for schedule in request.put:
            check_schedule(schedule, self._world.bounds, self._able)
        return self._put_schedules(request)

    @plan("put_schedules")
    def _put_schedules(self, request: PutSchedules) -> Steps[SchedulesPut]:
        return (yield from ask(Call(lambda: _put(self._world, request))))

    @plan("schedules", writes=False)
    def schedules(self, request: ListSchedules) -> Steps[Schedules]:
        """Schedules by name, or those that need a scheduler now."""
        return (yield from ask(Call(lambda: _list(self._world, request))))

    def fire(self, request: Fire) -> Plan[Fired]:
        """Enqueue a tick's jobs and set the next tick, if `expected` is still the next."""
        check_new_jobs(request.jobs, self._world.bounds, self._able)
        return self._fire(request)

    @plan("fire")
    def _fire(self, request: Fire) -> Steps[Fired]:
        return (yield from ask(Call(lambda: _fire(self._world, request))))


def _put(world: World, request: PutSchedules) -> SchedulesPut:
    changed = sum(_put_one(world, schedule, request.author) for schedule in request.put)
    for name in request.drop:
        if world.schedules.pop(name, None) is not None:
            world.tell("schedule_drop", name, author=request.author)
            changed += 1
    for name, paused in (
        *((name, True) for name in request.pause),
        *((name, False) for name in request.resume),
    ):
        info = world.schedules.get(name)
        if info is not None and info.paused is not paused:
            next_at = info.next_at if paused else None
            world.schedules[name] = msgspec.structs.replace(info, paused=paused, next_at=next_at)
            kind = "schedule_pause" if paused else "schedule_resume"
            world.tell(kind, name, author=request.author)
            changed += 1
    return SchedulesPut(changed=changed)


def _put_one(world: World, schedule: Schedule, author: str) -> bool:
    info = world.schedules.get(schedule.name)
    if info is None:
        world.schedules[schedule.name] = ScheduleInfo(schedule=schedule, paused=False, next_at=None)
    elif info.schedule == schedule:
        return False
    else:
        world.schedules[schedule.name] = msgspec.structs.replace(
            info, schedule=schedule, next_at=None, error=None
        )
    world.tell("schedule", schedule.name, author=author)
    return True


def _list(world: World, request: ListSchedules) -> Schedules:
    now = world.clock()
    found = [
        info
        for _, info in sorted(world.schedules.items())
        if not request.due_only
        or (not info.paused and (info.next_at is None or info.next_at <= now))
    ]
    return Schedules(items=tuple(found[: request.limit]), now=now)


def _fire(world: World, request: Fire) -> Fired:
    info = world.schedules.get(request.name)
    if info is None or info.paused or info.next_at != request.expected:
        return Fired(won=False)
    answers = tuple(take_in(world, (job,))[0] for job in request.jobs)
    world.schedules[request.name] = msgspec.structs.replace(
        info,
        next_at=request.next_at,
        last_at=info.last_at if request.tick is None else request.tick,
        last_job=answers[-1].id if answers else info.last_job,
        error=request.error,
    )
    return Fired(won=True, answers=answers)
