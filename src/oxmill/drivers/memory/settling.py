"""Settling in memory."""

from __future__ import annotations

import msgspec

from oxmill.drivers.memory.claiming import held_by
from oxmill.drivers.memory.record import Record
from oxmill.drivers.memory.ripples import ripple
from oxmill.drivers.memory.spawning import step
from oxmill.drivers.memory.transport import Call
from oxmill.drivers.memory.world import World
from oxmill.model.job import Reason
from oxmill.model.settlement import Outcome, Ruling, Settle, Settled, Settlement
from oxmill.model.state import Change, State
from oxmill.store.admission import check_settlements, clip, storable
from oxmill.store.capabilities import Capability
from oxmill.store.flow_admission import check_steps
from oxmill.store.plan import Plan, Steps, ask, plan


class MemorySettling:
    """Records how leases ended."""

    def __init__(self, world: World, able: Capability) -> None:
        self._world = world
        self._able = able

    def settle(self, request: Settle) -> Plan[tuple[Settled, ...]]:
        """One answer per settlement, in order; each is judged by its token alone."""
        check_settlements(request.items, self._world.bounds)
        check_steps(request.items, self._world.bounds, self._able)
        return self._settle(request)

    @plan("settle")
    def _settle(self, request: Settle) -> Steps[tuple[Settled, ...]]:
        return (yield from ask(Call(lambda: _settle(self._world, request))))


def _settle(world: World, request: Settle) -> tuple[Settled, ...]:
    """Each on its own; what they set off comes last, and the last answer names who gained by it."""
    world.book.forget_news()
    answers = [_judge(world, item) for item in request.items]
    ripple(world)
    if gained := world.book.take_gained():
        answers[-1] = msgspec.structs.replace(answers[-1], gained=gained)
    return tuple(answers)


def _judge(world: World, item: Settlement) -> Settled:
    record = world.jobs.get(item.id)
    if record is None:
        return Settled(id=item.id, ruling=Ruling.GONE, state=None)
    if held_by(world, record, item.token):
        _apply(world, record, item)
        ruling = Ruling.WON
    elif record.token == item.token and record.last_outcome == item.outcome:
        ruling = Ruling.WON
    else:
        ruling = Ruling.LOST
    return Settled(id=item.id, ruling=ruling, state=record.state, queue=record.queue)


def _apply(world: World, record: Record, item: Settlement) -> None:
    error = clip(item.error, world.bounds.error_bytes)
    world.finish_attempt(record, item.outcome, error)
    if error is not None:
        record.error = error
    if item.outcome in (Outcome.RETRY, Outcome.FAIL):
        record.failures += 1
    goes_on = item.flow is not None and item.flow.resume is not None
    if item.flow is not None and not (goes_on and record.cancel_requested):
        step(world, record, item.flow)
    if record.state is State.RUNNING:
        _leave_running(world, record, item, goes_on=goes_on)


def _leave_running(world: World, record: Record, item: Settlement, *, goes_on: bool) -> None:
    """The end or the way back of a job that is not held for its children by now."""
    now = world.clock()
    given = storable(item.reason, world.bounds.error_bytes)
    match item.outcome:
        case Outcome.COMPLETE if not goes_on:
            record.result = item.result
            world.end(record, Change.COMPLETE, State.SUCCEEDED, None)
        case Outcome.FAIL:
            world.end(record, Change.FAIL, State.FAILED, given or Reason.REFUSED)
        case Outcome.CANCEL:
            reason = given or record.reason or Reason.CANCELLED
            world.end(record, Change.CANCEL, State.CANCELLED, reason)
        case _ if record.cancel_requested:
            world.end(record, Change.CANCEL, State.CANCELLED, record.reason)
        case Outcome.RETRY if record.failures >= record.max_attempts:
            world.end(record, Change.FAIL, State.FAILED, Reason.EXHAUSTED)
        case Outcome.RETRY:
            world.line_up(record, Change.RETRY, now + item.delay, now)
        case Outcome.SNOOZE:
            world.line_up(record, Change.SNOOZE, now + item.delay, now)
        case Outcome.RELEASE:
            world.move(record, Change.RELEASE, State.WAITING)
