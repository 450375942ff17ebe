"""Housekeeping in memory."""

from __future__ import annotations

from itertools import takewhile
from typing import Final

import msgspec

from oxmill.drivers.memory.edges import give_up, past_deadline
from oxmill.drivers.memory.gates import frees, opened_by
from oxmill.drivers.memory.retiring import retire
from oxmill.drivers.memory.ripples import sweep_ripples
from oxmill.drivers.memory.transport import Call
from oxmill.drivers.memory.world import Presence, World
from oxmill.model.info import Beat, Beaten, Command, Order, Ordered, Prune, Pruned, Sweep, Swept
from oxmill.model.job import Reason
from oxmill.model.settings import DAY, SECOND
from oxmill.model.state import TERMINAL, Change, State
from oxmill.model.value import Micros
from oxmill.store.plan import Steps, ask, plan

KEEP_EVENTS: Final[Micros] = 30 * DAY
STEP_TOLERANCE: Final[Micros] = SECOND


class MemoryHousekeeping:
    """Bounded steps, safe when several run at once."""

    def __init__(self, world: World) -> None:
        self._world = world

    @plan("sweep")
    def sweep(self, request: Sweep) -> Steps[Swept]:
        """Do for all queues what a claim does for its own."""
        return (yield from ask(Call(lambda: _sweep(self._world, request))))

    @plan("prune")
    def prune(self, request: Prune) -> Steps[Pruned]:
        """Delete ended jobs past their retention, with all that belongs to them."""
        return (yield from ask(Call(lambda: _prune(self._world, request))))

    @plan("beat")
    def beat(self, request: Beat) -> Steps[Beaten]:
        """Record a worker, forget stale ones, and pass on what people ask of it."""
        return (yield from ask(Call(lambda: _beat(self._world, request))))

    @plan("order")
    def order(self, request: Order) -> Steps[Ordered]:
        """Workers that are there learn the command with their next beat."""
        return (yield from ask(Call(lambda: _order(self._world, request))))


def _sweep(world: World, request: Sweep) -> Swept:
    now, limit = world.clock(), request.limit
    world.book.forget_news()
    for record in world.running.values():
        if (record.lease_until or 0) - record.lease > now + STEP_TOLERANCE:
            record.lease_until = now + record.lease
    lapsed = world.lapsed(None, now)
    gained: list[str | None] = []
    ended: list[str] = []
    poisoned = 0
    for record in lapsed[:limit]:
        gained += [world.lapse(record), record.queue if frees(world, record) else None]
        if record.state in TERMINAL:
            ended.append(record.id)
            poisoned += record.state is State.FAILED
    due = _fall_due(world, now, limit, gained)
    expired = world.expired(None, now)
    for record in expired[:limit]:
        gained.append(world.end(record, Change.EXPIRE, State.CANCELLED, Reason.EXPIRED))
        ended.append(record.id)
    for key, rule in list(world.rules.items()):
        if rule.expires_at is not None and rule.expires_at <= now:
            del world.rules[key]
            gained += opened_by(world, key)
    late = past_deadline(world, now)
    for record in late[:limit]:
        give_up(world, record)
    rippling = sweep_ripples(world, limit)
    gained += world.book.take_gained()
    ended += (job_id for job_id in world.book.ended if job_id not in ended)
    return Swept(
        lapsed=len(lapsed[:limit]),
        poisoned=poisoned,
        due=due,
        expired=len(expired[:limit]),
        more=max(len(lapsed), len(expired), len(late)) > limit or due == limit or rippling,
        queues=tuple(sorted({queue for queue in gained if queue is not None})),
        ended=tuple(ended),
        news=world.book.take_news(),
    )


def _fall_due(world: World, now: Micros, limit: int, gained: list[str | None]) -> int:
    """The due jobs of all queues, in the order of their due times."""
    heads = [
        (key, queue)
        for queue, line in world.due.items()
        for key in takewhile(lambda key: key[0] <= now, line)
    ]
    for key, queue in sorted(heads)[:limit]:
        record = world.jobs[key[2]]
        world.line_up(record, Change.DUE, record.due_at, now)
        gained.append(queue)
    return min(len(heads), limit)


def _prune(world: World, request: Prune) -> Pruned:
    now = world.clock()
    old = [
        record
        for record in world.jobs.values()
        if record.state in TERMINAL and record.prune_at is not None and record.prune_at <= now
    ]
    old.sort(key=lambda record: (record.prune_at or 0, record.seq))
    for record in old[: request.limit]:
        world.remove(record)
    gone = len(old[: request.limit])
    retired, more = retire(world, now, request.limit - gone)
    for key in [key for key, claimant in world.keys.items() if not claimant.taken(now)]:
        del world.keys[key]
    world.events[:] = [event for event in world.events if event.at > now - KEEP_EVENTS]
    return Pruned(jobs=gone + retired, more=len(old) > request.limit or more)


def _beat(world: World, request: Beat) -> Beaten:
    now = world.clock()
    for worker_id, presence in list(world.workers.items()):
        if presence.stale_at <= now:
            del world.workers[worker_id]
    if request.gone:
        world.workers.pop(request.worker.id, None)
        return Beaten(now=now)
    before = world.workers.get(request.worker.id)
    started = now if before is None else before.info.started_at
    command = Command.NONE if before is None else before.command
    info = msgspec.structs.replace(request.worker, started_at=started, beat_at=now)
    world.workers[info.id] = Presence(info=info, stale_at=now + request.ttl, command=command)
    return Beaten(now=now, command=command)


def _order(world: World, request: Order) -> Ordered:
    now = world.clock()
    there = [
        worker_id
        for worker_id in dict.fromkeys(request.workers)
        if worker_id in world.workers and world.workers[worker_id].stale_at > now
    ]
    for worker_id in there:
        world.workers[worker_id].command = request.command
        world.tell("order", worker_id, author=request.author, detail=request.command)
    return Ordered(workers=tuple(there))
