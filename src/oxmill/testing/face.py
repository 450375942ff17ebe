"""The two faces of a driver, for tests that do not care which one they look at."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from typing import Any

from oxmill.model.value import Value
from oxmill.store.driver import Driver
from oxmill.store.plan import Plan
from oxmill.testing.operations import plan_for


class Face(StrEnum):
    """How plans are performed."""

    BLOCKING = "blocking"
    ASYNC = "async"


class Hand:
    """Performs requests on one driver from blocking code, through either of its faces."""

    def __init__(self, driver: Driver, face: Face) -> None:
        self.driver = driver
        self._runner = asyncio.Runner() if face is Face.ASYNC else None

    def do(self, request: Value) -> Any:
        """Perform the operation that answers this request."""
        return self.perform(plan_for(self.driver, request))

    def perform(self, plan: Plan[Any]) -> Any:
        """Perform a plan."""
        if self._runner is None:
            return self.driver.run(plan)
        return self._runner.run(self.driver.arun(plan))

    def close(self) -> None:
        """Close the driver and the event loop."""
        self.driver.close()
        if self._runner is not None:
            self._runner.close()
