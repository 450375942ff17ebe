"""A driver: all the code that knows one store, as one value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from oxmill.model.bounds import DEFAULT_BOUNDS, Bounds
from oxmill.store.borrowing import Borrowing
from oxmill.store.capabilities import Capability
from oxmill.store.doorbell import Doorbell
from oxmill.store.plan import Plan
from oxmill.store.ringing import topics_after
from oxmill.store.roles.claiming import Claiming
from oxmill.store.roles.enqueueing import Enqueueing
from oxmill.store.roles.housekeeping import Housekeeping
from oxmill.store.roles.inspecting import Inspecting
from oxmill.store.roles.installing import Installing
from oxmill.store.roles.scheduling import Scheduling
from oxmill.store.roles.settling import Settling
from oxmill.store.roles.steering import Steering
from oxmill.store.transport import Transport

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Driver:
    """The eight roles of one store, with what performs their plans and carries its hints."""

    name: str
    url: str
    """Where the store is, without secrets."""
    capabilities: Capability
    installing: Installing
    enqueueing: Enqueueing
    claiming: Claiming
    settling: Settling
    scheduling: Scheduling
    steering: Steering
    inspecting: Inspecting
    housekeeping: Housekeeping
    transport: Transport
    doorbell: Doorbell
    bounds: Bounds = DEFAULT_BOUNDS
    borrowing: Borrowing | None = None
    """Performs plans in transactions of the caller's, where the store is a database."""
    stands_in: bool = False
    """Whether it stands in for another store in a test: then it takes what that would have done in a
    transaction of the caller's."""

    def run(self, plan: Plan[T]) -> T:
        """Perform a plan, then ring for what it changed."""
        answer = self.transport.run(plan)
        if plan.writes and self.doorbell.listened():
            self.ring_for(plan, answer)
        return answer

    async def arun(self, plan: Plan[T]) -> T:
        """The same without blocking the event loop."""
        answer = await self.transport.arun(plan)
        if plan.writes and self.doorbell.listened():
            self.ring_for(plan, answer)
        return answer

    def ring_for(self, plan: Plan[T], answer: T) -> None:
        """Ring for what a plan has changed, now that others can see it."""
        if topics := topics_after(plan.request, answer):
            self.doorbell.ring(topics)

    def close(self) -> None:
        """Let go of threads, sockets and connections."""
        self.doorbell.close()
        self.transport.close()
