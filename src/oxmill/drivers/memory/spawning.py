"""What a completion does to its flow, in memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from oxmill.drivers.memory.accounts import enter, flow_of
from oxmill.drivers.memory.edges import arm, begin
from oxmill.drivers.memory.flow_intake import create
from oxmill.drivers.memory.redriving import start_afresh
from oxmill.drivers.memory.ripples import let_go, unhold
from oxmill.drivers.memory.stages import children_in, publish
from oxmill.model.flow import FlowStep, NewFlow
from oxmill.model.job import NewJob, Reason
from oxmill.model.state import Change, State

if TYPE_CHECKING:
    from oxmill.drivers.memory.record import Record
    from oxmill.drivers.memory.world import World


def step(world: World, record: Record, done: FlowStep) -> None:
    """Merge fields, make the next steps and the children, and hold the job if it is to resume.

    A job that does not resume is ended by the caller.
    """
    _belong(world, record)
    assert record.flow is not None  # noqa: S101 - as of the line above
    world.book.flows[record.flow].state.update(done.merge)
    _make(world, record, done.then, parent=None)
    staged = children_in(world, done.publish, record.id)
    _make(world, record, done.spawn, parent=record.id)
    if done.publish is not None:
        publish(world, done.publish)
    if done.resume is not None:
        record.resume = done.resume
        record.joined = tuple(dict.fromkeys((*staged, *(job.id for job in done.spawn))))
        record.reason = Reason.CHILDREN
        arm(world, record, record.joined, done.join, record.attempt)
        world.move(record, Change.SPAWN, State.HELD)
        begin(world, record, world.clock())


def _belong(world: World, record: Record) -> None:
    """A job without a flow becomes the first job of one with its own id, named after its task."""
    if record.flow is None:
        flow_of(world, NewFlow(id=record.id, name=record.task))
        world.rewrite(record, lambda each: setattr(each, "flow", record.id))
        enter(world, record)


def _make(world: World, record: Record, jobs: Iterable[NewJob], parent: str | None) -> None:
    """New jobs of the same flow. Next steps that are there stay as they are."""
    for job in jobs:
        there = world.jobs.get(job.id)
        if there is None:
            mine = msgspec.structs.replace(job, flow=record.flow, parent=parent)
            made = create(world, mine, None)
            if made.state is State.WAITING:
                world.book.gained.add(made.queue)
        elif parent is not None and there.flow == record.flow:
            _reuse(world, there)


def _reuse(world: World, there: Record) -> None:
    """A child that is there counts as it is if it is live or has succeeded; one that was staged
    and never published is let go, and one that failed or was cancelled gets a fresh start."""
    stage = world.book.in_unpublished(there.stage)
    failed = there.state in (State.FAILED, State.CANCELLED)
    if stage is not None:
        unhold(world, there)
        stage.members.pop(there.id, None)
        there.stage = None
        if not failed:
            stage.live -= 1
            enter(world, there)
            let_go(world, there)
    if failed:
        start_afresh(world, there, world.clock())
