"""Performs plans on a PostgreSQL server: each in the caller's thread, or in one of ours for callers
on an event loop.

A thread hop costs about what the library's own async connections cost, and a call that was begun is
always ended: a caller that goes away leaves a plan that is done, or that was never begun.
"""

from __future__ import annotations

import asyncio
import os
import random
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

import psycopg

from oxmill.drivers.postgres.address import Address
from oxmill.drivers.postgres.connection import Link, open_link
from oxmill.drivers.postgres.faults import is_broken, is_contested, translated
from oxmill.drivers.postgres.migrating import bring_up_to_date
from oxmill.drivers.postgres.performing import Performance
from oxmill.drivers.postgres.pool import Pool
from oxmill.drivers.sql.steps import Overtaken, Rows
from oxmill.errors import StoreUnavailable
from oxmill.model.value import Micros
from oxmill.store.plan import Plan
from oxmill.store.roles.installing import Check, Migrate, Version

T = TypeVar("T")

_TRIES: Final = 12
"""How often a plan is performed that others get in the way of."""
_PAUSE: Final = 0.002
_LONGEST: Final = 0.25
_MOMENT: Final = 1.0
"""Seconds that a cancelled caller waits for the end of its plan."""


class PostgresTransport:
    """A few connections to one database. Brings the schema up to date at first use."""

    def __init__(self, address: Address, clock: Callable[[], Micros] | None) -> None:
        self._address = address
        self._clock = clock
        self._pool = Pool(lambda: open_link(address), address.pool, address.timeout)
        self._inherited: list[Link] = []
        self._start_anew()
        _live.add(self)

    def _start_anew(self) -> None:
        self._installing = threading.Lock()
        self._installed = False
        self._closed = False
        self._threads: ThreadPoolExecutor | None = None

    def run(self, plan: Plan[T]) -> T:
        """Perform a plan and give its answer."""
        if not (self._installed or isinstance(plan.request, Version | Check | Migrate)):
            self._install()
        done: list[Rows] = []
        for attempt in range(_TRIES):
            answer = self._try(plan, done, last=attempt == _TRIES - 1)
            if answer is not None:
                return answer[0]
            longest = min(_PAUSE * (1 << attempt), _LONGEST)
            time.sleep(longest * random.uniform(0.5, 1))  # noqa: S311 - only spreads load
        raise StoreUnavailable(f"{self._address.shown}: others were faster each time; try again")

    async def arun(self, plan: Plan[T]) -> T:
        """The same without blocking the event loop. A caller that is cancelled while its plan is under
        way waits a moment for its end, so that what it does next comes after it."""
        threads = self._threads
        if threads is None:
            with self._installing:
                if self._threads is None:
                    self._threads = ThreadPoolExecutor(self._address.pool, "oxmill-postgres")
                threads = self._threads
        begun = threads.submit(self.run, plan)
        ending = asyncio.wrap_future(begun)
        try:
            return await asyncio.shield(ending)
        except asyncio.CancelledError:
            if not begun.cancel():
                await asyncio.wait([ending], timeout=_MOMENT)
            raise
        finally:
            # Nobody may be left to hear of an error.
            ending.add_done_callback(_heard)

    def close(self) -> None:
        """Finish what was accepted, then let go of all connections."""
        self._closed = True
        threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown()
        for link in self._pool.clear():
            link.close()

    def _try(self, plan: Plan[T], done: list[Rows], *, last: bool) -> tuple[T] | None:
        """The answer, or nothing if the plan had better be started again."""
        shown = self._address.shown
        try:
            link = self._pool.take()
        except psycopg.Error as error:
            raise translated(error, shown, writing=False) from error
        performance = Performance(link, plan, done)
        try:
            answer = performance.run(self._address.schema, self._clock)
        except BaseException as error:
            again = isinstance(error, Overtaken) or is_contested(error)
            self._leave(link, performance, error)
            if not isinstance(error, Exception):
                raise
            if again and not last:
                return None
            raise translated(error, shown, writing=performance.unsure) from error
        self._pool.give_back(link)
        return (answer,)

    def _leave(self, link: Link, performance: Performance[Any], error: BaseException) -> None:
        """Put a connection away after an error, without the transaction that was open."""
        usable = not (isinstance(error, psycopg.Error) and is_broken(error))
        if usable:
            try:
                performance.roll_back()
            except Exception:  # noqa: BLE001 - the first error is the one to tell
                usable = False
        if usable and link.idle:
            self._pool.give_back(link)
        else:
            self._pool.drop(link)

    def _install(self) -> None:
        with self._installing:
            if self._installed:
                return
            try:
                link = self._pool.take()
            except psycopg.Error as error:
                raise translated(error, self._address.shown, writing=False) from error
            try:
                bring_up_to_date(link.connection, self._address, self._clock)
            except psycopg.Error as error:
                self._pool.drop(link)
                raise translated(error, self._address.shown, writing=False) from error
            except BaseException:
                self._pool.drop(link)
                raise
            self._pool.give_back(link)
            self._installed = True

    def after_fork(self) -> None:
        """In a child process: start anew. The parent's connections stay the parent's."""
        for link in self._pool.start_anew():
            link.abandon()
            self._inherited.append(link)
        self._start_anew()


def _heard(ending: asyncio.Future[Any]) -> None:
    if not ending.cancelled():
        ending.exception()


_live: Final[weakref.WeakSet[PostgresTransport]] = weakref.WeakSet()


def _after_fork() -> None:
    for transport in list(_live):
        transport.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
