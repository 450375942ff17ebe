"""Asks the store now and then whether it is still safe to work on."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from random import random
from typing import ClassVar, Final

from oxmill.errors import StoreRefused
from oxmill.maintenance.service import Service
from oxmill.model.info import Finding, Level
from oxmill.observe.bus import Bus
from oxmill.store.driver import Driver
from oxmill.store.roles.installing import Check

_LOG: Final = logging.getLogger("oxmill.worker")
EVERY: Final = 60.0
"""Seconds between two looks: people change settings while workers run."""


class Vetting(Service):
    """Names unsafe settings once each, and ends the worker where work could be lost unseen."""

    name: ClassVar[str] = "vetting"

    def __init__(
        self,
        driver: Driver,
        bus: Bus,
        allow: Sequence[str],
        chance: Callable[[], float] = random,
    ) -> None:
        super().__init__(driver, bus, EVERY, chance)
        self._allow = frozenset(allow)
        self._told: set[tuple[str, str]] = set()

    async def run_once(self) -> float | None:
        """Look once; `StoreRefused` if a finding says so that was not allowed by name."""
        findings = await self.driver.arun(self.driver.installing.check(Check()))
        for finding in findings:
            refused = finding.level is Level.REFUSE
            if refused and finding.name not in self._allow:
                raise StoreRefused(_refusal(finding))
            if finding.level is not Level.NOTE and (finding.name, finding.found) not in self._told:
                self._told.add((finding.name, finding.found))
                _LOG.warning(
                    "unsafe store: %s is %s; wanted: %s. %s. Try: %s",
                    finding.name,
                    finding.found,
                    finding.wanted,
                    finding.risk,
                    finding.remedy,
                )
        return None


def _refusal(finding: Finding) -> str:
    return (
        f"the store is not safe to work on: {finding.name} is {finding.found}, wanted: "
        f"{finding.wanted}; {finding.risk}. {finding.remedy}; or start with "
        f"allow=[{finding.name!r}] if that may happen"
    )
