"""An app under test: the real engine on a store of its own, with a clock that tests move."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Self, TypeVar, Unpack

from msgspec import structs

from oxmill.errors import WrongContext
from oxmill.maintenance.scheduler import Scheduler
from oxmill.maintenance.sweeper import Sweeper
from oxmill.model.job import Job as Record
from oxmill.model.query import Find
from oxmill.model.schedule import PutSchedules, Schedule
from oxmill.model.settings import SECOND
from oxmill.model.state import State
from oxmill.model.value import Micros, Value
from oxmill.observe.bus import Bus
from oxmill.queue.client import Client
from oxmill.queue.registry import Registry
from oxmill.queue.where import Where, as_filter
from oxmill.rules.duration import Duration, micros, moment
from oxmill.store.driver import Driver
from oxmill.testing.assertions import AnyTask, calls_like, describe
from oxmill.testing.clock import VirtualClock
from oxmill.testing.runner import Runner
from oxmill.testing.waiting import WorkingDoorbell
from oxmill.worker.middleware import Lifespan, Middleware

T = TypeVar("T")


class Subject(Value, frozen=True):
    """What is tested: the parts of an app."""

    client: Client
    registry: Registry
    schedules: tuple[Schedule, ...]
    middleware: tuple[Middleware, ...]
    lifespan: Lifespan | None
    open_store: Callable[[Callable[[], Micros]], Driver]
    """A fresh store in memory on the clock given."""


class Testing:
    """Inside the block, the app's jobs go into a store in memory and run only when told to.

    Nothing else is different: arguments and results go through JSON, runs end as they do in a
    worker, and retries, delays and schedules follow a clock that only `advance` moves.

        with app.testing() as t:
            signup("ann@example.org")
            t.assert_enqueued(send, "ann@example.org")
            t.advance("5m")
            t.run_all()
            assert t.succeeded(send) == 1

    A SQLAlchemy session or a Django connection that is given as `connection` enqueues, and completes,
    when it commits; any other connection at once.

    To wait for a job's result runs what is due. In async tests use the `a...` forms.
    """

    __test__ = False

    def __init__(self, subject: Subject, start: datetime | None = None) -> None:
        now = datetime.now(UTC) if start is None else start
        self._subject = subject
        self._clock = VirtualClock(moment(now) // SECOND * SECOND)
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        subject = self._subject
        driver = subject.open_store(self._clock)
        self._stack.callback(driver.close)
        bell = WorkingDoorbell(driver.doorbell, self.run_all, self.arun_all)
        self._driver = replace(driver, doorbell=bell, stands_in=True)
        self._runner = Runner(self._driver, subject.registry, subject.middleware, subject.lifespan)
        self._scheduler = Scheduler(self._driver, Bus())
        self._sweeper = Sweeper(self._driver, Bus(), every=1)
        self._driver.run(driver.scheduling.put_schedules(PutSchedules(put=subject.schedules)))
        self._stack.enter_context(subject.client.lend(self._driver))
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    @property
    def now(self) -> datetime:
        """The time by the clock of this test."""
        return datetime.fromtimestamp(self._clock.now / SECOND, tz=UTC)

    def run_all(self, limit: int = 10_000) -> int:
        """Run every job that is due, and those that they enqueue; how many runs there were."""
        return _blocking("arun_all", self.arun_all(limit))

    async def arun_all(self, limit: int = 10_000) -> int:
        """The same in the running event loop."""
        await self._tick()
        return await self._runner.run_due(limit)

    def advance(self, length: Duration) -> None:
        """Let time pass: schedules tick at their instants, delayed jobs fall due. Runs nothing."""
        _blocking("aadvance", self.aadvance(length))

    async def aadvance(self, length: Duration) -> None:
        """The same in the running event loop."""
        end = self._clock.now + micros(length)
        while (tick := await self._tick()) is not None and tick <= end:
            self._clock.now = max(tick, self._clock.now)
        self._clock.now = end
        await self._tick()
        await self._sweeper.run_once()

    def jobs(self, **where: Unpack[Where]) -> list[Record]:
        """The jobs of this test that meet the conditions, oldest first."""
        look: Find | None = Find(filter=as_filter(**where), limit=1_000)
        found: list[Record] = []
        while look is not None:
            page = self._driver.run(self._driver.inspecting.find(look))
            found += page.jobs
            look = None if page.next is None else structs.replace(look, after=page.next)
        return found[::-1]

    def assert_enqueued(self, task: AnyTask, *args: Any, **kwargs: Any) -> list[Record]:
        """Fail unless the task was enqueued with these arguments, whatever became of the job since.
        Arguments not given here may be anything. Gives the jobs."""
        mine = self.jobs(task=task.name)
        found = calls_like(task, args, kwargs, mine)
        if not found:
            given = _call(task, args, kwargs)
            others = "\n  ".join(describe(task, job) for job in mine) or "none"
            raise AssertionError(f"no job is like {given}. Jobs of this task:\n  {others}")
        return found

    def refute_enqueued(self, task: AnyTask, *args: Any, **kwargs: Any) -> None:
        """Fail if the task was enqueued with these arguments."""
        found = calls_like(task, args, kwargs, self.jobs(task=task.name))
        if found:
            given = _call(task, args, kwargs)
            these = "\n  ".join(describe(task, job) for job in found)
            raise AssertionError(f"there should be no job like {given}:\n  {these}")

    def succeeded(self, task: AnyTask | None = None) -> int:
        """How many jobs, of this task or of all, have succeeded."""
        return self._count(State.SUCCEEDED, task)

    def failed(self, task: AnyTask | None = None) -> int:
        """How many jobs, of this task or of all, have failed for good."""
        return self._count(State.FAILED, task)

    def _count(self, state: State, task: AnyTask | None) -> int:
        if task is None:
            return len(self.jobs(state=state))
        return len(self.jobs(state=state, task=task.name))

    async def _tick(self) -> Micros | None:
        """Fire the schedules that are due; the instant of the next tick."""
        pause = await self._scheduler.run_once()
        return None if pause is None else self._clock.now + round(pause * SECOND)


def _blocking(form: str, work: Coroutine[Any, Any, T]) -> T:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    work.close()
    raise WrongContext(f"an event loop is running here; use `await t.{form}(...)` instead")


def _call(task: AnyTask, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    shown = [repr(arg) for arg in args] + [f"{name}={value!r}" for name, value in kwargs.items()]
    return f"{task.name}({', '.join(shown)})"
