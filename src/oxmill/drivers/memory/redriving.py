"""A fresh start for a job that failed or was cancelled, in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oxmill.drivers.memory.accounts import enter
from oxmill.drivers.memory.edges import arm, begin
from oxmill.drivers.memory.flows import Kind
from oxmill.drivers.memory.stages import hold
from oxmill.model.state import Change, State
from oxmill.model.value import Micros

if TYPE_CHECKING:
    from oxmill.drivers.memory.record import Record
    from oxmill.drivers.memory.world import World


def start_afresh(world: World, record: Record, now: Micros) -> None:
    """Behind the line, with no failures, crashes, result or error, and without an expiry."""
    record.failures = record.crashes = 0
    record.result = record.error = record.reason = record.last_outcome = None
    record.ended_at = record.prune_at = record.expires_at = None
    record.cancel_requested = False
    if record.flow is None:
        world.line_up(record, Change.REDRIVE, now, now)
    else:
        _in_its_flow(world, record, now)


def _in_its_flow(world: World, record: Record, now: Micros) -> None:
    """Held again, for its stage or for what it is after; then in line, for its first step.

    That makes the same children again: those that did not succeed get a fresh start then. Whoever
    has not learnt of its last end yet waits for the next one.
    """
    book = world.book
    book.left = type(book.left)(
        each for each in book.left if not (each.kind is Kind.CLOSE and each.target == record.id)
    )
    record.resume, record.joined, record.wait = None, (), None
    stage = book.in_unpublished(record.stage)
    enter(world, record)
    if record.after:
        arm(world, record, record.after, record.join, 0)
    if stage is None and not record.after:
        world.line_up(record, Change.REDRIVE, now, now)
        book.gained.add(record.queue)
        return
    record.due_at = now
    world.move(record, Change.REDRIVE, State.HELD)
    if stage is not None:
        hold(stage, record)
    else:
        begin(world, record, now)
