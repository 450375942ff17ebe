"""Stages in memory: jobs that are held until all of them are there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from oxmill.drivers.memory.accounts import open_again, settle_accounts
from oxmill.drivers.memory.flows import Kind, Ripple, Stage
from oxmill.model.job import NewJob, Reason
from oxmill.model.state import LIVE, State

if TYPE_CHECKING:
    from oxmill.drivers.memory.record import Record
    from oxmill.drivers.memory.world import World


def stage_of(world: World, name: str, flow: str) -> Stage:
    """The stage of this name; it is new unless it is there."""
    stage = world.book.stages.setdefault(name, Stage(name, flow, touched_at=0))
    stage.touched_at = world.clock()
    return stage


def hold(stage: Stage, record: Record) -> None:
    """This stage holds the job from now on."""
    record.stage = stage.name
    record.reason = Reason.STAGED
    stage.held[record.id] = None


def stage_again(
    world: World, stage: Stage, job: NewJob, there: Record, redrive: Callable[[Record], None]
) -> None:
    """A job that is there already is staged once more, as by a parent that is tried again.

    It comes along from another stage that nobody published. A child that failed or was cancelled
    gets a fresh start with this stage; one that is live or has succeeded counts as it is.
    """
    if there.flow != stage.flow or there.id in stage.held or there.id in stage.members:
        return
    other = world.book.in_unpublished(there.stage)
    if other is not None and not stage.published:
        _come_along(stage, other, there)
    elif job.parent is not None and there.state in (State.FAILED, State.CANCELLED):
        there.stage = stage.name
        redrive(there)
    if job.parent is not None:
        stage.members[there.id] = None


def _come_along(stage: Stage, other: Stage, there: Record) -> None:
    other.held.pop(there.id, None)
    other.members.pop(there.id, None)
    if there.state in LIVE:
        other.live -= 1
        stage.live += 1
        hold(stage, there)
    else:
        there.stage = stage.name


def children_in(world: World, name: str | None, parent: str) -> list[str]:
    """The children that were staged under this name for this parent, in order."""
    stage = None if name is None else world.book.stages.get(name)
    if stage is None:
        return []
    return [i for i in stage.members if i in world.jobs and world.jobs[i].parent == parent]


def publish(world: World, name: str) -> None:
    """All jobs of the stage will run. They are let go in a ripple; the caller sets that going."""
    stage = world.book.stages.get(name)
    if stage is None or stage.published:
        return
    stage.published = True
    flow = world.book.flows[stage.flow]
    flow.published = True
    flow.live += stage.live
    if stage.live:
        open_again(flow)
    stage.live = 0
    if stage.held:
        world.book.fresh.append(Ripple(Kind.FREE, name))
    settle_accounts(world, flow)
