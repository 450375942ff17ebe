"""Something unattended is always sweeping."""

from __future__ import annotations

from typing import ClassVar

from oxmill.maintenance.service import Service
from oxmill.model.info import Sweep
from oxmill.observe.events import Swept


class Sweeper(Service):
    """Takes back lapsed leases, lets due jobs into the line, ends expired ones: on all queues.

    A claim does the same for its own queues; this looks after those that nobody claims from. Any
    number may run at once, and killing one halfway harms nothing.
    """

    name: ClassVar[str] = "sweeper"

    async def run_once(self) -> float | None:
        """Sweep until nothing is left to do."""
        while not self.stopping:
            swept = await self.driver.arun(self.driver.housekeeping.sweep(Sweep()))
            if swept.lapsed or swept.poisoned or swept.expired or swept.due:
                self.bus.emit(
                    Swept(
                        lapsed=swept.lapsed,
                        poisoned=swept.poisoned,
                        due=swept.due,
                        expired=swept.expired,
                    )
                )
            if not swept.more:
                break
        return None
