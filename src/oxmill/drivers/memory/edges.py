"""Waiting for other jobs in memory: edges are made, closed and judged here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from oxmill.drivers.memory.flows import Edge, Kind, Ripple, Wait
from oxmill.model.flow import Join, OnFailure
from oxmill.model.job import Reason
from oxmill.model.state import TERMINAL, Change, State
from oxmill.model.value import Micros
from oxmill.rules.join import Edges, Turnout, overdue, turnout

if TYPE_CHECKING:
    from oxmill.drivers.memory.record import Record
    from oxmill.drivers.memory.world import World


def arm(
    world: World, record: Record, upstreams: Iterable[str], join: Join | None, round_: int
) -> None:
    """Make the edges of a wait. A job that is not there, is of another flow, or waits for this
    one, counts as failed; an edge of this wait that was closed by a success stays so."""
    known = world.book.up.get(record.id, {})
    wait = record.wait = Wait(round=round_, join=join or Join())
    for position, upstream in enumerate(dict.fromkeys(upstreams)):
        before = known.get(upstream)
        ok = _standing(world, record, upstream)
        if before is not None and before.round == round_ and before.ok:
            ok = True
        world.book.put_edge(Edge(upstream, record.id, round_, position, ok))
        wait.open += ok is None
        wait.succeeded += ok is True
        wait.failed += ok is False


def _standing(world: World, record: Record, upstream: str) -> bool | None:
    """How a job stands that another is about to wait for."""
    other = world.jobs.get(upstream)
    if other is None or other.flow != record.flow or _behind(world, upstream, record.id):
        return False
    return other.state is State.SUCCEEDED if other.state in TERMINAL else None


def _behind(world: World, upstream: str, job_id: str) -> bool:
    """Whether a job is this one, or waits for it through others: then neither could ever end."""
    seen = {upstream}
    ahead = [upstream]
    while ahead:
        each = ahead.pop()
        if each == job_id:
            return True
        record = world.jobs.get(each)
        if record is None or record.wait is None or not waits(record):
            continue
        edges = world.book.edges_into(each, record.wait.round)
        ahead += [edge.upstream for edge in edges if edge.ok is None and edge.upstream not in seen]
        seen.update(edge.upstream for edge in edges)
    return False


def begin(world: World, record: Record, now: Micros) -> None:
    """The wait begins now: its deadline is set, and it may be over at once."""
    wait = record.wait
    assert wait is not None  # noqa: S101 - only armed jobs begin to wait
    if wait.join.deadline is not None:
        wait.deadline_at = now + wait.join.deadline
    if wait.open + wait.succeeded + wait.failed == 0:
        fire(world, record)
    else:
        judge(world, record)


def waits(record: Record) -> bool:
    """Whether a job is held for a join."""
    return record.state is State.HELD and record.wait is not None


def waits_by(record: Record, edge: Edge) -> bool:
    """Whether a job is held for the join that this edge into it belongs to."""
    return waits(record) and record.wait is not None and record.wait.round == edge.round


def close(world: World, edge: Edge, *, ok: bool) -> None:
    """Close an open edge, and let its dependent see whether its wait is over."""
    edge.ok = ok
    record = world.jobs[edge.dependent]
    wait = record.wait
    if wait is None or not waits_by(record, edge):
        return
    wait.open -= 1
    wait.succeeded += ok
    wait.failed += not ok
    judge(world, record)


def judge(world: World, record: Record) -> None:
    """Let a waiting job go, or end it, if its join says so. What is staged is judged later."""
    wait = record.wait
    if wait is None or record.reason == Reason.STAGED:
        return
    match turnout(wait.join, Edges(succeeded=wait.succeeded, failed=wait.failed, open=wait.open)):
        case Turnout.FIRE:
            fire(world, record)
        case Turnout.FAIL:
            world.end(record, Change.FAIL, State.FAILED, Reason.DEPENDENCY)
        case Turnout.WAIT:
            pass


def fire(world: World, record: Record) -> None:
    """The join is over: the job waits in line, or for its due time."""
    wait, record.wait = record.wait, None
    record.reason = None
    world.line_up(record, Change.FREE, record.due_at, world.clock())
    if record.state is State.WAITING:
        world.book.gained.add(record.queue)
    if wait is not None and wait.open and wait.join.on_failure is OnFailure.CANCEL:
        world.book.fresh.append(Ripple(Kind.SHED, record.id, round=wait.round))


def past_deadline(world: World, now: Micros) -> list[Record]:
    """Jobs whose join has waited for too long, the longest overdue first."""
    found = [
        (record.wait.deadline_at, record.seq, record)
        for record in world.held.values()
        if record.wait is not None
        and waits(record)
        and record.wait.deadline_at is not None
        and record.wait.deadline_at <= now
    ]
    return [record for *_, record in sorted(found, key=lambda each: each[:2])]


def give_up(world: World, record: Record) -> None:
    """What a join does at its deadline."""
    assert record.wait is not None  # noqa: S101 - only waiting jobs have a deadline
    if overdue(record.wait.join) is Turnout.FIRE:
        fire(world, record)
    else:
        world.end(record, Change.FAIL, State.FAILED, Reason.DEADLINE)


def sheds(record: Record) -> bool:
    """Whether a job that ended while it waited lets go of what it waited for."""
    wait = record.wait
    if wait is None or not wait.open:
        return False
    if record.state is State.FAILED:
        return wait.join.on_failure is OnFailure.CANCEL
    return wait.round > 0 or record.reason == Reason.SIBLING
