"""One job from claim to outcome.

`perform` is the whole life of a run, one step per line: find the task, read the arguments, make the
context, run the function in its lane, turn what happened into a settlement. It talks to no store.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Any

from oxmill.errors import BadArguments, StoreError, TaskNotFound
from oxmill.model.bounds import DEFAULT_BOUNDS, Bounds
from oxmill.model.job import LeasedJob
from oxmill.model.outcome import Signal
from oxmill.model.settings import SECOND
from oxmill.model.settlement import Settlement
from oxmill.observe.bus import Bus
from oxmill.observe.events import TaskUnknown
from oxmill.queue.context import CURRENT, Context
from oxmill.queue.inputs import Inputs
from oxmill.queue.registry import Registry
from oxmill.queue.spawning import Spawn, spawned
from oxmill.rules import settle
from oxmill.rules.duration import spell
from oxmill.worker.flow_store import FlowStore, has_inputs
from oxmill.worker.hooks import with_hooks
from oxmill.worker.lanes.choice import LaneChoice, Lanes
from oxmill.worker.lanes.lane import AnyTask, EndedElsewhere
from oxmill.worker.middleware import Middleware
from oxmill.worker.runs import Run, Why


class Execution:
    """Performs runs. One instance serves a worker, or a child process, or a test."""

    def __init__(self, registry: Registry, lanes: LaneChoice, bus: Bus | None = None) -> None:
        self._registry = registry
        self._lanes = lanes
        self._bus = bus or Bus()
        self.middleware: Sequence[Middleware] = ()
        self.bounds: Bounds = DEFAULT_BOUNDS
        self.chance: Callable[[], float] = Random().random  # noqa: S311 - spreads retries
        self.flows: FlowStore | None = None
        """Gives runs what they need of other jobs; a child process is sent it instead."""
        self.halt: Callable[[Run, Why], Any] = Run.stop
        """How a run is stopped when its time is up."""

    async def perform(self, run: Run) -> Settlement | None:
        """The settlement of one run; `None` if its lease is lost and there is nothing to say.

        Never raises: whatever the task does becomes an outcome.
        """
        job = run.job
        if job.fault is not None:
            return settle.unreadable(job, job.fault)
        task = self.find(job)
        if task is None:
            return self._put_off(job, job.task)
        try:
            if has_inputs(job) and run.inputs is None:
                run.inputs = await self._inputs(job)
            body, arguments = task.prepare(job, run.inputs or {})
        except Exception as error:  # noqa: BLE001 - of whatever kind, it is told
            return self._unprepared(job, task, error)
        context = run.context = Context(job, run, task)
        CURRENT.set(context)
        if body.takes_context:
            arguments = ((context, *arguments[0]), arguments[1])
        if job.timeout is not None:
            run.limit = partial(self._start_timeout, run, job.timeout / SECOND)
        try:
            lane = run.lane = self._lanes.of(body)
            if self.middleware:
                call = partial(lane.call, run, body, arguments)
                value = await with_hooks(self.middleware, context, call)
            else:
                value = await lane.call(run, body, arguments)
        except BaseException as error:  # noqa: BLE001 - even SystemExit is an outcome of the task's
            settlement = self.raised(run, task, error)
        else:
            settlement = self._returned(run, task, value)
        flow = None if settlement is None else settlement.flow
        if settlement is None or flow is None or not flow.spawn or self.flows is None:
            return settlement
        return await self._staged(run, settlement)

    def find(self, job: LeasedJob) -> AnyTask | None:
        """The task that the job names, if it is declared here."""
        return self._registry.find(job.task)

    def _put_off(self, job: LeasedJob, name: str) -> Settlement:
        settlement = settle.unknown_task(job, name)
        from difflib import get_close_matches  # noqa: PLC0415 - idle workers do without

        near = get_close_matches(name, self._registry.names())
        self._bus.emit(
            TaskUnknown(job=job.id, task=name, near=tuple(near), again_in=spell(settlement.delay))
        )
        return settlement

    def _unprepared(self, job: LeasedJob, task: AnyTask, error: Exception) -> Settlement:
        """What follows if a run cannot begin."""
        match error:
            case BadArguments():
                return settle.refused(job, error)
            case TaskNotFound():  # where it is to go on; a worker with newer code may know it
                return self._put_off(job, error.name)
            case StoreError():
                return settle.unprepared(job)
            case _:
                return settle.raised(job, error, task.options.retry, self.chance())

    def _start_timeout(self, run: Run, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        run.timer = loop.call_later(seconds, self.halt, run, Why.TIMEOUT)

    def _returned(self, run: Run, task: AnyTask, value: Any) -> Settlement | None:
        if run.lost:
            return None
        if isinstance(value, Settlement):
            return value
        if isinstance(value, Signal):
            return self._signalled(run, task, value)
        try:
            result, flow = task.ends(run.job, value)
        except TaskNotFound as error:  # the next step; a worker with newer code may know it
            return settle.raised(run.job, error, task.options.retry, self.chance())
        except Exception as error:  # noqa: BLE001 - whatever a result's own methods raise
            return settle.refused(run.job, error)
        return settle.completed(run.job, result, self.bounds, flow)

    def _signalled(self, run: Run, task: AnyTask, signal: Signal) -> Settlement:
        if not isinstance(signal, Spawn):
            return settle.signalled(run.job, signal, task.options.retry, self.chance())
        try:
            step = spawned(run.job, task, task.client, signal)
            return settle.completed(run.job, None, flow=step)
        except Exception as error:  # noqa: BLE001 - calls that cannot be spawned
            return settle.refused(run.job, error)

    async def _inputs(self, job: LeasedJob) -> Inputs:
        if self.flows is None:
            raise BadArguments(
                f"job {job.id} needs the results of other jobs; run it through a worker"
            )
        return await self.flows.inputs(job)

    async def _staged(self, run: Run, settlement: Settlement) -> Settlement:
        """The settlement once its children are staged, if they are many. What was staged for one
        that is never settled does not run."""
        assert self.flows is not None  # noqa: S101 - the caller has looked
        if run.timer is not None:
            run.timer.cancel()  # the task is over; what is left is ours
        try:
            return await self.flows.staged(run.job, settlement)
        except StoreError:
            return settle.unprepared(run.job)
        except Exception as error:  # noqa: BLE001 - children that the store refuses
            return settle.refused(run.job, error)

    def raised(self, run: Run, task: AnyTask, error: BaseException) -> Settlement | None:
        """What follows from an exception: a stop explains it, else the task's policy decides."""
        job, policy = run.job, task.options.retry
        if run.lost:
            return None
        if isinstance(error, Signal):
            return self._signalled(run, task, error)
        if run.why is Why.TIMEOUT:
            error = _timed_out(job, error)
        elif run.why is not None:
            return _stopped(job, run.why)
        if isinstance(error, EndedElsewhere):
            return error.settlement
        return settle.raised(job, error, policy, self.chance())


def _stopped(job: LeasedJob, why: Why) -> Settlement | None:
    match why:
        case Why.CANCEL:
            return settle.cancelled(job)
        case Why.SHUTDOWN:
            return settle.released(job)
        case _:  # the job may be another's by now, who will settle it
            return None


def _timed_out(job: LeasedJob, error: BaseException) -> TimeoutError:
    limit = spell(job.timeout or 0)
    return TimeoutError(f"the run took longer than its timeout of {limit}").with_traceback(
        error.__traceback__
    )


async def execute(
    job: LeasedJob,
    registry: Registry,
    *,
    lanes: LaneChoice | None = None,
    middleware: Sequence[Middleware] = (),
) -> Settlement | None:
    """Run one leased job to its outcome, without a worker: for tests and for people's own loops."""
    own = Lanes() if lanes is None else lanes
    execution = Execution(registry, own)
    execution.middleware = middleware
    run = Run(job)
    try:
        # A task of its own: the run gets a context of its own, and can be cancelled by a timeout.
        performing = asyncio.create_task(execution.perform(run))
        run.task = performing
        return await performing
    finally:
        if run.timer is not None:
            run.timer.cancel()
        if lanes is None:
            own.close()
