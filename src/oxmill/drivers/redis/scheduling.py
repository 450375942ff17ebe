"""Scheduling on Redis.

A schedule lives in the shard to which the unique key (or flow, or group) of its jobs belongs, and so
do the jobs it makes: one step makes the jobs of a tick and sets the next tick.
"""

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
from oxmill.store.admission import check_new_jobs, check_schedule
from oxmill.store.plan import Plan, Steps, Together, ask, plan

_kept: Final = msgspec.msgpack.Decoder(tuple[int, int, int, str, str, str]).decode
_schedule: Final = msgspec.json.Decoder(Schedule).decode


class RedisScheduling:
    """Keeps schedules and fires their ticks, however many schedulers run."""

    def __init__(self, space: Space) -> None:
        self._space = space

    def put_schedules(self, request: PutSchedules) -> Plan[SchedulesPut]:
        """Put, drop, pause and resume by name, all in one step."""
        for schedule in request.put:
            check_schedule(schedule, self._space.bounds, self._space.able)
        return self._put_schedules(request)

    @plan("put_schedules")
    def _put_schedules(self, request: PutSchedules) -> Steps[SchedulesPut]:
        space = self._space
        puts: list[list[Any]] = [[] for _ in range(space.shards)]
        strays = (yield from self._strays(request)) if space.shards > 1 else {}
        for schedule in request.put:
            here = puts[self._home(schedule)]
            here += ("put", schedule.name, msgspec.json.encode(schedule))
            if schedule.name in strays and strays[schedule.name].paused:
                here += ("pause", schedule.name, b"")
        verbs = ("drop", "pause", "resume")
        by_name = [
            w for verb in verbs for name in getattr(request, verb) for w in (verb, name, b"")
        ]
        calls = tuple(
            space.call(PUT_SCHEDULES, request.author, *each, *by_name, shard=shard)
            for shard, each in enumerate(puts)
        )
        changed = sum((yield from ask(Together(calls))))
        if strays:
            leaves = tuple(
                space.call(PUT_SCHEDULES, "", "leave", name, b"", shard=self._home(info.schedule))
                for name, info in strays.items()
            )
            yield from ask(Together(leaves))
        return SchedulesPut(changed=changed)

    def _home(self, schedule: Schedule) -> int:
        return self._space.shard_of(msgspec.structs.replace(schedule.job, id=schedule.name))

    def _strays(self, request: PutSchedules) -> Steps[dict[str, ScheduleInfo]]:
        """Those of the schedules to be put that live elsewhere so far: their key has changed."""
        homes = {schedule.name: self._home(schedule) for schedule in request.put}
        replies = yield from self._space.everywhere(SCHEDULES)
        known = [_info(packed) for reply in replies for packed in reply[1]]
        return {
            name: info
            for info in known
            if (name := info.schedule.name) in homes and homes[name] != self._home(info.schedule)
        }

    @plan("schedules", writes=False)
    def schedules(self, request: ListSchedules) -> Steps[Schedules]:
        """Schedules by name, or those that need a scheduler now."""
        replies = yield from self._space.everywhere(SCHEDULES)
        now = max(reply[0] for reply in replies)
        items = [_info(packed) for reply in replies for packed in reply[1]]
        items.sort(key=lambda info: info.schedule.name)
        if request.due_only:
            items = [i for i in items if not i.paused and (i.next_at is None or i.next_at <= now)]
        return Schedules(items=tuple(items[: request.limit]), now=now)

    def fire(self, request: Fire) -> Plan[Fired]:
        """Enqueue a tick's jobs and set the next tick, if `expected` is still the next."""
        check_new_jobs(request.jobs, self._space.bounds, self._space.able)
        return self._fire(request)

    @plan("fire")
    def _fire(self, request: Fire) -> Steps[Fired]:
        replies = yield from self._space.everywhere(
            FIRE,
            request.name,
            *(-1 if t is None else t for t in (request.expected, request.next_at, request.tick)),
            request.error or "",
            *job_args(request.jobs),
        )
        for won, *answers in replies:
            if won:
                return Fired(won=True, answers=answers_of(request.jobs, answers))
        return Fired(won=False)


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
