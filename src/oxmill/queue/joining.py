"""Joins, as people write them."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, TypedDict, TypeVar, Unpack

from oxmill.errors import BadInput
from oxmill.model.flow import Join, JoinPolicy, OnFailure
from oxmill.rules.duration import Duration, micros

Policy = Literal["all_succeed", "all_end", "any", "quorum"]
Failure = Literal["cancel", "ignore", "collect"]
K = TypeVar("K", bound=StrEnum)


class JoinTerms(TypedDict, total=False):
    """When the end of several jobs lets one go on, and what a failure among them does."""

    policy: Policy
    """`all_succeed` unless given; a `quorum` alone means that policy."""
    quorum: int
    """How many must succeed."""
    on_failure: Failure
    """What to do once the policy cannot be met any more. `cancel`: fail, and cancel those that
    nobody else waits for. `ignore` and `collect`: go on when all have ended, without what failed,
    or with a `Failed` in its place. The default is `cancel`, and `collect` for `all_end`."""
    deadline: Duration
    """Wait no longer than this: then fail, or go on if failures are ignored or collected."""


def as_join(**terms: Unpack[JoinTerms]) -> Join:
    """The terms, checked."""
    quorum = terms.get("quorum", 0)
    policy = _word(JoinPolicy, terms.get("policy", "quorum" if quorum else "all_succeed"))
    if (policy is JoinPolicy.QUORUM) != (quorum > 0):
        raise BadInput(
            "a quorum is a number of jobs that must succeed: give quorum=2, or another policy"
        )
    usual = "collect" if policy is JoinPolicy.ALL_END else "cancel"
    deadline = terms.get("deadline")
    return Join(
        policy=policy,
        quorum=quorum,
        on_failure=_word(OnFailure, terms.get("on_failure", usual)),
        deadline=None if deadline is None else micros(deadline),
    )


def _word(kind: type[K], given: str) -> K:
    try:
        return kind(given)
    except ValueError:
        raise BadInput(f"{given!r} is not one of {', '.join(kind)}") from None
