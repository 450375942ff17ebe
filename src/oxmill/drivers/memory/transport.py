"""Performs plans on the world in memory: one lock, one step at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from oxmill.store.plan import Plan, Step, Together

R = TypeVar("R")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call(Step[R], Generic[R]):
    """Do this to the world."""

    act: Callable[[], R]


class MemoryTransport:
    """Each plan runs under one lock from start to end, so it is atomic."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def run(self, plan: Plan[T]) -> T:
        """Perform a plan and give its answer."""
        with self._lock:
            steps = plan.start()
            reply: Any = None
            while True:
                try:
                    step = steps.send(reply)
                except StopIteration as end:
                    return end.value  # type: ignore[no-any-return]
                reply = _perform(step)

    async def arun(self, plan: Plan[T]) -> T:
        """The same: nothing here blocks for long."""
        return self.run(plan)

    def close(self) -> None:
        """Nothing to let go of: the world lives as long as its driver."""


def _perform(step: Step[Any]) -> Any:
    if isinstance(step, Together):
        return tuple(_perform(each) for each in step.steps)
    assert isinstance(step, Call)  # noqa: S101 - our own roles yield nothing else
    return step.act()
