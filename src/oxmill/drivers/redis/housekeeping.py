"""Housekeeping on Redis."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import msgspec

from oxmill.drivers.redis.record import unpack_id
from oxmill.drivers.redis.script import BEAT, ORDER, PRUNE, SWEEP, Script
from oxmill.drivers.redis.space import Space
from oxmill.model.info import Beat, Beaten, Command, Order, Ordered, Prune, Pruned, Sweep, Swept
from oxmill.store.plan import Steps, ask, plan


class RedisHousekeeping:
    """Bounded steps, safe when several run at once."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._turns: Callable[[], int] = count().__next__

    @plan("sweep")
    def sweep(self, request: Sweep) -> Steps[Swept]:
        """Do for all queues what a claim does for its own, at most `bounds.cleanup_jobs` of each
        kind at once."""
        replies = yield from self._in_turn(SWEEP, request.limit, _swept)
        lapsed, poisoned, due, expired, more = (
            sum(column) for column in zip(*(reply[:5] for reply in replies), strict=True)
        )
        return Swept(
            lapsed=lapsed,
            poisoned=poisoned,
            due=due,
            expired=expired,
            more=bool(more),
            queues=tuple(sorted({queue.decode() for reply in replies for queue in reply[5]})),
            ended=tuple(unpack_id(each) for reply in replies for each in reply[6]),
        )

    @plan("prune")
    def prune(self, request: Prune) -> Steps[Pruned]:
        """Delete ended jobs past their retention, with all that belongs to them."""
        replies = yield from self._in_turn(PRUNE, request.limit, _pruned)
        return Pruned(jobs=sum(gone for gone, _ in replies), more=any(more for _, more in replies))

    def _in_turn(self, script: Script, limit: int, done: Callable[[Any], int]) -> Steps[list[Any]]:
        """Shard after shard, each call starting with the next one, until the limit is used up."""
        space, first = self._space, self._turns()
        replies: list[Any] = []
        for turn in range(space.shards):
            most = min(limit, space.bounds.cleanup_jobs)
            bound = space.bounds.cleanup_jobs
            call = space.call(script, most, bound, shard=(first + turn) % space.shards)
            replies.append((yield from ask(call)))
            limit -= done(replies[-1])
        return replies

    @plan("beat")
    def beat(self, request: Beat) -> Steps[Beaten]:
        """Record a worker, forget stale ones, and pass on what people ask of it."""
        about = msgspec.json.encode(request.worker)
        call = self._space.call(BEAT, request.worker.id, about, request.ttl, int(request.gone))
        now, command = yield from ask(call)
        return Beaten(now=now, command=Command(command.decode()) if command else Command.NONE)

    @plan("order")
    def order(self, request: Order) -> Steps[Ordered]:
        """Workers that are there learn the command with their next beat."""
        workers = dict.fromkeys(request.workers)
        call = self._space.call(ORDER, request.command, request.author, *workers)
        there = yield from ask(call)
        return Ordered(workers=tuple(worker.decode() for worker in there))


def _swept(reply: Any) -> int:
    """What a sweep has used of its limit, which holds for each kind of job."""
    lapsed, _, due, expired, *_ = reply
    return int(max(lapsed, due, expired))


def _pruned(reply: Any) -> int:
    jobs, _ = reply
    return int(jobs)
