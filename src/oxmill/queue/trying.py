"""Asking a store again whose answer was lost: the ids are the same, so nothing is made twice."""

from __future__ import annotations

from typing import Final, TypeVar

from oxmill.errors import OutcomeUnknown
from oxmill.queue.talk import Talk
from oxmill.store.plan import Plan

T = TypeVar("T")

TRIES: Final = 2
"""Times that a lost answer is made up for; the next one is the caller's."""


def try_again(plan: Plan[T]) -> Talk[tuple[T, bool]]:
    """The store's answer, and whether it had to be asked again."""
    for tries in range(TRIES):
        try:
            return (yield plan), tries > 0
        except OutcomeUnknown:
            continue
    return (yield plan), True
