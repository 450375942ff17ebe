"""Settling in memory."""

from __future__ import annotations

import msgspec

from oxmill.drivers.memory.claiming import held_by
from oxmill.drivers.memory.gates import close, frees, is_ordered
from oxmill.drivers.memory.record import Record
from oxmill.drivers.memory.ripples import ripple
from oxmill.drivers.memory.spawning import step
from oxmill.drivers.memory.transport import Call
from oxmill.drivers.memory.world import World
from oxmill.model.job import Reason
from oxmill.model.news import NO_NEWS
from oxmill.model.rule import Scope
from oxmill.model.settlement import Outcome, Ruling, Settle, Settled, Settlement
from oxmill.model.state import Change, State
from oxmill.model.value import Micros
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
    """Each on its own; what they do to their flows comes after that, and what that sets off last.

    A job that comes again sees all that was asked before. The last answer names who gained.
    """
    world.book.forget_news()
    answers: list[Settled] = []
    stepping: dict[str, tuple[int, Settlement]] = {}
    seen: set[str] = set()
    for item in request.items:
        if item.id in seen:
            _take_steps(world, stepping, answers)
            seen.clear()
        seen.add(item.id)
        answers.append(_judge(world, item, stepping, len(answers)))
    _take_steps(world, stepping, answers)
    ripple(world)
    gained, news = world.book.take_gained(), world.book.take_news()
    if answers and (gained or news != NO_NEWS):
        last = answers[-1]
        both = tuple(dict.fromkeys((*last.gained, *gained)))
        answers[-1] = msgspec.structs.replace(last, gained=both, news=news)
    return tuple(answers)


def _take_steps(
    world: World, stepping: dict[str, tuple[int, Settlement]], answers: list[Settled]
) -> None:
    for nth, item in stepping.values():
        record = world.jobs[item.id]
        assert item.flow is not None  # noqa: S101 - that is why it is here
        step(world, record, item.flow)
        if record.state is State.RUNNING:
            record.result = item.result
            heir = world.end(record, Change.COMPLETE, State.SUCCEEDED, None)
            if heir is not None:
                world.book.gained.add(heir)
        answers[nth] = msgspec.structs.replace(answers[nth], state=record.state)
    stepping.clear()


def _judge(
    world: World, item: Settlement, stepping: dict[str, tuple[int, Settlement]], nth: int
) -> Settled:
    record = world.jobs.get(item.id)
    if record is None:
        return Settled(id=item.id, ruling=Ruling.GONE, state=None)
    gained: tuple[str, ...] = ()
    if held_by(world, record, item.token):
        gained = _apply(world, record, item)
        if _takes_a_step(record, item):
            stepping[item.id] = (nth, item)
        ruling = Ruling.WON
    elif record.token == item.token and record.last_outcome == item.outcome:
        ruling = Ruling.WON
    else:
        ruling = Ruling.LOST
    return Settled(id=item.id, ruling=ruling, state=record.state, queue=record.queue, gained=gained)


def _takes_a_step(record: Record, item: Settlement) -> bool:
    """Whether the job runs on paper until it has done to its flow what it asked for."""
    return item.flow is not None and record.state is State.RUNNING


def _apply(world: World, record: Record, item: Settlement) -> tuple[str, ...]:
    """End the lease. Gives the queues in which other jobs may start because of it."""
    now = world.clock()
    error = clip(item.error, world.bounds.error_bytes)
    world.finish_attempt(record, item.outcome, error)
    if error is not None:
        record.error = error
    if item.outcome in (Outcome.RETRY, Outcome.FAIL):
        record.failures += 1
    if item.outcome is Outcome.RELEASE and item.closes is not None:
        group = None if item.closes is Scope.QUEUE else record.group
        close(world, record.queue, group, now + item.delay, now)
    freed = record.queue if frees(world, record) else None
    goes_on = item.flow is not None and item.flow.resume is not None
    if item.flow is not None and not (goes_on and record.cancel_requested):
        return () if freed is None else (freed,)  # the rest is for its step
    heir = _move_on(world, record, item, goes_on=goes_on)
    return tuple(dict.fromkeys(queue for queue in (heir, freed) if queue is not None))


def _move_on(world: World, record: Record, item: Settlement, *, goes_on: bool) -> str | None:
    """To where the outcome says. Gives the queue of a job that was held behind this one."""
    now = world.clock()
    given = storable(item.reason, world.bounds.error_bytes)
    match item.outcome:
        case Outcome.COMPLETE if not goes_on:
            record.result = item.result
            return world.end(record, Change.COMPLETE, State.SUCCEEDED, None)
        case Outcome.FAIL:
            return world.end(record, Change.FAIL, State.FAILED, given or Reason.REFUSED)
        case Outcome.CANCEL:
            reason = given or record.reason or Reason.CANCELLED
            return world.end(record, Change.CANCEL, State.CANCELLED, reason)
        case _ if record.cancel_requested:
            return world.end(record, Change.CANCEL, State.CANCELLED, record.reason)
        case Outcome.RETRY if record.failures >= record.max_attempts:
            return world.end(record, Change.FAIL, State.FAILED, Reason.EXHAUSTED)
        case Outcome.RETRY:
            _again(world, record, Change.RETRY, now + item.delay, now)
        case Outcome.SNOOZE:
            _again(world, record, Change.SNOOZE, now + item.delay, now)
        case Outcome.RELEASE:
            world.move(record, Change.RELEASE, State.WAITING)
    return None


def _again(world: World, record: Record, change: Change, at: Micros, now: Micros) -> None:
    """Another try then. In an ordered group the job keeps its place, and the others wait too: until
    then, or until it leaves."""
    if is_ordered(world, record):
        close(world, record.queue, record.group, at, now)
        world.move(record, change, State.WAITING)
        record.due_at = at
    else:
        world.line_up(record, change, at, now)
