"""Which flow a job counts for in memory, and when a flow ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from oxmill.drivers.memory.flows import FlowRecord
from oxmill.model.flow import NewFlow
from oxmill.model.settings import DAY
from oxmill.model.state import State
from oxmill.model.value import Micros

if TYPE_CHECKING:
    from oxmill.drivers.memory.record import Record
    from oxmill.drivers.memory.world import World

KEEP_SUCCEEDED: Final[Micros] = DAY
KEEP_FAILED: Final[Micros] = 30 * DAY


def flow_of(world: World, new: NewFlow) -> FlowRecord:
    """The flow of this id; it is made unless it is there."""
    book = world.book
    if new.id not in book.flows:
        book.flows[new.id] = FlowRecord(
            seq=book.draw(),
            id=new.id,
            name=new.name,
            started_at=world.clock(),
            state=dict(new.state),
            fields=dict(new.fields),
            keep=new.keep,
        )
    return book.flows[new.id]


def enter(world: World, record: Record) -> None:
    """A live job counts for its stage until that is published, then for its flow."""
    assert record.flow is not None  # noqa: S101 - jobs without a flow count for none
    stage = world.book.in_unpublished(record.stage)
    if stage is not None:
        stage.live += 1
        return
    flow = world.book.flows[record.flow]
    flow.published = True
    flow.live += 1
    open_again(flow)


def leave(world: World, record: Record) -> None:
    """A job is live no longer; its flow ends with the last one."""
    assert record.flow is not None  # noqa: S101 - as above
    stage = world.book.in_unpublished(record.stage)
    if stage is not None:
        stage.live -= 1
        return
    flow = world.book.flows[record.flow]
    flow.live -= 1
    settle_accounts(world, flow)


def open_again(flow: FlowRecord) -> None:
    """A flow that has live jobs has not ended, or goes on."""
    flow.ended_at = flow.prune_at = None
    flow.failed = False


def settle_accounts(world: World, flow: FlowRecord) -> None:
    """A flow without live jobs ends, as failed if a job did not succeed that nobody waited for."""
    if flow.live or flow.ended_at is not None:
        return
    flow.failed = flow.lost or any(
        record.state in (State.FAILED, State.CANCELLED) and not world.book.awaited(record.id)
        for record in world.of_flow[flow.id].values()
    )
    flow.ended_at = world.clock()
    keep = flow.keep
    if keep is None:
        keep = KEEP_FAILED if flow.failed else KEEP_SUCCEEDED
    flow.prune_at = flow.ended_at + keep
    world.book.over.append(flow.id)
