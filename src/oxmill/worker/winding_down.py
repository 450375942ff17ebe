"""The end of a worker: let running jobs finish, release what is left, settle everything."""

from __future__ import annotations

import asyncio
from typing import Final

from oxmill.maintenance.wake import Wake
from oxmill.worker.parts import Parts
from oxmill.worker.runs import Why

STOP_WITHIN: Final = 2.0
"""Seconds for runs to take their cancellation once the grace time is over."""
SETTLE_WITHIN: Final = 5.0
"""Seconds for the last outcomes to reach the store."""


class WindingDown:
    """Every step has a bound, so a stop ends even if the store and the jobs do not answer."""

    def __init__(self, parts: Parts, grace: float) -> None:
        self.released = 0
        """Jobs given back because they did not end in time."""
        self.left = 0
        """Runs that did not stop at all and go with the process."""
        self.dropped = 0
        """Outcomes that did not reach the store."""
        self._parts = parts
        self._grace = grace
        self._hurry = Wake()

    def hurry(self) -> None:
        """Do not wait for running jobs any longer."""
        self._hurry.ring()

    async def run(self, claiming: asyncio.Task[None]) -> None:
        """Wind the worker down; `claiming` is the claimer's loop, which settles to the last."""
        executor, claimer = self._parts.executor, self._parts.claimer
        claimer.close()
        await self._until_idle(self._grace)
        self.released = len(executor.running)
        executor.stop_all(Why.SHUTDOWN)
        self._hurry = Wake()
        await self._until_idle(STOP_WITHIN)
        self.left = executor.leave_all()
        claimer.close()
        _, unsettled = await asyncio.wait({claiming}, timeout=SETTLE_WITHIN)
        if unsettled:
            error = TimeoutError(f"the store did not answer within {SETTLE_WITHIN:g} s")
            self.dropped = self._parts.settler.drop_all(error)

    async def _until_idle(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while self._parts.executor.running and (rest := end - loop.time()) > 0:
            if await self._hurry.wait(min(rest, 0.05)):
                return
