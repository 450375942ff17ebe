"""Scheduling on Redis. Schedules live in the first shard, and so do the jobs they make."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from oxmill.drivers.redis.enqueueing import answers_of, job_args
from oxmill.drivers.redis.script import FIRE, PUT_SCHEDULES, SCHEDULES
from oxmill.drivers.redis.space import Space
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
from oxmill.store.admission import check_name, check_new_jobs
from oxmill.store.plan import Plan, Steps, ask, plan

_kept: Final = msgspec.msgpack.Decoder(tuple[int, int, int, str, str, str]).decode
_schedule: Final = msgspec.json.Decoder(Schedule).decode


class RedisScheduling:
    """Keeps schedules and fires their ticks, however many schedulers run."""

    def __init__(self, space: Space) -> None:
        self._space = space

    def put_schedules(self, request: PutSchedules) -> Plan[SchedulesPut]:
        """Put, drop, pause and resume by name, all in one step."""
        for schedule in request.put:
            check_name("schedule name", schedule.name, self._space.bounds.name_bytes)
            check_new_jobs((schedule.job,), self._space.bounds, self._space.able)
        return self._put_schedules(request)

    @plan("put_schedules")
    def _put_schedules(self, request: PutSchedules) -> Steps[SchedulesPut]:
        args: list[Any] = []
        for schedule in request.put:
            args += ("put", schedule.name, msgspec.json.encode(schedule))
        for verb in ("drop", "pause", "resume"):
            for name in getattr(request, verb):
                args += (verb, name, b"")
        call = self._space.call(PUT_SCHEDULES, request.author, *args)
        return SchedulesPut(changed=(yield from ask(call)))

    @plan("schedules", writes=False)
    def schedules(self, request: ListSchedules) -> Steps[Schedules]:
        """Schedules by name, or those that need a scheduler now."""
        now, *told = yield from ask(self._space.call(SCHEDULES))
        pairs = sorted(zip(told[::2], told[1::2], strict=True))
        items = [_info(packed) for _, packed in pairs]
        if request.due_only:
            items = [i for i in items if not i.paused and (i.next_at is None or i.next_at <= now)]
        return Schedules(items=tuple(items[: request.limit]), now=now)

    def fire(self, request: Fire) -> Plan[Fired]:
        """Enqueue a tick's jobs and set the next tick, if `expected` is still the next."""
        check_new_jobs(request.jobs, self._space.bounds, self._space.able)
        return self._fire(request)

    @plan("fire")
    def _fire(self, request: Fire) -> Steps[Fired]:
        call = self._space.call(
            FIRE,
            request.name,
            *(-1 if t is None else t for t in (request.expected, request.next_at, request.tick)),
            request.error or "",
            *job_args(request.jobs),
        )
        won, *answers = yield from ask(call)
        if not won:
            return Fired(won=False)
        return Fired(won=True, answers=answers_of(request.jobs, answers))


def _info(packed: bytes) -> ScheduleInfo:
    paused, next_at, last_at, last_job, error, schedule = _kept(packed)
    return ScheduleInfo(
        schedule=_schedule(schedule),
        paused=bool(paused),
        next_at=None if next_at < 0 else next_at,
        last_at=None if last_at < 0 else last_at,
        last_job=last_job or None,
        error=error or None,
    )
