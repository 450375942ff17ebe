"""The worker: claims jobs, runs them, settles them, until it is stopped."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Unpack

from oxmill.errors import StoreError, WrongContext
from oxmill.maintenance.trouble import FATAL
from oxmill.model.info import Command, ListQueues, Queues, WorkerInfo
from oxmill.model.schedule import Schedule
from oxmill.model.settings import SECOND
from oxmill.observe.bus import Bus
from oxmill.observe.events import AgentDied, WorkerStarted, WorkerStopped, WorkerStopping
from oxmill.observe.log import LogLines
from oxmill.observe.metrics import Metrics
from oxmill.queue.registry import Registry
from oxmill.store.driver import Driver
from oxmill.worker.announcement import announce, version
from oxmill.worker.collecting import seldom_collected
from oxmill.worker.config import WorkerConfig
from oxmill.worker.crew import Crew
from oxmill.worker.event_loop import new_loop, run_on
from oxmill.worker.exits import ExitCode
from oxmill.worker.lifespan import living
from oxmill.worker.memory import resident
from oxmill.worker.parts import Extras, assemble
from oxmill.worker.signals import signals_to
from oxmill.worker.standing import left_behind, unused_queues
from oxmill.worker.winding_down import WindingDown

if TYPE_CHECKING:
    from oxmill.worker.messages import Hello

VETTING: Final = 5.0
"""Seconds that a store may take to say that it is safe, or how its queues stand, before the worker goes
on all the same."""
SUPERVISED: Final = "OXMILL_SUPERVISED"
"""Set by the supervisor: when it is gone, the worker stops."""


class Phase(StrEnum):
    """How far the worker is in its life."""

    RUNNING = "running"
    QUIET = "quiet"
    """Claims no more; what runs goes on."""
    STOPPING = "stopping"


class Worker:
    """Runs the jobs of some queues. It never goes quiet: after any fault it claims again, or ends
    with an exit code that says so."""

    def __init__(
        self,
        driver: Driver,
        registry: Registry,
        config: WorkerConfig | None = None,
        **extras: Unpack[Extras],
    ) -> None:
        self.config = config or WorkerConfig()
        self.host = self.config.name or socket.gethostname()
        self.id = f"{self.host}-{os.getpid()}-{os.urandom(4).hex()}"
        self.phase = Phase.RUNNING
        self._driver = driver
        self._registry = registry
        self._extras = extras
        _check(extras.get("schedules", ()))
        self._parts = assemble(driver, registry, self.config, self._hello(), extras)
        self._parts.claimer.worker = self.id
        self._down = WindingDown(self._parts, self.config.grace / SECOND)
        self._code = ExitCode.OK
        self._drained = False
        self._quieted = False  # for good: by `quiet`, or to be recycled
        self._reason = ""
        self._stop: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    # -- what the outside sees ---------------------------------------------------------------------

    @property
    def bus(self) -> Bus:
        """Where events of this worker can be heard."""
        return self._parts.bus

    @property
    def metrics(self) -> Metrics:
        """What it has done so far."""
        return self._parts.metrics

    @property
    def queues(self) -> tuple[str, ...]:
        """The queues that it claims from."""
        return self._parts.claimer.queues

    @property
    def ready(self) -> bool:
        """Whether claims make progress."""
        return self.phase is not Phase.STOPPING and not self._parts.watchdog.trouble

    def describe(self) -> WorkerInfo:
        """The worker as people see it."""
        return WorkerInfo(
            id=self.id,
            host=self.host,
            pid=os.getpid(),
            version=version(),
            queues=self.queues,
            slots=self.config.slots,
            running=len(self._parts.executor.running),
            done=self._parts.executor.done,
            rss=resident(),
            phase=self.phase,
            tasks=self._registry.names(),
        )

    # -- life --------------------------------------------------------------------------------------

    def run(self) -> int:
        """Work until stopped by a signal, an order or `stop`; the exit code. Blocks.

        In the main thread SIGTERM and SIGINT drain, and a second one stops at once. A run that
        cannot be stopped does not keep the process alive: then the process ends here.
        """
        with seldom_collected(self.config.slots):
            code, stuck = run_on(new_loop(self.config.loop), self.serve())
        if (stuck or self._down.left) and threading.current_thread() is threading.main_thread():
            logging.shutdown()
            os._exit(code)
        return code

    async def serve(self) -> int:
        """The same inside a running event loop."""
        if self._loop is not None:
            raise WrongContext("a worker works once; make a new one")
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        LogLines().attach(self.bus)
        middleware = tuple(self._extras.get("middleware", ()))
        with signals_to(self.stop):
            async with living(self._extras.get("lifespan")) as resources:
                self._parts.executor.resources = resources
                for each in middleware:
                    await each.on_start()
                await self._work(self._stop)
                for each in reversed(middleware):
                    await each.on_stop()
        return self._code

    def stop(self, reason: str = "asked to stop") -> None:
        """Drain and end, from any thread. The second call does not wait for running jobs."""
        self._call(lambda: self._begin_stop(reason))

    def quiet(self) -> None:
        """Claim no more, from any thread; what runs goes on."""
        self._call(self._be_quiet)

    # -- inside ------------------------------------------------------------------------------------

    async def _work(self, stop: asyncio.Event) -> None:
        parts = self._parts
        parts.beat.describe, parts.beat.on_command = self.describe, self._on_command
        parts.claimer.on_idle = self._on_idle
        parts.watchdog.on_fault = self._on_fault
        if self.config.drain:
            parts.watchdog.on_starved = self._on_starved
        if SUPERVISED in os.environ:
            parts.watchdog.on_orphaned = lambda: self.stop("the supervisor is gone")
        await self._vet()
        crew = Crew(self._driver, parts, self._on_fault)
        claiming = crew.start()
        self._announce()
        await self._look_for_unused()
        if self._reason:
            stop.set()
        try:
            await stop.wait()
        except asyncio.CancelledError:
            self._reason = self._reason or "its task was cancelled"
            self._down.hurry()
            await self._end(crew, claiming)
            raise
        await self._end(crew, claiming)

    async def _end(self, crew: Crew, claiming: asyncio.Task[None]) -> None:
        """Let running jobs finish, settle everything, send the agents home."""
        parts, self.phase = self._parts, Phase.STOPPING
        running = len(parts.executor.running)
        self.bus.emit(WorkerStopping(worker=self.id, reason=self._reason, running=running))
        parts.systemd.stopping(self._reason)
        crew.stop_upkeep()
        parts.beat.wake()
        await self._down.run(claiming)
        if self._drained:
            await self._tell_left()
        await crew.end()
        if self._down.dropped and self._code is not ExitCode.STORE:
            self._code = ExitCode.FAULT
        self.bus.emit(
            WorkerStopped(
                worker=self.id,
                code=self._code,
                done=parts.executor.done,
                released=self._down.released,
            )
        )

    async def _vet(self) -> None:
        """Raise if the store is not safe to work on. If it does not answer yet, the agents wait
        for it, and one of them looks then."""
        try:
            async with asyncio.timeout(VETTING):
                await self._parts.vetting.run_once()
        except FATAL:
            raise
        except (StoreError, TimeoutError) as error:
            logging.getLogger("oxmill.worker").debug("not vetted yet: %s", error)

    async def _look_for_unused(self) -> None:
        """Name the queues that were given and that nobody seems to use."""
        used = self._registry.queues()
        strange = tuple(queue for queue in self.config.queues if queue not in used)
        seen = await self._look(ListQueues(queues=strange)) if strange else None
        if seen is not None:
            for event in unused_queues(strange, used, seen.items):
                self.bus.emit(event)

    async def _tell_left(self) -> None:
        """Say what a drain leaves behind, and why."""
        seen = await self._look(ListQueues(queues=self.queues, groups=("",)))
        if seen is not None:
            for event in left_behind(seen):
                self.bus.emit(event)

    async def _look(self, request: ListQueues) -> Queues | None:
        """The queues as they are; nothing if the store does not answer: this is only for people."""
        try:
            async with asyncio.timeout(VETTING):
                return await self._driver.arun(self._driver.inspecting.queues(request))
        except (StoreError, TimeoutError):
            return None

    def _announce(self) -> None:
        schedules = tuple(schedule.name for schedule in self._extras.get("schedules", ()))
        tasks = self._registry.names()
        self.bus.emit(
            WorkerStarted(
                worker=self.id,
                store=self._driver.url,
                queues=self.queues,
                slots=self.config.slots,
                tasks=len(tasks),
                schedules=len(schedules),
            )
        )
        announce(self._driver, self.config, self.queues, tasks, schedules)
        self._parts.systemd.ready(f"claiming from {', '.join(self.queues)}")

    def _begin_stop(self, reason: str) -> None:
        if self._reason:
            self._down.hurry()
        self._reason = self._reason or reason
        if self._stop is not None:
            self._stop.set()

    def _be_quiet(self) -> None:
        self._quieted = True
        self._set_claiming(claiming=False)

    def _set_claiming(self, *, claiming: bool) -> None:
        if self.phase is not Phase.STOPPING:
            self.phase = Phase.RUNNING if claiming else Phase.QUIET
            self._parts.claimer.set_claiming(claiming=claiming)

    def _on_command(self, command: Command) -> None:
        if command is Command.STOP and not self._reason:
            self._begin_stop("told to stop")
        elif command is not Command.STOP:
            self._set_claiming(claiming=command is Command.NONE and not self._quieted)
        limit = self.config.max_rss
        if limit is not None and resident() > limit:
            self._code = ExitCode.RECYCLE
            self._be_quiet()

    def _on_idle(self) -> None:
        """Nothing runs, nothing is to be settled, and no claim brings anything."""
        most = self.config.max_jobs
        if most is not None and self._parts.claimer.started >= most:
            self._code = ExitCode.RECYCLE
        if self._code is ExitCode.RECYCLE and not self._reason:
            self._begin_stop("time for a fresh process")
        elif self.config.drain and not self._reason:
            self._drained = True
            self._begin_stop("nothing can start now")

    def _on_fault(self, agent: str, error: BaseException) -> None:
        stack = "".join(traceback.format_exception(error))
        self.bus.emit(AgentDied(agent=agent, error=f"{type(error).__name__}: {error}", stack=stack))
        self._code = ExitCode.FAULT
        if not self._reason:
            self._begin_stop(f"{agent} died")

    def _on_starved(self, reason: str) -> None:
        """Whoever waits for the end of a drain would wait for ever; other workers go on trying."""
        self._code = ExitCode.STORE
        if not self._reason:
            self._begin_stop(reason)

    def _hello(self) -> Hello | None:
        spec = self._extras.get("app_spec")
        if spec is None:
            return None
        from oxmill.worker.messages import Hello  # noqa: PLC0415 - only children need it

        return Hello(app=spec, path=tuple(sys.path), memory=self.config.child_memory)

    def _call(self, act: Callable[[], None]) -> None:
        """Do it in the loop's thread; before the worker has started, here and now."""
        if self._loop is None:
            act()
        elif not self._loop.is_closed():
            self._loop.call_soon_threadsafe(act)


def _check(schedules: Sequence[Schedule]) -> None:
    """Refuse a schedule that nobody could follow."""
    if schedules:
        from oxmill.rules.cron import check_schedule  # noqa: PLC0415 - many apps have none

        for schedule in schedules:
            check_schedule(schedule)
