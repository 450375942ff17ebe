"""Jobs of flows go, in memory: purged, kept long enough, or staged and never published."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oxmill.drivers.memory.accounts import leave
from oxmill.drivers.memory.flows import FlowRecord, Kind, Ripple, Stage
from oxmill.drivers.memory.ripples import ripple, unhold
from oxmill.model.settings import DAY
from oxmill.model.state import LIVE, State
from oxmill.model.value import Micros

if TYPE_CHECKING:
    from oxmill.drivers.memory.record import Record
    from oxmill.drivers.memory.world import World


def forget(world: World, record: Record) -> None:
    """A job of a flow is deleted: for those that wait for it, that is a failed end."""
    book = world.book
    assert record.flow is not None  # noqa: S101 - the caller has looked
    flow = book.flows[record.flow]
    if record.state is not State.SUCCEEDED and not book.awaited(record.id):
        flow.lost = flow.lost or flow.ended_at is None
    if record.state in LIVE and book.open_below(record.id):
        book.fresh.append(Ripple(Kind.CLOSE, record.id, ok=False))
    unhold(world, record)
    stage = None if record.stage is None else book.stages.get(record.stage)
    if stage is not None:
        stage.members.pop(record.id, None)
    book.drop_edges_into(record.id)
    world.remove(record)
    if record.state in LIVE:
        leave(world, record)


def retire(world: World, now: Micros, limit: int) -> tuple[int, bool]:
    """Delete flows past their retention, then stages that nobody published within a day.

    At most `limit` jobs: gives how many went, and whether more are left.
    """
    book = world.book
    old_flows = [f for f in book.flows.values() if f.prune_at is not None and f.prune_at <= now]
    old_flows.sort(key=lambda flow: (flow.prune_at or 0, flow.seq))
    gone = 0
    for flow in old_flows:
        jobs = [record for record in world.jobs.values() if record.flow == flow.id]
        gone += _delete(world, jobs, limit - gone)
        _drop_flow(world, flow)
    old_stages = [s for s in book.stages.values() if not s.published and s.touched_at + DAY <= now]
    old_stages.sort(key=lambda stage: (stage.touched_at, stage.name))
    for stage in old_stages:
        jobs = [record for record in world.jobs.values() if record.stage == stage.name]
        gone += _delete(world, jobs, limit - gone)
        _drop_stage(world, stage)
    ripple(world)
    left = any(f.id in book.flows for f in old_flows) or any(
        s.name in book.stages for s in old_stages
    )
    return gone, left


def _delete(world: World, records: list[Record], limit: int) -> int:
    records.sort(key=lambda record: record.seq)
    for record in records[: max(limit, 0)]:
        forget(world, record)
    return len(records[: max(limit, 0)])


def _drop_flow(world: World, flow: FlowRecord) -> None:
    """A flow of which no job is left goes, with its stages."""
    if any(record.flow == flow.id for record in world.jobs.values()):
        return
    del world.book.flows[flow.id]
    for stage in [s for s in world.book.stages.values() if s.flow == flow.id]:
        del world.book.stages[stage.name]


def _drop_stage(world: World, stage: Stage) -> None:
    """An abandoned stage of which no job is left goes, and its flow if that was all of it."""
    book = world.book
    if any(record.stage == stage.name for record in world.jobs.values()):
        return
    del book.stages[stage.name]
    flow = book.flows[stage.flow]
    if not flow.published and all(each.flow != flow.id for each in book.stages.values()):
        del book.flows[flow.id]
