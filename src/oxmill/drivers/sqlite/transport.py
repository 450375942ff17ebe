"""Performs plans on a SQLite file: writes in groups through one writer, reads beside it."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Final, TypeVar, cast

from oxmill.drivers.sqlite.checkpoint import LOG_BYTES, Checkpointer
from oxmill.drivers.sqlite.committer import Committer
from oxmill.drivers.sqlite.connection import Place, connect, refuse_old, use_log
from oxmill.drivers.sqlite.faults import translated
from oxmill.drivers.sqlite.forks import watch_forks
from oxmill.drivers.sqlite.migrating import migrate
from oxmill.drivers.sqlite.reader import Readers
from oxmill.drivers.sqlite.session import perform
from oxmill.drivers.sqlite.turns import AsyncTurn
from oxmill.drivers.sqlite.writer import Writer
from oxmill.errors import WrongContext
from oxmill.model.value import Micros
from oxmill.store.plan import Plan
from oxmill.store.roles.installing import Check, Version

T = TypeVar("T")

_FORK_PATIENCE: Final = 10.0
"""Seconds that a fork waits for a transaction to end."""
_PARTS: Final = 2


class SqliteTransport:
    """One writer and some readers on one file. Opens the file, and migrates it, at first use."""

    def __init__(
        self, place: Place, clock: Callable[[], Micros], log_bytes: int = LOG_BYTES
    ) -> None:
        self._place = place
        self._clock = clock
        self._writer = Writer(Committer(self._open, clock, Checkpointer(place, log_bytes)))
        self._readers = Readers(place, clock, self._writer.ensure_open)
        self._paused: list[Writer | Readers] = []
        self._inherited: list[object] = []
        self._forked_badly = False
        watch_forks(self)

    def run(self, plan: Plan[T]) -> T:
        """Perform a plan and give its answer."""
        if plan.writes:
            return self._writer.perform(plan)
        if isinstance(plan.request, Version | Check):
            return self._look(plan)
        return self._readers.run(plan)

    async def arun(self, plan: Plan[T]) -> T:
        """The same without blocking the event loop. A caller that goes away leaves a plan that is
        done, or that was never begun."""
        loop = asyncio.get_running_loop()
        if not plan.writes:
            return await loop.run_in_executor(self._readers.threads, self.run, plan)
        turn = AsyncTurn(plan, loop)
        self._writer.follow(turn)
        try:
            return cast("T", await turn.future)
        finally:
            turn.withdrawn = True

    def ensure_open(self) -> None:
        """Open the file, which installs or migrates it, if that has not happened yet."""
        self._writer.ensure_open()

    def close(self) -> None:
        """Finish what was accepted, then let go of all connections."""
        self._readers.close()
        self._writer.close()

    def _look(self, plan: Plan[T]) -> T:
        """Perform a plan that must not install anything: on an empty database if there is none."""
        path = self._place.path
        try:
            there = connect(self._place, reader=True) if path.exists() else sqlite3.connect("")
            with closing(there):
                return perform(there, self._clock, plan)
        except sqlite3.Error as error:
            raise translated(error, str(path)) from error

    def _open(self) -> sqlite3.Connection:
        """The writer's connection to a file that is there, safe and up to date."""
        self._refuse_bad_fork()
        refuse_old(self._place.version)
        connection = connect(self._place)
        try:
            use_log(connection, self._place)
            migrate(connection, self._clock)
        except BaseException:
            connection.close()
            raise
        return connection

    # --- forks ---------------------------------------------------------------------------------

    def before_fork(self) -> None:
        """Close all connections, and keep others from opening any until the fork is done."""
        self._paused = [
            part for part in (self._writer, self._readers) if part.pause(_FORK_PATIENCE)
        ]

    def after_fork_in_parent(self) -> None:
        """Go on; connections are opened again at first use."""
        for part in self._paused:
            part.resume()

    def after_fork_in_child(self) -> None:
        """Start anew, without the parent's threads, callers and locks."""
        if len(self._paused) < _PARTS:
            # What was open belongs to the parent: it must neither be used nor closed here.
            self._inherited.append((self._writer.committer.session, vars(self._readers).copy()))
            self._forked_badly = True
        self._readers.start_anew()
        self._writer.start_anew()

    def _refuse_bad_fork(self) -> None:
        if self._forked_badly:
            raise WrongContext(
                f"this process was forked while its parent was busy with {self._place.path}, so it "
                f"cannot use the store safely; open the store after the fork, or use spawn"
            )
