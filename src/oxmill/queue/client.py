"""The way from user code to the store."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from os import getpid
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from oxmill.errors import WrongContext
from oxmill.model.job import Enqueue, NewJob
from oxmill.queue.enqueueing import Receipt, enqueue_jobs, store_one
from oxmill.queue.talk import Performer, Talk, ahold, hold
from oxmill.store.driver import Driver
from oxmill.store.per_loop import PerLoop

if TYPE_CHECKING:
    from oxmill.queue.gathering import Gathering

T = TypeVar("T")


def asyncio_of_caller() -> ModuleType:
    """The asyncio module: whoever awaits has imported it, and who does not need not pay for it."""
    return sys.modules["asyncio"]


class Client:
    """Opens the driver at the first use, once per process, and holds conversations with it.

    A forked child opens its own: connections, locks and threads do not survive a fork.
    """

    def __init__(self, open_driver: Callable[[], Driver], new_id: Callable[[], str]) -> None:
        self.new_id = new_id
        self.on_enqueue: Sequence[Callable[[NewJob], NewJob]] = ()
        """Hooks that see, and may change, every job before it is stored."""
        self._open = open_driver
        self._driver: Driver | None = None
        self._lent: Driver | None = None
        self._left_behind: list[Driver] = []
        self._pid = getpid()
        self._lock = threading.Lock()
        self._gatherings: PerLoop[Gathering] = PerLoop()
        """The enqueues of each event loop that are on their way."""

    @property
    def driver(self) -> Driver:
        """The driver, opened if it was not."""
        if self._lent is not None:
            return self._lent
        driver = self._driver
        if driver is None or self._pid != getpid():
            driver = self._opened()
        return driver

    def admit(self, job: NewJob) -> NewJob:
        """The job as the hooks leave it."""
        if self.on_enqueue:
            # Jobs of one task share what they have in common: a hook may spoil only its own copy.
            job = replace(job, fields=dict(job.fields), headers=dict(job.headers))
            for hook in self.on_enqueue:
                job = hook(job)
        return job

    def blocking(self, form: str, talk: Callable[[Driver], Talk[T]], connection: Any = None) -> T:
        """Hold a conversation, blocking: with the store, or in the transaction of a connection.
        Inside a running event loop it is refused, with a hint at the async `form` of the call; who
        gives a connection has chosen to block."""
        if connection is None:
            _refuse_in_loop(form)
        driver = self.driver
        return hold(_place(driver, connection), talk(driver))

    async def awaiting(self, talk: Callable[[Driver], Talk[T]], connection: Any = None) -> T:
        """Hold a conversation without blocking the event loop."""
        driver = await self._adriver()
        return await ahold(_place(driver, connection), talk(driver))

    def store(self, job: NewJob, connection: Any = None) -> Receipt:
        """Store one job, blocking."""
        if connection is not None:
            return self.blocking("", lambda driver: enqueue_jobs(driver, (job,)), connection)[0]
        driver = self.reach("aenqueue")
        return store_one(driver, driver.enqueueing.enqueue(Enqueue(jobs=(job,))))

    def reach(self, form: str) -> Driver:
        """The driver, for who is going to block. Inside a running event loop that is refused, with a
        hint at the async `form` of the call."""
        # This is `_refuse_in_loop` and `driver`, without two calls per enqueue.
        events = sys.modules.get("asyncio.events")
        if events is not None and events._get_running_loop() is not None:  # noqa: SLF001
            _refuse_in_loop(form)
        driver = self._driver
        if driver is None or self._lent is not None or self._pid != getpid():
            return self.driver
        return driver

    async def astore(self, job: NewJob, connection: Any = None) -> Receipt:
        """Store one job without blocking the event loop, together with those of other callers."""
        if connection is not None:
            return (await self.awaiting(lambda driver: enqueue_jobs(driver, (job,)), connection))[0]
        await self._adriver()
        loop = asyncio_of_caller().get_running_loop()
        return await self._gatherings.of(loop, self._gathering).store(job)

    def _gathering(self) -> Gathering:
        from oxmill.queue.gathering import Gathering  # noqa: PLC0415 - it imports asyncio

        return Gathering(lambda: self.driver)

    async def _adriver(self) -> Driver:
        driver = self._lent or self._driver
        if driver is None or self._pid != getpid():
            driver = await asyncio_of_caller().to_thread(lambda: self.driver)
        return driver

    @contextmanager
    def lend(self, driver: Driver) -> Iterator[None]:
        """Use another driver meanwhile, for all threads: tests run on a store of their own."""
        before, self._lent = self._lent, driver
        try:
            yield
        finally:
            self._lent = before

    def close(self) -> None:
        """Let go of the store. The next use opens it again."""
        with self._lock:
            driver, self._driver = self._driver, None
        if driver is not None and self._pid == getpid():
            driver.close()

    def _opened(self) -> Driver:
        pid = getpid()
        if self._pid != pid:
            # The lock and the driver are copies of the parent's. To close the driver here could
            # harm the parent's connections, and so could letting it be collected.
            self._lock = threading.Lock()
            if self._driver is not None:
                self._left_behind.append(self._driver)
            self._driver, self._pid = None, pid
        with self._lock:
            if self._driver is None:
                self._driver = self._open()
            return self._driver


def _place(driver: Driver, connection: Any) -> Performer:
    if connection is None:
        return driver
    from oxmill.queue.borrowed import Borrowed  # noqa: PLC0415 - few programs need it

    return Borrowed(driver, connection)


def _refuse_in_loop(form: str) -> None:
    # Without asyncio there is no loop, and to import it here would slow every program's start.
    events = sys.modules.get("asyncio.events")
    if events is not None and events._get_running_loop() is not None:  # noqa: SLF001 - cheap
        raise WrongContext(
            f"this call would block the running event loop; use `await {form}(...)` instead"
        )
