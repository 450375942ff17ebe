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
    """Names unsafe settings once each, and ends the worker where work could be lost unseen.

    What passes by itself, such as a fail-over, only keeps a worker from starting.
    """

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
        self._started = False
        """Whether a look has found the store fit to start on."""
        self._told: frozenset[tuple[str, str]] = frozenset()
        """What the last look has found, by name and value."""

    async def run_once(self) -> float | None:
        """Look once; `StoreRefused` if a finding says so that was not allowed by name."""
        findings = await self.driver.arun(self.driver.installing.check(Check()))
        for finding in findings:
            if self._refuses(finding):
                raise StoreRefused(_refusal(finding))
        self._started = True
        self._tell([each for each in findings if each.level is not Level.NOTE])
        return None

    def _refuses(self, finding: Finding) -> bool:
        if finding.level is not Level.REFUSE or finding.name in self._allow:
            return False
        return not (finding.passes and self._started)

    def _tell(self, findings: Sequence[Finding]) -> None:
        """Name what was not there at the last look, and what is no longer."""
        found = frozenset((each.name, each.found) for each in findings)
        for finding in findings:
            if (finding.name, finding.found) not in self._told:
                _LOG.warning(
                    "unsafe store: %s is %s; wanted: %s. %s. Try: %s",
                    finding.name,
                    finding.found,
                    finding.wanted,
                    finding.risk,
                    finding.remedy,
                )
        for name in sorted({name for name, _ in self._told} - {name for name, _ in found}):
            _LOG.info("store: nothing is wrong with %s any more", name)
        self._told = found


def _refusal(finding: Finding) -> str:
    return (
        f"the store is not safe to work on: {finding.name} is {finding.found}, wanted: "
        f"{finding.wanted}; {finding.risk}. {finding.remedy}; or start with "
        f"allow=[{finding.name!r}] if that may happen"
    )
