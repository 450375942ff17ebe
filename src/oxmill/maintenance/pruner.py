"""Deletes what is past its retention."""

from __future__ import annotations

from typing import ClassVar

from oxmill.maintenance.service import Service
from oxmill.model.info import Prune


class Pruner(Service):
    """Deletes ended jobs, events and used-up keys past their retention, a bounded number at a time."""

    name: ClassVar[str] = "pruner"

    async def run_once(self) -> float | None:
        """Prune until nothing is left to delete."""
        while not self.stopping:
            pruned = await self.driver.arun(self.driver.housekeeping.prune(Prune()))
            if not pruned.more:
                break
        return None
