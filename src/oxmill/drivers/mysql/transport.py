"""Performs plans on MariaDB or MySQL: each in one transaction, on one connection."""

from __future__ import annotations

import asyncio
import os
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from typing import Any, Final, TypeVar, cast

from oxmill.drivers.mysql.address import Place
from oxmill.drivers.mysql.faults import (
    FAULTS,
    Taken,
    busy,
    is_conflict,
    is_lost,
    is_refused,
    translated,
    unknown,
)
from oxmill.drivers.mysql.housekeeping import folding
from oxmill.drivers.mysql.link import Link
from oxmill.drivers.mysql.lone_job import lone_job, storing
from oxmill.drivers.mysql.migrating import migrate
from oxmill.drivers.mysql.pool import Pool
from oxmill.drivers.mysql.session import Frame, Session
from oxmill.drivers.mysql.shortcut import Result
from oxmill.drivers.mysql.talk import Batch, Talk
from oxmill.drivers.sql.steps import Look, Overtaken, Start
from oxmill.errors import OutcomeUnknown, StoreError, StoreUnavailable
from oxmill.model.claim import Claim
from oxmill.model.value import Micros
from oxmill.store.plan import Plan
from oxmill.store.roles.installing import Check, Migrate, Version

T = TypeVar("T")

BEGIN: Final = b"START TRANSACTION"
COMMIT: Final = b"COMMIT"
_WRITES: Final = Frame([BEGIN], [COMMIT], [b"ROLLBACK"])
_READS: Final = Frame(
    [b"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", b"START TRANSACTION READ ONLY"],
    [COMMIT],
    [b"ROLLBACK"],
)
_LOOKS: Final = (Migrate, Version, Check)
_TRIES: Final = 30
"""How often a plan is started before others are said to be in the way."""
_PAUSE: Final = 0.002
_FOLD: Final = 250
"""After so many writes of this process counts are added up, even if no worker sweeps."""


class MysqlTransport:
    """Threads use connections of a pool; event loops go through threads, one hop per plan."""

    def __init__(self, place: Place, clock: Callable[[], Micros] | None) -> None:
        self._place = place
        self._clock = clock
        self._pool = Pool(place)
        self._guard = threading.Lock()
        self._installed = False
        self._written = count(1)
        self._threads: ThreadPoolExecutor | None = None
        self._pid = os.getpid()
        self.on_claim: Callable[[float], None] | None = None
        """Told when a claim set out, once it is answered."""

    def run(self, plan: Plan[T]) -> T:
        """Perform a plan and give its answer."""
        if isinstance(plan.request, _LOOKS):
            return self._look(plan)
        if not self._installed:
            self._install()
        sent = time.monotonic()
        answer = self._retry(plan)
        if self.on_claim is not None and _claims(plan.request):
            self.on_claim(sent)
        if plan.writes and next(self._written) % _FOLD == 0:
            with suppress(StoreError):  # a sweep will do it
                self._retry(folding())
        return answer

    async def arun(self, plan: Plan[T]) -> T:
        """The same without blocking the event loop. A caller that goes away leaves a plan that is
        done, or that was never begun."""
        work = self._executor().submit(self.run, plan)
        try:
            return await asyncio.wrap_future(work)
        except asyncio.CancelledError:
            if not work.cancelled():  # it has begun: see it end, which has a bound
                await _ended(work)
            raise

    def close(self) -> None:
        """Finish what was accepted, then let go of all connections."""
        self._start_anew_after_a_fork()
        with self._guard:
            threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown(wait=True)
        self._pool.close()

    def _start_anew_after_a_fork(self) -> None:
        """The parent's threads are not here, and one of them may have held the lock."""
        if os.getpid() != self._pid:
            self._pid = os.getpid()
            self._guard = threading.Lock()
            self._threads = None

    def _executor(self) -> ThreadPoolExecutor:
        self._start_anew_after_a_fork()
        with self._guard:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(self._place.pool, "oxmill-mysql")
            return self._threads

    # -- installing --------------------------------------------------------------------------------

    def _install(self) -> None:
        """Install or migrate the schema at first use."""
        self._start_anew_after_a_fork()
        with self._guard:
            if not self._installed:
                self._on_link(lambda link: migrate(link, self._place))
                self._installed = True

    def _look(self, plan: Plan[T]) -> T:
        """Perform a plan that looks at the server in its own way."""
        start = plan.start
        steps = start.steps() if isinstance(start, Start) else start()

        def act(link: Link) -> T:
            reply: Any = None
            while True:
                try:
                    step = steps.send(reply)
                except StopIteration as end:
                    return cast("T", end.value)
                reply = cast("Look[Any]", step).act(link)

        return self._on_link(act)

    def _on_link(self, act: Callable[[Link], T]) -> T:
        link = None
        try:
            link, _ = self._pool.take()
            answer = act(link)
        except BaseException as error:
            if link is not None:
                self._pool.discard(link)
            if isinstance(error, FAULTS):
                raise translated(error, self._place.shown) from error
            raise
        self._pool.give_back(link)
        return answer

    # -- performing --------------------------------------------------------------------------------

    def _retry(self, plan: Plan[T]) -> T:
        """Perform a plan, again and again while others are in its way."""
        patience = time.monotonic() + self._place.timeout
        done: list[list[Any]] = []
        for attempt in count(1):
            try:
                return self._perform(plan, done)
            except _Again as again:
                if attempt == _TRIES or time.monotonic() > patience:
                    raise _partly(busy(again.cause, self._place.shown), done) from again.cause
                if not again.at_once:
                    time.sleep(_PAUSE * min(attempt, 10) * (0.5 + random.random()))  # noqa: S311
        raise AssertionError("unreachable")

    def _perform(self, plan: Plan[T], done: list[list[Any]]) -> T:
        link, used = self._take()
        talk = _Dialogue(plan, self._clock, done)
        try:
            answer = talk.hold(link)
        except (Overtaken, Taken) as error:
            self._roll_back(link)
            raise _Again(error) from error
        except FAULTS as error:
            raise _partly(self._failed(link, error, talk, used=used), done) from error
        except UnicodeEncodeError as error:
            self._roll_back(link)
            raise translated(error, self._place.shown) from None
        except BaseException:
            self._pool.discard(link)
            raise
        self._pool.give_back(link)
        return cast("T", answer)

    def _take(self) -> tuple[Link, bool]:
        try:
            return self._pool.take()
        except FAULTS as error:
            raise translated(error, self._place.shown) from error

    def _failed(self, link: Link, error: Exception, talk: _Dialogue, *, used: bool) -> Exception:
        """What to raise after the client has failed; the connection is seen to."""
        if is_conflict(error):
            self._roll_back(link)
            return _Again(error)
        if not is_lost(error):
            unsure = talk.committing and link.before_error == talk.before_commit
            self._roll_back(link)
            tell = unknown if unsure else translated
            return tell(error, self._place.shown)
        self._pool.discard(link)
        if talk.committing and not is_refused(error):
            return unknown(error, self._place.shown)
        if used and not talk.answered:  # it was lost while nobody used it
            return _Again(error, at_once=True)
        return translated(error, self._place.shown)

    def _roll_back(self, link: Link) -> None:
        """Make the connection usable again. A lock wait that ended leaves its transaction open."""
        try:
            link.rollback()
        except FAULTS:
            self._pool.discard(link)
        else:
            self._pool.give_back(link)


def _claims(request: object) -> bool:
    """Whether it asks for jobs, perhaps after a settlement."""
    return isinstance(request[-1] if isinstance(request, tuple) else request, Claim)


async def _ended(work: Future[Any]) -> None:
    """Wait until it is done, whatever came of it and however often the waiting is cancelled."""
    loop = asyncio.get_running_loop()
    done = asyncio.Event()
    work.add_done_callback(lambda _: loop.call_soon_threadsafe(done.set))
    while not done.is_set():
        with suppress(asyncio.CancelledError):
            await done.wait()


def _partly(error: Exception, done: list[list[Any]]) -> Exception:
    """The error, if nothing was written; part of a plan may have been committed before it."""
    if isinstance(error, StoreUnavailable) and any(
        each is not None for part in done for each in part
    ):
        return OutcomeUnknown(f"{error}. A part of it was done before; repeating the call is safe")
    return error


class _Again(Exception):
    """The plan is to be started again."""

    def __init__(self, cause: Exception, *, at_once: bool = False) -> None:
        super().__init__(str(cause))
        self.cause = cause
        self.at_once = at_once


class _Dialogue:
    """A plan's talk with one connection, and how far it has come."""

    def __init__(
        self, plan: Plan[Any], clock: Callable[[], Micros] | None, done: list[list[Any]]
    ) -> None:
        self._writes = plan.writes
        frame = _WRITES if plan.writes else _READS
        jobs = lone_job(plan)
        self._talk: Talk[Any] = (
            Session(clock, frame, done).talk(plan)
            if jobs is None
            else storing(plan, jobs, clock, frame)
        )
        self.committing = False
        """Whether a commit of writes may have reached the server."""
        self.before_commit = 0
        """How many statements go before it."""
        self.answered = False

    def hold(self, link: Link) -> Any:
        """Say everything there is to say; the plan's answer."""
        try:
            batch: Batch = next(self._talk)
            while True:
                self.committing = self._writes and batch[-1] is COMMIT
                self.before_commit = len(batch) - 1
                try:
                    results: list[Result] = link.send(batch)
                except Taken as taken:
                    self.answered = True
                    batch = self._talk.throw(taken)
                    continue
                self.answered = True
                batch = self._talk.send(results)
        except StopIteration as end:
            return end.value
