"""Waiting for other jobs in a SQL database: edges are made and closed, and joins judged, in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from oxmill.drivers.sql.flow_rows import (
    Kind,
    Node,
    Ripple,
    join_in,
    names_in,
)
from oxmill.drivers.sql.rows import Standing
from oxmill.drivers.sql.web import Web
from oxmill.model.flow import OnFailure
from oxmill.model.job import Reason
from oxmill.model.state import TERMINAL, State
from oxmill.rules.join import Edges, Turnout, overdue, turnout

_NOTHING: Final[Mapping[str, int]] = {}


def arm(
    web: Web,
    node: Node,
    upstreams: Iterable[str],
    known: Mapping[str, int] = _NOTHING,
) -> None:
    """Make the edges of the wait that the node was told of. How some upstreams stand may be `known`;
    others that are not there, or are of another flow, count as failed."""
    round_ = node.round
    node.waiting = 1
    node.succeeded = node.failed = node.open = 0
    node.deadline_at = None
    for position, upstream in enumerate(dict.fromkeys(upstreams)):
        ok = known[upstream] if upstream in known else _standing(web, node, upstream)
        web.put_edge((upstream, node.job, round_, position, ok))
        node.open += ok is None
        node.succeeded += ok == 1
        node.failed += ok == 0
    web.put_node(node)


def _standing(web: Web, node: Node, upstream: str) -> int | None:
    job, other = web.jobs.get(upstream), web.nodes.get(upstream)
    if job is None or other is None or other.flow != node.flow:
        return 0
    return int(job.state is State.SUCCEEDED) if job.state in TERMINAL else None


def begin(web: Web, job: Standing, node: Node, *, in_line: bool = False) -> None:
    """The wait begins now: its deadline is set, and it may be over at once. `in_line` if the job has
    its place in the line already, should it have nothing to wait for."""
    join = join_in(node.wait_join)
    if join.deadline is not None:
        node.deadline_at = web.now + join.deadline
        web.put_node(node)
    if node.open + node.succeeded + node.failed == 0:
        fire(web, job, node, in_line=in_line)
    else:
        judge(web, job, node, in_line=in_line)


def judge(web: Web, job: Standing, node: Node, *, in_line: bool = False) -> None:
    """Let a waiting job go, or end it, if its join says so. What is staged is judged later."""
    if not node.waiting or node.staged:
        return
    edges = Edges(succeeded=node.succeeded, failed=node.failed, open=node.open)
    match turnout(join_in(node.wait_join), edges):
        case Turnout.FIRE:
            fire(web, job, node, in_line=in_line)
        case Turnout.FAIL:
            web.changes.end(job, State.FAILED, Reason.DEPENDENCY)
        case Turnout.WAIT:
            pass


def fire(web: Web, job: Standing, node: Node, *, in_line: bool = False) -> None:
    """The join is over: the job waits in line, or for its due time."""
    over = node.open and join_in(node.wait_join).on_failure is OnFailure.CANCEL
    node.waiting, node.deadline_at = 0, None
    web.put_node(node)
    job.reason = None
    if in_line:
        web.changes.move(job, State.WAITING)
        web.gained.add(job.queue)
    else:
        web.line_up(job)
    if over:
        web.set_off(Ripple(Kind.SHED, node.id, round=node.round))


def give_up(web: Web, job: Standing, node: Node) -> None:
    """What a join does at its deadline."""
    late = node.deadline_at is not None and node.deadline_at <= web.now
    if not node.waiting or not late or job.state is not State.HELD:
        return
    if overdue(join_in(node.wait_join)) is Turnout.FIRE:
        fire(web, job, node)
    else:
        web.changes.end(job, State.FAILED, Reason.DEADLINE)


def close(web: Web, node: Node, edge: tuple[str, int, int], ok: int) -> None:
    """Close an open edge (upstream, round, position) into a job, and let that see whether its wait
    is over."""
    upstream, round_, position = edge
    web.put_edge((upstream, node.job, round_, position, ok))
    if not node.waiting or node.round != round_ or web.jobs[node.id].state is not State.HELD:
        return
    node.open -= 1
    node.succeeded += ok
    node.failed += 1 - ok
    web.put_node(node)
    judge(web, web.jobs[node.id], node)


def sheds(job: Standing, node: Node) -> bool:
    """Whether a job that ended while it waited lets go of what it waited for."""
    if not node.waiting or not node.open:
        return False
    if job.state is State.FAILED:
        return join_in(node.wait_join).on_failure is OnFailure.CANCEL
    return node.round > 0 or job.reason == Reason.SIBLING


def let_go(web: Web, job: Standing, node: Node) -> None:
    """A staged job is held by its stage no longer: it waits for what it is after, or in line."""
    node.stage, node.staged = None, 0
    web.put_node(node)
    job.reason = None
    web.changes.touch(job)
    if node.waiting:
        begin(web, job, node)
    else:
        web.line_up(job)


def start_afresh(web: Web, job: Standing, node: Node, known: Mapping[str, int]) -> None:
    """A redriven job, which stands in line already, is held again for its stage or for what it is
    after. Upstreams that have succeeded for it before are known."""
    node.resume = None
    node.waiting = node.staged = 0
    web.put_node(node)
    stage = web.unpublished(node)
    if stage is None:
        node.stage = None
    web.enter(node)
    if node.after_ids is not None:
        node.round, node.wait_join = 0, node.after_join
        arm(web, node, names_in(node.after_ids), known)
    if stage is None and node.after_ids is None:
        web.gained.add(job.queue)
        return
    web.changes.move(job, State.HELD)
    if stage is not None:
        web.hold(job, node, stage)
    else:
        begin(web, job, node, in_line=True)
