"""When the end of several jobs lets one start: the whole decision, in one place."""

from __future__ import annotations

from enum import StrEnum

from oxmill.model.flow import Join, JoinPolicy, OnFailure
from oxmill.model.value import Value


class Edges(Value, frozen=True):
    """How the jobs stand that a join is about."""

    succeeded: int
    failed: int
    """Failed or cancelled."""
    open: int
    """Not ended yet."""


class Turnout(StrEnum):
    """What a join does."""

    WAIT = "wait"
    FIRE = "fire"
    FAIL = "fail"


def turnout(join: Join, edges: Edges) -> Turnout:
    """Whether the join waits, fires or fails. It never waits once no edge is open."""
    if _met(join, edges):
        return Turnout.FIRE
    if not _lost(join, edges):
        return Turnout.WAIT
    if join.on_failure is OnFailure.CANCEL:
        return Turnout.FAIL
    return Turnout.WAIT if edges.open else Turnout.FIRE


def overdue(join: Join) -> Turnout:
    """What a join does at its deadline, having waited until then."""
    return Turnout.FAIL if join.on_failure is OnFailure.CANCEL else Turnout.FIRE


def _met(join: Join, edges: Edges) -> bool:
    match join.policy:
        case JoinPolicy.ALL_SUCCEED:
            return edges.open == 0 and edges.failed == 0
        case JoinPolicy.ALL_END:
            return edges.open == 0
        case JoinPolicy.ANY:
            return edges.succeeded > 0 or edges.open + edges.failed == 0
        case JoinPolicy.QUORUM:
            return edges.succeeded >= join.quorum


def _lost(join: Join, edges: Edges) -> bool:
    match join.policy:
        case JoinPolicy.ALL_SUCCEED:
            return edges.failed > 0
        case JoinPolicy.ALL_END:
            return False
        case JoinPolicy.ANY:
            return edges.open == 0
        case JoinPolicy.QUORUM:
            return edges.succeeded + edges.open < join.quorum
