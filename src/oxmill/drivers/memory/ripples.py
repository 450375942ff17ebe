"""What ends and publications set off in memory: done at once up to a bound, the rest by sweeps."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from oxmill.drivers.memory.edges import begin, close, sheds, waits_by
from oxmill.drivers.memory.flows import Book, Kind, Ripple
from oxmill.model.job import Reason
from oxmill.model.state import LIVE, Change, State

if TYPE_CHECKING:
    from oxmill.drivers.memory.record import Record
    from oxmill.drivers.memory.world import World


def ended(world: World, record: Record) -> None:
    """A job of a flow has ended. Those that wait for it learn of it when the step ripples."""
    book = world.book
    book.ended.append(record.id)
    unhold(world, record)
    if sheds(record) and record.wait is not None:
        book.fresh.append(Ripple(Kind.SHED, record.id, round=record.wait.round))
    if book.open_below(record.id):
        book.fresh.append(Ripple(Kind.CLOSE, record.id, ok=record.state is State.SUCCEEDED))


def ripple(world: World) -> None:
    """Do what this step has set off, after all else it does; what is over the bound is left.

    The bound never stops a step from seeing to one unit for each of its own ends.
    """
    book = world.book
    ripples, book.fresh = book.fresh, deque()
    _run(world, ripples, max(world.bounds.cleanup_jobs, len(ripples)))
    book.left.extend(ripples)
    book.left_some = bool(ripples)


def sweep_ripples(world: World, limit: int) -> bool:
    """Go on with what was left, then with what this sweep has set off, up to the limit.

    Whether there is more.
    """
    book = world.book
    book.left.extend(book.fresh)
    book.fresh.clear()
    _run(world, book.left, limit)
    return bool(book.left)


def _run(world: World, ripples: deque[Ripple], budget: int) -> None:
    """One ripple after the other; what they set off joins the end."""
    while ripples and budget > 0:
        done, budget = _some(world, ripples[0], budget)
        if done:
            ripples.popleft()
        ripples.extend(world.book.fresh)
        world.book.fresh.clear()


def _some(world: World, each: Ripple, budget: int) -> tuple[bool, int]:
    """Do units of one ripple. Gives whether it is done, and what is left of the budget."""
    match each.kind:
        case Kind.CLOSE:
            units = _close(world, each, budget)
        case Kind.SHED:
            units = _shed(world, each, budget)
        case Kind.FREE:
            units = _free(world, each, budget)
    return not _anything_left(world.book, each), budget - units


def _anything_left(book: Book, each: Ripple) -> bool:
    match each.kind:
        case Kind.CLOSE:
            return bool(book.open_below(each.target))
        case Kind.SHED:
            return bool(_unshed(book, each))
        case Kind.FREE:
            return each.target in book.stages and bool(book.stages[each.target].held)


def _close(world: World, each: Ripple, budget: int) -> int:
    edges = world.book.open_below(each.target)
    edges.sort(key=lambda edge: world.jobs[edge.dependent].seq)
    for edge in edges[:budget]:
        close(world, edge, ok=each.ok)
    return len(edges[:budget])


def _unshed(book: Book, each: Ripple) -> list[str]:
    return [
        edge.upstream
        for edge in book.edges_into(each.target, each.round)
        if edge.ok is None and edge.position > each.past
    ]


def _shed(world: World, each: Ripple, budget: int) -> int:
    looked_at = _unshed(world.book, each)[:budget]
    for upstream in looked_at:
        each.past = world.book.up[each.target][upstream].position
        record = world.jobs.get(upstream)
        if record is None or record.state not in LIVE or _wanted(world, upstream):
            continue
        if record.state is not State.RUNNING:
            world.end(record, Change.CANCEL, State.CANCELLED, Reason.SIBLING)
        elif not record.cancel_requested:
            record.cancel_requested = True
            record.reason = Reason.SIBLING
            world.book.asked = True
    return len(looked_at)


def _wanted(world: World, upstream: str) -> bool:
    """Whether somebody waits for this job."""
    return any(
        waits_by(world.jobs[edge.dependent], edge) for edge in world.book.open_below(upstream)
    )


def _free(world: World, each: Ripple, budget: int) -> int:
    stage = world.book.stages.get(each.target)
    held = [] if stage is None else sorted(stage.held, key=lambda i: world.jobs[i].seq)
    for job_id in held[:budget]:
        let_go(world, world.jobs[job_id])
    return len(held[:budget])


def let_go(world: World, record: Record) -> None:
    """A staged job is held by its stage no longer: it waits for what it is after, or in line."""
    now = world.clock()
    unhold(world, record)
    record.reason = None
    if record.wait is not None:
        begin(world, record, now)
        return
    world.line_up(record, Change.FREE, record.due_at, now)
    if record.state is State.WAITING:
        world.book.gained.add(record.queue)


def unhold(world: World, record: Record) -> None:
    """Take a job off the list of those that its stage still holds."""
    stage = None if record.stage is None else world.book.stages.get(record.stage)
    if stage is not None:
        stage.held.pop(record.id, None)
