"""Claiming in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from oxmill.drivers.memory.gates import (
    group_gates,
    is_open,
    is_ordered,
    may_run_again,
    own_gates,
    queue_gates,
    spend,
)
from oxmill.drivers.memory.record import LAPSE, Record
from oxmill.drivers.memory.ripples import ripple
from oxmill.drivers.memory.serving import Serving, too_late
from oxmill.drivers.memory.transport import Call
from oxmill.drivers.memory.world import World
from oxmill.errors import BadInput
from oxmill.model.claim import Claim, Claimed, ClaimIds, Hold, Renew, Renewal, Renewed
from oxmill.model.job import Reason
from oxmill.model.state import Change, State
from oxmill.model.token import Token
from oxmill.model.unique import Until
from oxmill.model.value import Micros
from oxmill.store.admission import check_claim
from oxmill.store.plan import Plan, Steps, ask, plan


class MemoryClaiming:
    """Grants and prolongs leases."""

    def __init__(self, world: World) -> None:
        self._world = world

    def claim(self, request: Claim) -> Plan[Claimed]:
        """At most `limit` jobs, each to this holder only, best rank first."""
        check_claim(request, self._world.bounds)
        return self._claim(request)

    @plan("claim")
    def _claim(self, request: Claim) -> Steps[Claimed]:
        return (yield from ask(Call(lambda: _claim(self._world, request))))

    @plan("claim_ids")
    def claim_ids(self, request: ClaimIds) -> Steps[Claimed]:
        """Those of the named jobs that `claim` could grant now, in the order named."""
        return (yield from ask(Call(lambda: _claim_ids(self._world, request))))

    @plan("renew")
    def renew(self, request: Renew) -> Steps[Renewed]:
        """Prolong leases whose token is still the newest."""
        return (yield from ask(Call(lambda: _renew(self._world, request))))


def _claim(world: World, request: Claim) -> Claimed:
    now = world.clock()
    queues = tuple(dict.fromkeys(request.queues))
    world.book.forget_news()
    for queue in queues:
        tidy(world, queue, now)
    ripple(world)
    open_queues = [queue for queue in queues if not world.closed(queue, now)]
    serving = Serving(world, open_queues, now)
    chosen = serving.choose(request.limit, _granting(world, request, now))
    moments: list[Micros] = []
    if len(chosen) < request.limit:
        moments = [*_moments(world, open_queues), *serving.moments()]
    return _claimed(world, chosen, request, min(moments, default=None))


def _claim_ids(world: World, request: ClaimIds) -> Claimed:
    now = world.clock()
    if not 0 < request.lease <= world.bounds.lease:
        raise BadInput("a lease must last longer than 0 seconds and at most a day")
    found = [world.jobs[i] for i in dict.fromkeys(request.ids) if i in world.jobs]
    world.book.forget_news()
    for queue in dict.fromkeys(record.queue for record in found):
        tidy(world, queue, now)
    ripple(world)
    grant = _granting(world, request, now)
    chosen = []
    for record in found:
        if record.state is State.WAITING and _may_start(world, record, now):
            grant(record)
            spend(world, record, now)
            chosen.append(record)
    return _claimed(world, chosen, request, None)


def _may_start(world: World, record: Record, now: Micros) -> bool:
    """Whether every gate lets this very job through."""
    queue, group = record.queue, record.group
    return (
        not world.closed(queue, now)
        and not too_late(record, now)
        and is_open(queue_gates(world, queue, now))
        and is_open(group_gates(world, queue, group, now))
        and is_open(gate for _, gate in own_gates(world, record, now))
        and (not is_ordered(world, record) or _is_first(world, record, now))
    )


def _is_first(world: World, record: Record, now: Micros) -> bool:
    """Whether no job of its group waits before it."""
    return not any(
        (other.queue, other.group) == (record.queue, record.group)
        and other.state is State.WAITING
        and not too_late(other, now)
        and (other.priority, other.place) < (record.priority, record.place)
        for other in world.jobs.values()
    )


def tidy(world: World, queue: str, now: Micros) -> None:
    """What every claim does first: lapsed leases, due jobs, expired jobs of one queue."""
    bound = world.bounds.cleanup_jobs
    for record in world.lapsed(queue, now)[:bound]:
        world.lapse(record)
    world.fall_due(queue, now, bound)
    for record in world.expired(queue, now)[:bound]:
        world.end(record, Change.EXPIRE, State.CANCELLED, Reason.EXPIRED)


def _granting(world: World, request: Claim | ClaimIds, now: Micros) -> Callable[[Record], None]:
    """What makes this claimer the holder of a job."""

    def grant(record: Record) -> None:
        world.move(record, Change.CLAIM, State.RUNNING)
        record.attempt += 1
        record.nonce = request.nonce
        record.worker = request.worker
        record.claimed_at = now
        record.lease = request.lease
        record.lease_until = now + request.lease
        record.reason = record.last_outcome = None
        if record.unique is not None and record.unique.until is Until.STARTED:
            world.let_key_go(record, now)

    return grant


def _claimed(
    world: World, chosen: list[Record], request: Claim | ClaimIds, next_due: Micros | None
) -> Claimed:
    now = world.clock()
    jobs = tuple(record.leased(_flow_state(world, record)) for record in chosen)
    return Claimed(
        jobs=jobs,
        now=now,
        until=now + request.lease,
        next_due=next_due,
        gained=world.book.take_gained(),
        news=world.book.take_news(),
    )


def _flow_state(world: World, record: Record) -> Mapping[str, bytes]:
    return {} if record.flow is None else world.book.flows[record.flow].state


def _moments(world: World, queues: list[str]) -> list[Micros]:
    """When scheduled jobs of these queues fall due, and leases end."""
    moments = [key[0] for queue in queues if (key := world.due[queue].first()) is not None]
    return moments + [r.lease_until or 0 for r in world.running.values() if r.queue in queues]


def _renew(world: World, request: Renew) -> Renewed:
    if not 0 < request.lease <= world.bounds.lease:
        raise BadInput("a lease must last longer than 0 seconds and at most a day")
    now = world.clock()
    holds = tuple(_renew_one(world, item, request.lease, now) for item in request.items)
    return Renewed(holds=holds, now=now, until=now + request.lease)


def _renew_one(world: World, item: Renewal, lease: Micros, now: Micros) -> Hold:
    record = world.jobs.get(item.id)
    if record is None or (record.state is not State.RUNNING and not may_run_again(world, record)):
        return Hold.LOST
    if not held_by(world, record, item.token):
        return Hold.LOST
    record.lease = lease
    record.lease_until = now + lease
    if item.progress is not None:
        record.progress = item.progress
    return Hold.CANCEL if record.cancel_requested else Hold.KEPT


def held_by(world: World, record: Record, token: Token) -> bool:
    """Whether this token still holds the job; brings a lapsed lease back if nobody claimed it."""
    if record.token != token:
        return False
    if record.state is State.WAITING and record.last_outcome == LAPSE:
        world.move(record, Change.RESUME, State.RUNNING)
        record.past.pop()
        record.last_outcome = None
    return record.state is State.RUNNING
