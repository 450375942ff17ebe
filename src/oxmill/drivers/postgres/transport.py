"""Performs plans on a PostgreSQL server: each in the caller's thread, or for callers on an event loop in
that loop, as far as no transaction is open, and else in a thread of ours.

A call that was begun is always ended: a caller that goes away leaves a plan that is done, or that was
never begun.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import Future as Begun
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, TypeVar, cast

import psycopg

from oxmill.drivers.postgres.address import Address
from oxmill.drivers.postgres.connection import Link, open_link
from oxmill.drivers.postgres.errand import Errand
from oxmill.drivers.postgres.faults import is_broken, is_contested, translated
from oxmill.drivers.postgres.migrating import bring_up_to_date
from oxmill.drivers.postgres.performing import Performance
from oxmill.drivers.postgres.pool import Pool
from oxmill.drivers.postgres.wire import ServerSilent
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
_OF_SCHEMA: Final = (Version, Check, Migrate)
"""Asked whether the schema is up to date or not."""


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
        self._closing = False
        self._threads: ThreadPoolExecutor | None = None
        self._errands: set[Errand[Any]] = set()
        self._fewer = threading.Condition()

    def run(self, plan: Plan[T]) -> T:
        """Perform a plan and give its answer."""
        if not (self._installed or isinstance(plan.request, _OF_SCHEMA)):
            self._install()
        return self._persist(plan, [], 0)

    async def arun(self, plan: Plan[T]) -> T:
        """The same without blocking the event loop. A caller that is cancelled while its plan is under
        way waits a moment for its end, so that what it does next comes after it."""
        begun: Begun[T] | None = None
        ending = self._set_out(plan)
        if ending is None:
            begun = self._staff().submit(self.run, plan)
            ending = asyncio.wrap_future(begun)
        try:
            return await asyncio.shield(ending)
        except asyncio.CancelledError:
            if begun is None or not begun.cancel():
                await asyncio.wait([ending], timeout=_MOMENT)
            raise
        finally:
            # Nobody may be left to hear of an error.
            ending.add_done_callback(_heard)

    def close(self) -> None:
        """Finish what was accepted, then let go of all connections."""
        self._closing = True
        self._finish_errands()
        threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown()
        for link in self._pool.clear():
            link.close()

    # --- in threads ----------------------------------------------------------------------------

    def _staff(self) -> ThreadPoolExecutor:
        threads = self._threads
        if threads is None:
            with self._installing:
                if self._threads is None:
                    self._threads = ThreadPoolExecutor(self._address.pool, "oxmill-postgres")
                threads = self._threads
        return threads

    def _persist(self, plan: Plan[T], done: list[Rows], tried: int) -> T:
        """Try until nobody gets in the way, having tried so often."""
        for attempt in range(tried, _TRIES):
            if attempt:
                longest = min(_PAUSE * (1 << attempt - 1), _LONGEST)
                time.sleep(longest * random.uniform(0.5, 1))  # noqa: S311 - only spreads load
            answer = self._try(plan, done, last=attempt == _TRIES - 1)
            if answer is not None:
                return answer[0]
        raise StoreUnavailable(f"{self._address.shown}: others were faster each time; try again")

    def _try(self, plan: Plan[T], done: list[Rows], *, last: bool) -> tuple[T] | None:
        """The answer, or nothing if the plan had better be started again."""
        if self._errands:
            self._take_over(lambda errand: errand.loop.is_closed())
        try:
            link = self._pool.take()
        except psycopg.Error as error:
            raise translated(error, self._address.shown, writing=False) from error
        performance = Performance(link, plan, done, self._address.schema, self._clock)
        try:
            answer = performance.run()
        except BaseException as error:  # noqa: BLE001 - raised again, if in other words
            self._recover(performance, error, last=last)
            return None
        self._pool.give_back(link)
        return (answer,)

    def _recover(
        self, performance: Performance[Any], error: BaseException, *, last: bool = False
    ) -> None:
        """Put the connection away after an error, and raise it in the words of callers, unless the plan
        had better be started again."""
        again = isinstance(error, Overtaken) or is_contested(error)
        self._leave(performance.link, performance, error)
        if not isinstance(error, Exception):
            raise error
        if not again or last:
            raise translated(error, self._address.shown, writing=performance.unsure) from error

    # --- in event loops --------------------------------------------------------------------------

    def _set_out(self, plan: Plan[T]) -> asyncio.Future[T] | None:
        """Perform a plan in this event loop, if a connection is at hand."""
        if not self._installed or self._closing or isinstance(plan.request, _OF_SCHEMA):
            return None
        link = self._pool.take_idle()
        if link is None:
            return None
        performance = Performance(link, plan, [], self._address.schema, self._clock)
        patience, loop = self._address.timeout, asyncio.get_running_loop()
        errand = Errand(loop, performance, patience, self._returned)
        self._errands.add(errand)
        try:
            errand.set_out()
        except NotImplementedError:  # a loop that watches no sockets, as there are on Windows
            self._errands.discard(errand)
            self._pool.give_back(link)
            return None
        return errand.ending

    def _returned(self, errand: Errand[T], error: BaseException | None) -> None:
        """An errand is over: hand out the answer, or have a thread see to the rest."""
        self._errands.discard(errand)
        if self._closing:
            with self._fewer:
                self._fewer.notify_all()
        performance = errand.performance
        if error is None and performance.next is None:
            self._pool.give_back(performance.link)
            if not errand.ending.done():
                errand.ending.set_result(cast("T", performance.answer))
            return
        begun = self._staff().submit(self._go_on, performance, error)
        begun.add_done_callback(partial(_hand_over, errand))

    def _go_on(
        self, performance: Performance[T], error: BaseException | None, *, sent: bool = False
    ) -> T:
        """Do what is left of a plan that was begun in an event loop."""
        failure = error
        if failure is None:
            try:
                answer = performance.finish(sent=sent)
            except BaseException as met:  # noqa: BLE001 - raised again, if in other words
                failure = met
            else:
                self._pool.give_back(performance.link)
                return answer
        self._recover(performance, failure)
        return self._persist(performance.plan, performance.done, 1)

    def _finish_errands(self) -> None:
        """Wait for what event loops in other threads have under way; what this thread would have to go on
        with, or nobody, is done here."""
        deadline = time.monotonic() + self._address.timeout
        here = _running_loop()
        while self._errands and time.monotonic() < deadline:
            self._take_over(lambda errand: errand.loop is here or not errand.loop.is_running())
            with self._fewer:
                self._fewer.wait_for(lambda: not self._errands, _LONGEST)

    def _take_over(self, abandoned: Callable[[Errand[Any]], bool]) -> None:
        """Have threads end the errands that no event loop will go on with. A loop that was closed amid one
        would keep its connection for ever."""
        for errand in tuple(self._errands):
            if not abandoned(errand):
                continue
            try:
                self._errands.remove(errand)
            except KeyError:  # another thread was faster
                continue
            errand.stop()
            begun = self._staff().submit(self._go_on, errand.performance, None, sent=True)
            begun.add_done_callback(partial(_hand_over, errand))

    def _leave(self, link: Link, performance: Performance[Any], error: BaseException) -> None:
        """Put a connection away after an error, without the transaction that was open."""
        if isinstance(error, ServerSilent):
            link.call_off()
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
        under_way = [errand.performance.link for errand in self._errands]
        for link in (*self._pool.start_anew(), *under_way):
            link.abandon()
            self._inherited.append(link)
        self._start_anew()


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _hand_over(errand: Errand[T], begun: Begun[T]) -> None:
    """Give the answer of a thread to whoever waits in the event loop, if it is still there."""
    with contextlib.suppress(RuntimeError):
        errand.loop.call_soon_threadsafe(_give, errand.ending, begun)


def _give(ending: asyncio.Future[T], begun: Begun[T]) -> None:
    error = begun.exception()
    if ending.done():
        return
    if error is None:
        ending.set_result(begun.result())
    else:
        ending.set_exception(error)


def _heard(ending: asyncio.Future[Any]) -> None:
    if not ending.cancelled():
        ending.exception()


_live: Final[weakref.WeakSet[PostgresTransport]] = weakref.WeakSet()


def _after_fork() -> None:
    for transport in list(_live):
        transport.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
