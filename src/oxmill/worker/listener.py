"""Waits for the doorbell."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ClassVar, Final

from oxmill.maintenance.service import Service
from oxmill.observe.bus import Bus
from oxmill.store.driver import Driver

LONGEST: Final = 1.0
"""Seconds of one wait; then it waits again. No wait is without a bound."""


class Listener(Service):
    """Passes the rings of some topics on. A ring is a hint: to miss one costs time, not work."""

    name: ClassVar[str] = "listener"

    def __init__(
        self, driver: Driver, bus: Bus, topics: Iterable[str], on_ring: Callable[[], None]
    ) -> None:
        super().__init__(driver, bus, every=LONGEST)
        self._bell = driver.doorbell.attend(topics)
        self._bell.on_wake = self._at_once
        self._on_ring = on_ring
        self._passed_on = False

    def _at_once(self) -> None:
        """Pass a ring on without waiting for one's own turn in the event loop."""
        self._passed_on = True
        self._on_ring()

    async def run_once(self) -> float | None:
        """Wait for one ring."""
        rung = await self._bell.arrive(LONGEST)
        if rung and not self._passed_on:
            self._on_ring()
        self._passed_on = False
        return 0.0

    async def run(self) -> None:
        """Listen until stopped."""
        try:
            await super().run()
        finally:
            self._bell.close()
