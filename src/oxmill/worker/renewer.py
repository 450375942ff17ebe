"""Keeps the leases of running jobs, from a thread of its own."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterator
from random import random
from typing import Final

from oxmill.errors import StoreError
from oxmill.maintenance.trouble import Trouble
from oxmill.model.claim import Hold, Renew, Renewal, Renewed
from oxmill.model.query import Get
from oxmill.model.settings import SECOND
from oxmill.model.state import State
from oxmill.observe.bus import Bus
from oxmill.observe.events import LeaseLost
from oxmill.observe.metrics import Metrics
from oxmill.store.driver import Driver
from oxmill.worker.config import WorkerConfig
from oxmill.worker.executor import Executor
from oxmill.worker.runs import Run, Why

_LOG: Final = logging.getLogger("oxmill.worker")
MOST: Final = 1_000
"""Renewals in one batch."""


class Renewer:
    """Renews all leases in one batch at a third of their length, however busy the event loop is.

    A renewal also carries progress, and brings back what the holder must know: the lease is lost,
    or the job is asked to stop. A lease that cannot be renewed ends here before it ends at the
    store: the run is told to stop at its local deadline.
    """

    def __init__(
        self, driver: Driver, config: WorkerConfig, executor: Executor, bus: Bus, metrics: Metrics
    ) -> None:
        self._driver = driver
        self._executor = executor
        self._bus = bus
        self._metrics = metrics
        self._lease = config.lease
        self._third = config.lease / SECOND / 3
        self._keeps = (config.lease - config.margin) / SECOND
        self._least = min(0.2, self._third / 4)
        self._trouble = Trouble("renewer", bus)
        self._asked = threading.Event()
        self._stopping = threading.Event()
        self.loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        executor.renew_soon = self._asked.set

    def start(self, on_death: Callable[[BaseException], None]) -> None:
        """Start the thread. `on_death` is called from it if it ends otherwise than by `stop`."""
        self.loop = asyncio.get_running_loop()
        self._thread = threading.Thread(
            target=self._guarded, args=(on_death,), name="oxmill-renewer", daemon=True
        )
        self._thread.start()

    def renew_now(self) -> None:
        """Renew without waiting for the time: there may be a cancel to learn of. Any thread."""
        self._asked.set()

    async def stop(self) -> None:
        """End the thread; waits for the renewal under way, not for long."""
        self._stopping.set()
        self._asked.set()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join, 2.0)

    def _guarded(self, on_death: Callable[[BaseException], None]) -> None:
        try:
            self._work()
        except BaseException as error:  # noqa: BLE001 - the worker must not go on without leases
            on_death(error)

    def _work(self) -> None:
        pause = self._third
        while not self._stopping.is_set():
            asked = self._asked.wait(min(pause, self._until_deadline()))
            self._asked.clear()
            if self._stopping.is_set():
                return
            pause = self._round()
            if asked:  # progress saved in a tight loop is renewed now and then
                self._stopping.wait(self._least)

    def _until_deadline(self) -> float:
        """Seconds until the first local deadline that has not passed."""
        now = time.monotonic()
        ends = (run.deadline for run in tuple(self._executor.running) if run.deadline > now)
        return min(ends, default=now + self._third) - now

    def _round(self) -> float:
        """Renew everything once; the seconds until the next time."""
        runs = [run for run in tuple(self._executor.running) if run.holds]
        try:
            for batch in _batches(runs):
                self._renew(batch)
        except StoreError as error:
            pause = min(self._trouble.met(error), self._third / 2)
        except Exception as error:  # noqa: BLE001 - leases must be renewed whatever else is wrong
            _LOG.exception("a renewal failed and will be tried again")
            pause = min(self._trouble.met(error), self._third / 2)
        else:
            self._trouble.over()
            pause = self._third * (0.8 + 0.2 * random())  # noqa: S311 - spreads workers
        self._stop_overdue()
        return pause

    def _renew(self, runs: list[Run]) -> None:
        items = tuple(
            Renewal(id=run.job.id, token=run.job.token, progress=run.unsaved()) for run in runs
        )
        sent = time.monotonic()
        try:
            answer = self._ask(items)
        except StoreError:
            raise
        except Exception:  # noqa: BLE001 - what one run saved must not cost others their leases
            _LOG.exception("progress could not be stored; the leases are renewed without it")
            items = tuple(Renewal(id=item.id, token=item.token) for item in items)
            answer = self._ask(items)
        self._metrics.stored("renew", time.monotonic() - sent)
        told: list[tuple[Run, Why]] = []
        for run, item, hold in zip(runs, items, answer.holds, strict=True):
            if hold is Hold.LOST:
                if run.completing and self._is_done(run):
                    run.settled, run.deadline = True, float("inf")
                else:
                    told.append((run, Why.LOST))
                continue
            run.deadline = sent + self._keeps
            if item.progress is not None:
                run.mark_saved(item.progress)
            if hold is Hold.CANCEL:
                told.append((run, Why.CANCEL))
        self._tell(told)

    def _is_done(self, run: Run) -> bool:
        """Whether there is no lease any more because the run itself has completed its job."""
        found = self._driver.run(self._driver.inspecting.get(Get(ids=(run.job.id,))))
        return not found or (
            found[0].state is State.SUCCEEDED and found[0].attempt == run.job.token.attempt
        )

    def _ask(self, items: tuple[Renewal, ...]) -> Renewed:
        return self._driver.run(self._driver.claiming.renew(Renew(items=items, lease=self._lease)))

    def _stop_overdue(self) -> None:
        now = time.monotonic()
        self._tell(
            [
                (run, Why.DEADLINE)
                for run in tuple(self._executor.running)
                if run.deadline <= now and run.why is None
            ]
        )

    def _tell(self, told: list[tuple[Run, Why]]) -> None:
        """Stop these runs, in the event loop's thread."""
        if told and self.loop is not None:
            try:
                self.loop.call_soon_threadsafe(self._stop_runs, told)
            except RuntimeError:  # the loop is closed: nothing runs any more
                self._stopping.set()

    def _stop_runs(self, told: list[tuple[Run, Why]]) -> None:
        for run, why in told:
            if run.ended:  # it was settled while the renewal was on its way
                continue
            if why in (Why.LOST, Why.DEADLINE) and run.why is None:
                self._metrics.leases_lost += 1
                at = "renewal" if why is Why.LOST else "deadline"
                self._bus.emit(LeaseLost(job=run.job.id, attempt=run.job.token.attempt, at=at))
            self._executor.stop(run, why)


def _batches(runs: list[Run]) -> Iterator[list[Run]]:
    """Runs that complete their jobs in a transaction of their own come last, each by itself: it may
    be open still, and whoever asks for the job waits for its end."""
    plain = [run for run in runs if not run.completing]
    for start in range(0, len(plain), MOST):
        yield plain[start : start + MOST]
    for run in runs:
        if run.completing:
            yield [run]
