"""Jobs of flows come in, in memory: by an enqueue, or made by a settlement."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from oxmill.drivers.memory.accounts import enter, flow_of
from oxmill.drivers.memory.edges import arm, begin
from oxmill.drivers.memory.flows import Stage
from oxmill.drivers.memory.record import Record, due_of, record_of
from oxmill.drivers.memory.redriving import start_afresh
from oxmill.drivers.memory.ripples import ripple
from oxmill.drivers.memory.stages import hold, publish, stage_again, stage_of
from oxmill.errors import BadInput
from oxmill.model.job import Enqueue, Enqueued, NewJob, Verdict
from oxmill.model.news import NO_NEWS
from oxmill.model.state import State

if TYPE_CHECKING:
    from oxmill.drivers.memory.world import World


def take_in_flow(world: World, request: Enqueue) -> tuple[Enqueued, ...]:
    """The flow, its jobs and its stage, all or nothing."""
    new = request.publish
    if new is not None and new != request.stage and new not in world.book.stages:
        raise BadInput(
            f"there is no stage {new!r} to publish: nothing was staged under it, or it was dropped "
            f"because nobody published it within a day; enqueue its jobs again"
        )
    world.book.forget_news()
    verdicts = _verdicts(world, request.jobs)
    if Verdict.ID_CONFLICT in verdicts:
        return tuple(
            _as_it_would_be(world, request, job, verdict)
            for job, verdict in zip(request.jobs, verdicts, strict=True)
        )
    if request.flow is not None:
        flow_of(world, request.flow)
        stage = None if request.stage is None else stage_of(world, request.stage, request.flow.id)
        for job, verdict in zip(request.jobs, verdicts, strict=True):
            if verdict is Verdict.CREATED:
                create(world, job, stage)
            elif stage is not None:
                _stage_again(world, stage, job)
    if new is not None:
        publish(world, new)
    ripple(world)
    return _answers(world, request, verdicts)


def _verdicts(world: World, jobs: Sequence[NewJob]) -> list[Verdict]:
    verdicts: list[Verdict] = []
    seen: dict[str, NewJob | Record] = {}
    for job in jobs:
        there = seen.get(job.id, world.jobs.get(job.id))
        if there is None:
            verdicts.append(Verdict.CREATED)
            seen[job.id] = job
            continue
        same = (there.queue, there.task, there.payload) == (job.queue, job.task, job.payload)
        verdicts.append(Verdict.DUPLICATE if same else Verdict.ID_CONFLICT)
    return verdicts


def _as_it_would_be(world: World, request: Enqueue, job: NewJob, verdict: Verdict) -> Enqueued:
    """The answer for a job of a batch that was refused."""
    there = world.jobs.get(job.id)
    if there is not None:
        return Enqueued(id=job.id, verdict=verdict, state=there.state)
    due = due_of(job, world.clock()) <= world.clock()
    held = request.stage is not None or job.after
    state = State.HELD if held else State.WAITING if due else State.SCHEDULED
    return Enqueued(id=job.id, verdict=verdict, state=state)


def _stage_again(world: World, stage: Stage, job: NewJob) -> None:
    now = world.clock()
    stage_again(
        world, stage, job, world.jobs[job.id], lambda there: start_afresh(world, there, now)
    )


def _answers(world: World, request: Enqueue, verdicts: Iterable[Verdict]) -> tuple[Enqueued, ...]:
    """What became of each job; the last answer names the queues that a publication has filled."""
    gained, news = world.book.take_gained(), world.book.take_news()
    last = len(request.jobs) - 1
    return tuple(
        Enqueued(
            id=job.id,
            verdict=verdict,
            state=world.jobs[job.id].state,
            gained=gained if nth == last else (),
            news=news if nth == last else NO_NEWS,
        )
        for nth, (job, verdict) in enumerate(zip(request.jobs, verdicts, strict=True))
    )


def create(world: World, job: NewJob, stage: Stage | None) -> Record:
    """A new job of a flow: held by its stage or for what it is after, or in line."""
    now = world.clock()
    record = record_of(job, world.draw(), now)
    holds = stage is not None and not stage.published
    due = record.due_at <= now
    world.admit(
        record,
        State.HELD if holds or job.after else State.WAITING if due else State.SCHEDULED,
    )
    if stage is not None:
        record.stage = stage.name
        if job.parent is not None:
            stage.members[job.id] = None
    enter(world, record)
    if job.after:
        arm(world, record, job.after, job.join, 0)
    if stage is not None and holds:
        hold(stage, record)
    elif job.after:
        begin(world, record, now)
    return record
