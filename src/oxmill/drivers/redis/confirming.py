"""What replicas have to say about a write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oxmill.drivers.redis.codes import code_of
from oxmill.drivers.redis.faults import KEPT_OUT
from oxmill.drivers.redis.script import Command
from oxmill.errors import OutcomeUnknown, StoreError, StoreRefused


class Answers:
    """What came of some calls so far."""

    __slots__ = ("doubts", "replies")

    def __init__(self, count: int) -> None:
        self.replies: list[Any] = [None] * count
        self.doubts: list[StoreError] = []
        """What there is to tell of calls that were done and not confirmed."""


def wait_for(replicas: int, shard: int, bound: float) -> Command:
    """Asks how many replicas have all that was sent before on this connection."""
    return Command(shard, ("WAIT", replicas, int(bound * 1000)), follows=True)


def doubt_of(shown: str, replies: Sequence[Any], wanted: int, told: Any) -> StoreError | None:
    """What to tell of a write that the server has done and too few replicas have confirmed: nothing
    if enough have, or if it did nothing that could be confirmed."""
    if all(isinstance(reply, Exception) for reply in replies):
        return None
    if not isinstance(told, Exception):
        if told >= wanted:
            return None
        return OutcomeUnknown(
            f"{shown} has written, but {told} of {wanted} replicas confirmed it in time: a fail-over "
            f"may lose it. Repeating the call with the same ids is safe: it waits again, and does "
            f"what may be left"
        )
    if code_of(told) in KEPT_OUT:
        return StoreRefused(
            f"{shown} has written, but this user may not ask whether replicas have it ({told}): a "
            f"fail-over may lose it. Grant the user +wait, or take replicas= out of the URL"
        )
    return OutcomeUnknown(
        f"{shown} has written, but will not say whether replicas have it ({told}): a fail-over may "
        f"lose it. Repeating the call with the same ids is safe: it asks again, and does what may be left"
    )
