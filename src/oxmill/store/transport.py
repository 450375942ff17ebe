"""How plans are performed."""

from __future__ import annotations

from typing import Protocol, TypeVar

from oxmill.store.plan import Plan

T = TypeVar("T")


class Transport(Protocol):
    """Performs plans, each as one atomic step, from blocking and from async code.

    Every wait is bounded. Errors of the store's client are translated here: a `StoreUnavailable`
    wrote nothing, an `OutcomeUnknown` may have written and may be repeated.
    """

    def run(self, plan: Plan[T]) -> T:
        """Perform a plan and give its answer."""
        ...

    async def arun(self, plan: Plan[T]) -> T:
        """The same without blocking the event loop. Cancelling it leaves no half-done plan."""
        ...

    def close(self) -> None:
        """Finish what was accepted, then let go of all connections. Closing twice is harmless."""
        ...
