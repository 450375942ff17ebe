"""Starts claimed jobs, stops them when told, and hands on what they came to."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

from oxmill.model.job import LeasedJob, Reason
from oxmill.model.settlement import Failure, Outcome, Settlement
from oxmill.observe.bus import Bus
from oxmill.observe.events import FailedForGood, RunEnded, RunFailed, RunStuck
from oxmill.observe.metrics import Metrics
from oxmill.rules import settle
from oxmill.worker.execution import Execution
from oxmill.worker.runs import HARD, Run, Why
from oxmill.worker.settler import Settler

_NO_ERROR: Final = Failure(type="")


class Executor:
    """The runs of one worker. Each comes to exactly one conclusion, and frees its slot with it."""

    def __init__(
        self, execution: Execution, settler: Settler, bus: Bus, metrics: Metrics, patience: float
    ) -> None:
        self.running: set[Run] = set()
        self.done = 0
        """Runs that have come to a conclusion."""
        self.resources: Any = None
        self.on_conclusion: Callable[[], None] = _nothing
        """Called after every conclusion: there is a free slot, and perhaps something to settle."""
        self.renew_soon: Callable[[], None] | None = None
        self._execution = execution
        self._settler = settler
        self._bus = bus
        self._metrics = metrics
        self._patience = patience
        execution.halt = self.stop

    def start(self, jobs: Iterable[LeasedJob], deadline: float) -> None:
        """Run these jobs, each as an asyncio task of its own with its own context."""
        create_task = asyncio.get_running_loop().create_task
        for job in jobs:
            run = Run(job, deadline, self.renew_soon, self.resources)
            self.running.add(run)
            run.task = create_task(self._live(run), name=job.id)

    async def _live(self, run: Run) -> None:
        try:
            settlement = await self._execution.perform(run)
        except asyncio.CancelledError:
            raise  # `_gone` comes to the conclusion
        except BaseException as error:  # noqa: BLE001 - a run without a conclusion would hold its slot for ever
            settlement = settle.refused(run.job, error)
        self.conclude(run, settlement)

    def conclude(self, run: Run, settlement: Settlement | None) -> None:
        """A run is over. Only the first conclusion counts: a run that was left behind may come to
        another one later, which nobody needs."""
        if run.ended:
            return
        run.ended = True
        self.running.discard(run)
        self.done += 1
        if run.timer is not None:
            run.timer.cancel()
        if settlement is not None:
            goes_on = settlement.outcome is not Outcome.COMPLETE or settle.goes_on(settlement)
            progress = run.unsaved() if goes_on else None
            self._settler.add(settlement, progress, completing=run.completing)
            self._tell(run, settlement)
        run.let_go()
        self.on_conclusion()

    def stop(self, run: Run, why: Why) -> None:
        """Tell a run to stop, in the loop's thread, and see to it that it does."""
        if not run.stop(why):
            return
        if run.task is not None:
            # A task that is cancelled before its first step never gets to its own conclusion.
            run.task.add_done_callback(partial(self._gone, run))
        asyncio.get_running_loop().call_later(self._patience, self._look_after, run)

    def stop_all(self, why: Why) -> None:
        """Tell every run to stop."""
        for run in tuple(self.running):
            self.stop(run, why)

    def leave_all(self) -> int:
        """Release the jobs of runs that do not stop: the worker goes without them."""
        left = tuple(self.running)
        for run in left:
            self._report_stuck(run)
            self.conclude(run, None if run.lost else settle.released(run.job))
        return len(left)

    def _gone(self, run: Run, task: asyncio.Task[Any]) -> None:
        if not task.cancelled():
            return
        self.conclude(run, None if run.lost else settle.released(run.job))

    def _look_after(self, run: Run) -> None:
        """A run that goes on after it was told to stop is shown in the log; if its time was up, it
        is settled as such and left behind."""
        if run.ended or run.why is None:
            return
        self._report_stuck(run)
        if run.why in HARD and run.context is not None:
            task = self._execution.find(run.job)
            if task is not None:
                self.conclude(run, self._execution.raised(run, task, asyncio.CancelledError()))

    def _report_stuck(self, run: Run) -> None:
        self._bus.emit(
            RunStuck(
                job=run.job.id,
                task=run.job.task,
                why=run.why or Why.SHUTDOWN,
                stack=run.stack,
            )
        )

    def _tell(self, run: Run, settlement: Settlement) -> None:
        job, outcome = run.job, settle.foreseen(run.job, settlement)
        seconds = time.perf_counter() - run.began
        self._metrics.ran((job.queue, job.task, outcome), seconds)
        if settlement.outcome is not Outcome.RETRY and settlement.outcome is not Outcome.FAIL:
            if self._bus.wants(RunEnded):
                self._bus.emit(_ended(run, outcome, seconds))
            return
        error = settlement.error or _NO_ERROR
        if self._bus.wants(RunFailed):
            self._bus.emit(_failed(run, outcome, error, seconds))
        if outcome == Outcome.FAIL and self._bus.wants(FailedForGood):
            self._bus.emit(_failed_for_good(run, settlement, error))


def _ended(run: Run, outcome: str, seconds: float) -> RunEnded:
    return RunEnded(
        job=run.job.id,
        task=run.job.task,
        queue=run.job.queue,
        attempt=run.job.token.attempt,
        outcome=outcome,
        seconds=seconds,
    )


def _failed(run: Run, outcome: str, error: Failure, seconds: float) -> RunFailed:
    return RunFailed(
        job=run.job.id,
        task=run.job.task,
        queue=run.job.queue,
        attempt=run.job.token.attempt,
        outcome=outcome,
        seconds=seconds,
        error=error.type,
        detail=error.message,
        traceback=error.traceback,
    )


def _failed_for_good(run: Run, settlement: Settlement, error: Failure) -> FailedForGood:
    used_up = settlement.outcome is Outcome.RETRY
    return FailedForGood(
        job=run.job.id,
        task=run.job.task,
        queue=run.job.queue,
        failures=run.job.failures + 1,
        reason=Reason.EXHAUSTED if used_up else settlement.reason or Reason.REFUSED,
        error=error.type,
        detail=error.message,
    )


def _nothing() -> None:
    """Nobody waits yet."""
