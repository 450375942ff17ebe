"""The turn: settle what has piled up, claim what the free slots can take, in one round trip."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from random import getrandbits
from typing import Any, Final

from oxmill.errors import StoreError
from oxmill.maintenance.trouble import FATAL, Trouble
from oxmill.maintenance.wake import Wake
from oxmill.model.claim import Claim, Claimed
from oxmill.model.job import LeasedJob
from oxmill.model.settings import SECOND
from oxmill.observe.bus import Bus
from oxmill.observe.metrics import Metrics
from oxmill.rules.polling import look_cost, poll_interval
from oxmill.rules.settle import released
from oxmill.store.bells import SilentDoorbell
from oxmill.store.capabilities import Capability
from oxmill.store.driver import Driver
from oxmill.store.plan import Plan, together
from oxmill.worker.config import WorkerConfig
from oxmill.worker.executor import Executor
from oxmill.worker.settler import Batch, Settler

_LOG: Final = logging.getLogger("oxmill.worker")
_OPERATIONS: Final = {
    (True, True): "settle+claim",
    (True, False): "settle",
    (False, True): "claim",
}
SOONEST: Final = 0.002
"""Seconds between two looks that find nothing, however soon something falls due."""
WORTHWHILE: Final = 25
"""Settlements for which a second turn sets out while one is on its way: then the store has work
while this process reads what it answered. Fewer wait for the answer, and for company."""


class Claimer:
    """Keeps the slots full, and the store told.

    A turn takes what there is and never waits for more: while it is on its way, the last batch runs
    and settlements pile up for the next turn. So batches are as large as the load makes them. At
    most two turns are on their way, and the second only under load.
    """

    def __init__(
        self, driver: Driver, config: WorkerConfig, executor: Executor, settler: Settler, bus: Bus
    ) -> None:
        self.worker = ""
        self.queues: tuple[str, ...] = ()
        self.metrics = Metrics()
        self.on_left: Callable[[], None] | None = None
        """Called when a claim has left something to sweep."""
        self.on_idle: Callable[[], None] | None = None
        """Called when nothing runs, nothing is to be settled, and no claim brings anything."""
        self.owing_since: float | None = None
        """Since when a turn has been due that the store has not answered, however often it was
        tried; `None` while claims make progress."""
        self.answered = False
        """Whether any turn was answered so far."""
        self.started = 0
        """Jobs started."""
        self._driver = driver
        self._config = config
        self._executor = executor
        self._settler = settler
        self._claiming, self._closing = True, False
        self._wake = Wake()
        self._piled_up = Wake()
        self._hurry = Wake(), Wake()
        self._sent: dict[object, tuple[float, int]] = {}
        """Turns on their way: when each set out, and how many jobs it asks for."""
        self._batches = 0
        """Batches of settlements that the store has answered."""
        self._trouble = Trouble("claimer", bus)
        # Half of the slots at most, so that the next claim is on its way while this one runs.
        half = (config.slots + 1) // 2
        self._most = min(half, driver.bounds.turn_jobs, driver.bounds.claim_jobs)
        self._cost = 0.0  # of a look that finds nothing, in seconds
        self._bell = Capability.DOORBELL in driver.capabilities and not isinstance(
            driver.doorbell, SilentDoorbell
        )
        self._held = (config.lease - config.margin) / SECOND  # from when a claim sets out
        self._worthwhile = max(self._most // 2, WORTHWHILE)
        executor.on_conclusion = self._concluded

    @property
    def turn_since(self) -> float | None:
        """Since when the oldest turn has been on its way."""
        return min(sent for sent, _ in self._sent.values()) if self._sent else None

    # -- what others say ---------------------------------------------------------------------------

    def wake(self) -> None:
        """There may be work."""
        self._wake.ring()

    def set_claiming(self, *, claiming: bool) -> None:
        """Claim no more, or claim again. Runs and settlements go on."""
        if claiming != self._claiming and not self._closing:
            self._claiming = claiming
            self._wake.ring()

    def close(self) -> None:
        """Claim no more; end when nothing runs and everything is settled."""
        self._closing = True
        self._claiming = False
        self._wake.ring()
        self._piled_up.ring()
        for hurry in self._hurry:
            hurry.ring()

    def _concluded(self) -> None:
        self._wake.ring()
        if self._settler.piled_up >= self._worthwhile:
            self._piled_up.ring()

    # -- the loop ----------------------------------------------------------------------------------

    async def run(self) -> None:
        """Take turn after turn until closed and done."""
        second = asyncio.ensure_future(self._second())
        try:
            while not self._finished:
                pause = await self._tried(self._hurry[0])
                if pause > 0 and not self._finished:
                    await self._wake.wait(pause)
        except BaseException:
            second.cancel()
            raise
        self._piled_up.ring()
        await second

    async def _second(self) -> None:
        """Take a turn whenever enough has piled up while another is on its way."""
        while not self._finished:
            if self._sent and self._settler.piled_up >= self._worthwhile:
                if await self._tried(self._hurry[1]) == 0:
                    self._wake.ring()  # there may be more, and nobody else may be about to look
            else:
                await self._piled_up.wait(self._config.poll_most / SECOND)

    async def _tried(self, hurry: Wake) -> float:
        """A turn, whatever becomes of it; the seconds to wait for more."""
        try:
            return await self._turn()
        except FATAL:
            raise
        except StoreError as error:
            await hurry.wait(self._trouble.met(error))
        except Exception as error:  # noqa: BLE001 - a worker that dies of a surprise goes quiet
            _LOG.exception("a turn failed and will be tried again")
            await hurry.wait(self._trouble.met(error))
        return 0.0

    @property
    def _finished(self) -> bool:
        return self._closing and not self._executor.running and not self._settler.open

    async def _turn(self) -> float:
        """One round trip, if there is anything to say; the seconds to wait for more."""
        batch, room = self._settler.take(), self._room()
        if batch is None and room == 0:
            self._say_if_idle()
            return self._config.poll_most / SECOND
        sent, turn, before = time.monotonic(), object(), self._batches
        self._sent[turn] = sent, room
        self.owing_since = self.owing_since or sent
        try:
            settled, claimed = await self._perform(batch, room)
        except Exception as error:
            if batch is None:
                raise
            if isinstance(error, StoreError):
                self._settler.put_back(batch)
                raise
            # Something in it cannot be stored, and must not keep the others from being settled.
            await self._settler.one_by_one(batch)
            return SOONEST
        finally:
            del self._sent[turn]
        took, overtaken = time.monotonic() - sent, self._batches != before
        if batch is not None:
            self._batches += 1
            self._settler.answered(batch, settled)
        if claimed is not None and claimed.jobs:
            self._begin(claimed.jobs, sent)
            if len(claimed.jobs) < room:
                await asyncio.sleep(0)  # they start now; what is left to do here can wait for that
        self._note(batch, claimed, took)
        return self._pause(claimed, room, overtaken=overtaken)

    def _room(self) -> int:
        if not self._claiming:
            return 0
        asked = sum(jobs for _, jobs in self._sent.values()) if self._sent else 0
        room = min(self._config.slots - len(self._executor.running) - asked, self._most)
        most = self._config.max_jobs
        return room if most is None else min(room, most - self.started - asked)

    async def _perform(self, batch: Batch | None, room: int) -> tuple[Any, Claimed | None]:
        if batch is None:
            return None, await self._driver.arun(self._claim(room))
        if room == 0:
            return await self._driver.arun(self._settler.plan(batch)), None
        return await self._driver.arun(together(self._settler.plan(batch), self._claim(room)))

    def _claim(self, room: int) -> Plan[Claimed]:
        return self._driver.claiming.claim(
            Claim(
                queues=self.queues,
                limit=room,
                lease=self._config.lease,
                worker=self.worker,
                nonce=getrandbits(63),
            )
        )

    def _begin(self, jobs: Sequence[LeasedJob], sent: float) -> None:
        """Start what was claimed by a turn that set out at this time."""
        if self._closing:  # the stop came while the claim was on its way
            for job in jobs:
                self._settler.add(released(job))
            return
        self.started += len(jobs)
        self._executor.start(jobs, sent + self._held)

    def _note(self, batch: Batch | None, claimed: Claimed | None, took: float) -> None:
        """The store has answered, after so many seconds."""
        self.owing_since, self.answered = self.turn_since, True
        self._trouble.over()
        self.metrics.stored(_OPERATIONS[batch is not None, claimed is not None], took)
        if batch is None and claimed is not None and not claimed.jobs:
            self._cost = look_cost(self._cost, took)

    def _pause(self, claimed: Claimed | None, room: int, *, overtaken: bool) -> float:
        """The seconds to wait before the next turn. `overtaken` if another batch was settled meanwhile: this
        claim may not have seen what that let go."""
        if claimed is None:
            if self._settler.open or self._room():
                return 0.0
            self._say_if_idle()
            return self._config.poll_most / SECOND
        self.metrics.claims += 1
        if claimed.news.left and self.on_left is not None:
            self.on_left()
        if self._closing or len(claimed.jobs) == room:
            return 0.0
        if not claimed.jobs:
            self.metrics.empty_claims += 1
            if overtaken:
                return 0.0
            self._say_if_idle()
        config = self._config
        bounds = (config.poll_least / SECOND, config.poll_most / SECOND)
        pause = poll_interval(self._cost, bell=self._bell, bounds=bounds)
        if claimed.next_due is None:
            return pause
        # What is due and was not granted all the same must not be asked for in a tight loop.
        wait = (claimed.next_due - claimed.now) / SECOND
        return min(pause, max(wait, SOONEST if wait > 0 else bounds[0]))

    def _say_if_idle(self) -> None:
        if self._executor.running or self._settler.open or self._sent:
            return
        if self.on_idle:
            self.on_idle()
