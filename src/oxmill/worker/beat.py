"""Says that the worker is there, and learns what people ask of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ClassVar, Final

from oxmill.errors import OxmillError
from oxmill.maintenance.service import Service
from oxmill.model.info import Beat, Command, WorkerInfo
from oxmill.model.settings import SECOND
from oxmill.observe.bus import Bus
from oxmill.store.driver import Driver

MISSED: Final = 6
"""Beats that may be missed before the worker is forgotten. Its jobs do not depend on it."""
GOODBYE: Final = 2.0
"""Seconds to say goodbye in."""


class Heartbeat(Service):
    """Keeps the worker's row: what the dashboard shows, and the way for orders to come in."""

    name: ClassVar[str] = "beat"

    def __init__(self, driver: Driver, bus: Bus, every: float) -> None:
        super().__init__(driver, bus, every)
        self.describe: Callable[[], WorkerInfo] | None = None
        self.on_command: Callable[[Command], None] | None = None
        self._ttl = round(every * MISSED * SECOND)

    async def run_once(self) -> float | None:
        """Beat once."""
        if self.describe is not None:
            request = Beat(worker=self.describe(), ttl=self._ttl)
            answer = await self.driver.arun(self.driver.housekeeping.beat(request))
            if self.on_command is not None:
                self.on_command(answer.command)
        return None

    async def say_goodbye(self) -> None:
        """Let the worker be forgotten at once; if the store does not answer, by itself later."""
        if self.describe is None:
            return
        request = Beat(worker=self.describe(), ttl=self._ttl, gone=True)
        try:
            async with asyncio.timeout(GOODBYE):
                await self.driver.arun(self.driver.housekeeping.beat(request))
        except (OxmillError, TimeoutError):
            return
