"""Conversations with a store, written once and held by blocking and by async code.

One plan is one atomic step. Waiting for a result, walking through pages or cancelling a million
jobs takes several steps and pauses: a generator that yields plans and pauses, and is sent answers.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from oxmill.store.doorbell import Bell
from oxmill.store.plan import Plan

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait for the bell, at most so many seconds. The answer is whether it rang."""

    bell: Bell
    seconds: float


class Performer(Protocol):
    """Performs plans: a driver, or a transaction of the caller's."""

    def run(self, plan: Plan[T], /) -> T:
        """Perform a plan and give its answer."""
        ...

    async def arun(self, plan: Plan[T], /) -> T:
        """The same without blocking the event loop."""
        ...


Talk = Generator[Plan[Any] | Pause, Any, T]
"""A conversation under way."""


def hold(place: Performer, talk: Talk[T]) -> T:
    """Hold a conversation, blocking."""
    try:
        step = next(talk)
        while True:
            try:
                answer = (
                    step.bell.wait(step.seconds) if isinstance(step, Pause) else place.run(step)
                )
            except BaseException as error:  # noqa: BLE001 - the conversation decides
                step = talk.throw(error)
            else:
                step = talk.send(answer)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


async def ahold(place: Performer, talk: Talk[T]) -> T:
    """Hold a conversation without blocking the event loop."""
    try:
        step = next(talk)
        while True:
            try:
                answer = (
                    await step.bell.arrive(step.seconds)
                    if isinstance(step, Pause)
                    else await place.arun(step)
                )
            except BaseException as error:  # noqa: BLE001 - the conversation decides
                step = talk.throw(error)
            else:
                step = talk.send(answer)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
