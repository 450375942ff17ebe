"""Enqueueing in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy

from oxmill.drivers.memory.flow_intake import take_in_flow
from oxmill.drivers.memory.record import Record, record_of
from oxmill.drivers.memory.transport import Call
from oxmill.drivers.memory.world import Claimant, World
from oxmill.model.job import Enqueue, Enqueued, NewJob, Reason, Verdict
from oxmill.model.state import IDLE, TERMINAL, Change, State
from oxmill.model.unique import OnConflict, UniqueKey
from oxmill.store.capabilities import Capability
from oxmill.store.flow_admission import check_enqueue, concerns_flows
from oxmill.store.plan import Plan, Steps, ask, plan
from oxmill.store.prepared import BatchOfOne
from oxmill.store.roles.enqueueing import Prepared

_REFUSED = frozenset({Verdict.CONFLICT, Verdict.ID_CONFLICT})


class MemoryEnqueueing:
    """Takes jobs in."""

    def __init__(self, world: World, able: Capability) -> None:
        self._world = world
        self._able = able

    def enqueue(self, request: Enqueue) -> Plan[tuple[Enqueued, ...]]:
        """All jobs of the batch are stored, or none."""
        check_enqueue(request, self._world.bounds, self._able)
        return self._enqueue(request)

    def prepare(self, like: NewJob) -> Prepared:
        """What stores jobs like this one."""
        return BatchOfOne(self.enqueue, like)

    @plan("enqueue")
    def _enqueue(self, request: Enqueue) -> Steps[tuple[Enqueued, ...]]:
        def act() -> tuple[Enqueued, ...]:
            if concerns_flows(request):
                return take_in_flow(self._world, request)
            return take_in(self._world, request.jobs)

        return (yield from ask(Call(act)))


def take_in(world: World, jobs: Sequence[NewJob]) -> tuple[Enqueued, ...]:
    """Judge one job after the other; if any is refused, undo them all."""
    intake = _Intake(world)
    answers = tuple(intake.judge(job) for job in jobs)
    if any(answer.verdict in _REFUSED for answer in answers):
        intake.undo()
    return answers


class _Intake:
    """One batch on its way in, with the way back."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._now = world.clock()
        self._way_back: list[Callable[[], None]] = []

    def undo(self) -> None:
        for step in reversed(self._way_back):
            step()

    def judge(self, job: NewJob) -> Enqueued:
        there = self._world.jobs.get(job.id)
        if there is not None:
            same = (there.queue, there.task, there.payload) == (job.queue, job.task, job.payload)
            return _answer(there, Verdict.DUPLICATE if same else Verdict.ID_CONFLICT)
        if job.unique is not None:
            claimant = self._world.keys.get(job.unique.key)
            if claimant is not None and claimant.taken(self._now):
                return self._contest(job, job.unique, claimant)
        record = self._create(job, held=False)
        if job.unique is not None:
            self._remember_key(job.unique.key)
            self._world.take_key(record, job.unique, self._now)
        return _answer(record, Verdict.CREATED)

    def _contest(self, job: NewJob, unique: UniqueKey, claimant: Claimant) -> Enqueued:
        """The key is taken."""
        holder = self._world.jobs.get(claimant.holder)
        if holder is not None and (holder.unique is None or holder.unique.key != unique.key):
            holder = None  # the holder is gone, and its id was used again
        if unique.on_conflict is OnConflict.RAISE:
            return _named(claimant.holder, holder, Verdict.CONFLICT)
        ended = holder is None or holder.state in TERMINAL
        if unique.on_conflict is OnConflict.SKIP or holder is None or ended:
            return _named(claimant.holder, holder, Verdict.DUPLICATE)
        if holder.state in IDLE and holder.flow is None:
            if unique.on_conflict is OnConflict.RERUN:
                return _answer(holder, Verdict.DUPLICATE)
            self._replace(holder, job)
            claimant_now = self._world.keys[unique.key]
            claimant_now.hold_until = None if unique.within is None else self._now + unique.within
            return _answer(holder, Verdict.REPLACED)
        return self._follow(job, unique, claimant)

    def _follow(self, job: NewJob, unique: UniqueKey, claimant: Claimant) -> Enqueued:
        """The holder runs, or has begun a flow: at most one job follows it."""
        if claimant.successor is None:
            self._remember_key(unique.key)
            record = self._create(job, held=True)
            record.reason = Reason.RERUN
            self._world.keys[unique.key].successor = record.id
            return _answer(record, Verdict.CREATED)
        successor = self._world.jobs[claimant.successor]
        if unique.on_conflict is OnConflict.RERUN:
            return _answer(successor, Verdict.DUPLICATE)
        self._replace(successor, job)
        return _answer(successor, Verdict.REPLACED)

    def _create(self, job: NewJob, *, held: bool) -> Record:
        record = record_of(job, self._world.draw(), self._now)
        due = record.due_at <= self._now
        state = State.HELD if held else State.WAITING if due else State.SCHEDULED
        self._remember_lane(job)
        self._world.admit(record, state)
        self._way_back.append(lambda: self._world.remove(record))
        return record

    def _replace(self, record: Record, job: NewJob) -> None:
        before = copy(record)
        world, now = self._world, self._now
        assert job.unique is not None  # noqa: S101 - only keyed jobs replace others
        self._remember_key(job.unique.key)
        self._remember_lane(job)
        place = record.queue, record.group
        closed_until = world.closings.get(place, 0)

        def restore() -> None:
            if closed_until:
                world.closings[place] = closed_until

            def back(each: Record) -> None:
                for name in Record.__slots__:
                    setattr(each, name, getattr(before, name))

            world.rewrite(record, back)

        world.reopen(record)
        world.rewrite(record, lambda each: each.take_content(job, now))
        self._way_back.append(restore)
        if record.state is State.HELD:
            return
        stays = record.state is State.WAITING and before.queue == record.queue
        if record.due_at > now or not stays:
            world.line_up_anew(record, Change.POSTPONE, record.due_at, now)
        world.stand_in_lane(record)

    def _remember_lane(self, job: NewJob) -> None:
        """The way back of a job that makes a lane is to drop that too."""
        lanes, key = self._world.lanes, (job.priority, job.group)
        if lanes.at(job.queue, key) is not None:
            return

        def restore() -> None:
            if lanes.at(job.queue, key) is not None:
                lanes.drop(job.queue, key)

        self._way_back.append(restore)

    def _remember_key(self, key: str) -> None:
        keys, before = self._world.keys, copy(self._world.keys.get(key))

        def restore() -> None:
            if before is None:
                del keys[key]
            else:
                keys[key] = before

        self._way_back.append(restore)


def _answer(record: Record, verdict: Verdict) -> Enqueued:
    return Enqueued(id=record.id, verdict=verdict, state=record.state)


def _named(job_id: str, record: Record | None, verdict: Verdict) -> Enqueued:
    state = None if record is None else record.state
    return Enqueued(id=job_id, verdict=verdict, state=state)
