"""Runs the jobs of a test one after the other, through the worker's own execution step."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import count
from typing import Any

from oxmill.errors import OxmillError
from oxmill.model.claim import Claim, Hold, Renew, Renewal
from oxmill.model.info import ListQueues, Sweep
from oxmill.model.job import LeasedJob
from oxmill.model.query import Filter, Find
from oxmill.model.settings import SECOND
from oxmill.model.settlement import Settle
from oxmill.model.state import State
from oxmill.queue.registry import Registry
from oxmill.queue.work import BYTES_TASK
from oxmill.store.driver import Driver
from oxmill.worker.execution import Execution
from oxmill.worker.flow_store import FlowStore
from oxmill.worker.lanes.choice import Lanes
from oxmill.worker.lanes.lane import Body, Lane
from oxmill.worker.lifespan import living
from oxmill.worker.middleware import Lifespan, Middleware
from oxmill.worker.runs import Run, Why

_LEASE = 3600 * SECOND


class Endless(OxmillError, AssertionError):
    """So many jobs ran that there seems to be no end to them."""


class TestLanes(Lanes):
    """The worker's lanes without child processes: what is patched in a test holds in threads."""

    __test__ = False

    def of(self, task: Body) -> Lane:
        """The lane that this task runs in."""
        return self._thread if task.options.pool == "process" else super().of(task)


class Runner:
    """Claims, runs and settles one job at a time, so that the order is the store's."""

    def __init__(
        self,
        driver: Driver,
        registry: Registry,
        middleware: Sequence[Middleware] = (),
        lifespan: Lifespan | None = None,
    ) -> None:
        self._driver = driver
        self._registry = registry
        self._middleware = middleware
        self._lifespan = lifespan
        self._nonces = count(1)

    async def run_due(self, limit: int) -> int:
        """Run what is due, and what that makes due, until nothing is left; how many runs."""
        lanes = TestLanes()
        execution = Execution(self._registry, lanes)
        execution.flows = FlowStore(self._driver)
        execution.middleware = self._middleware
        execution.bounds = self._driver.bounds
        execution.chance = _middle
        try:
            return await self._as_worker(execution, limit)
        finally:
            lanes.close()

    async def _as_worker(self, execution: Execution, limit: int) -> int:
        """Lifespan and hooks around it all, as in a worker that starts, drains and stops."""
        async with living(self._lifespan) as resources:
            for each in self._middleware:
                await each.on_start()
            ran = 0
            while (job := await self._claim()) is not None:
                if ran == limit:
                    raise Endless(
                        f"{limit} jobs ran and more are due; does a task enqueue itself? Give "
                        f"run_all(limit=...) if that many are meant"
                    )
                await self._perform(execution, job, resources)
                ran += 1
            for each in reversed(self._middleware):
                await each.on_stop()
        return ran

    async def _claim(self) -> LeasedJob | None:
        """The next job that is due; if there is none, what a sweep sets free."""
        while (job := await self._claim_due()) is None:
            swept = await self._driver.arun(self._driver.housekeeping.sweep(Sweep()))
            if not (swept.more or swept.queues):
                return None
        return job

    async def _claim_due(self) -> LeasedJob | None:
        queues = await self._queues()
        if not queues:
            return None
        request = Claim(
            queues=queues, limit=1, lease=_LEASE, worker="testing", nonce=next(self._nonces)
        )
        claimed = await self._driver.arun(self._driver.claiming.claim(request))
        return claimed.jobs[0] if claimed.jobs else None

    async def _queues(self) -> tuple[str, ...]:
        """All queues but those with items of bytes, which the test leases itself."""
        look = self._driver.inspecting
        seen = await self._driver.arun(look.queues(ListQueues()))
        plain = Filter(tasks=(BYTES_TASK,), states=(State.WAITING, State.SCHEDULED, State.RUNNING))
        items = await self._driver.arun(look.find(Find(filter=plain, limit=1_000)))
        taken = {item.queue for item in items.jobs}
        return tuple(queue.name for queue in seen.items if queue.name not in taken)

    async def _perform(self, execution: Execution, job: LeasedJob, resources: Any) -> None:
        loop = asyncio.get_running_loop()

        def renew_soon() -> None:
            loop.call_soon_threadsafe(self._renew, run)

        run = Run(job, renew_soon=renew_soon, resources=resources)
        performing = run.task = asyncio.create_task(execution.perform(run))
        settlement = await performing
        run.ended = True
        if run.timer is not None:
            run.timer.cancel()
        self._renew(run)
        if settlement is not None:
            self._driver.run(self._driver.settling.settle(Settle(items=(settlement,))))

    def _renew(self, run: Run) -> None:
        """Carry progress to the store; the run learns here that it is asked to stop."""
        progress = run.unsaved()
        item = Renewal(id=run.job.id, token=run.job.token, progress=progress)
        renewed = self._driver.run(self._driver.claiming.renew(Renew(items=(item,), lease=_LEASE)))
        if progress is not None:
            run.mark_saved(progress)
        told = renewed.holds[0]
        # A run that has completed its job in a transaction of its own has no lease to lose.
        if told is Hold.KEPT or run.ended or (told is Hold.LOST and run.completing):
            return
        run.stop(Why.CANCEL if told is Hold.CANCEL else Why.LOST)


def _middle() -> float:
    """No chance in tests: a jittered wait has its middle length."""
    return 0.5
