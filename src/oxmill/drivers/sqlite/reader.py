"""Readers: connections beside the writer's, for plans that only look."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from oxmill.drivers.sqlite.connection import Place, connect
from oxmill.drivers.sqlite.faults import is_broken, translated, unstorable
from oxmill.drivers.sqlite.session import perform
from oxmill.errors import StoreUnavailable
from oxmill.model.value import Micros
from oxmill.store.plan import Plan

T = TypeVar("T")

THREADS: Final = 4
"""Reads of async callers at a time; also the connections kept for the next read."""


class Readers:
    """Performs plans that only read, each on one snapshot, beside the writer and each other."""

    def __init__(
        self, place: Place, clock: Callable[[], Micros], ensure_open: Callable[[], None]
    ) -> None:
        self._place = place
        self._clock = clock
        self._ensure_open = ensure_open
        self._closed = False
        self._begin_life()

    def _begin_life(self) -> None:
        self._calm = threading.Condition()
        self._paused = False
        self._active = 0
        self._idle: list[sqlite3.Connection] = []
        self._threads: ThreadPoolExecutor | None = None

    def run(self, plan: Plan[T]) -> T:
        """Perform a plan in this thread."""
        self._ensure_open()
        connection = self._take()
        sound = True
        try:
            connection.execute("BEGIN")
            try:
                return perform(connection, self._clock, plan)
            finally:
                connection.rollback()
        except sqlite3.Error as error:
            sound = not is_broken(error)
            raise translated(error, str(self._place.path)) from error
        except (UnicodeEncodeError, OverflowError) as error:
            raise unstorable(error) from error
        finally:
            self._give_back(connection, sound=sound)

    @property
    def threads(self) -> ThreadPoolExecutor:
        """Where async callers have their reads done."""
        with self._calm:
            self._refuse_closed()
            if self._threads is None:
                self._threads = ThreadPoolExecutor(THREADS, "oxmill-sqlite-reader")
            return self._threads

    def close(self) -> None:
        """Finish what was begun, then let go of threads and connections."""
        with self._calm:
            self._closed = True
            threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown(wait=True)
        with self._calm:
            while self._idle:
                self._idle.pop().close()

    # --- forks ---------------------------------------------------------------------------------

    def pause(self, seconds: float) -> bool:
        """Before a fork: let reads finish and close all connections; whether that was possible."""
        self._calm.acquire()
        self._paused = True
        calm = self._calm.wait_for(lambda: self._active == 0, seconds)
        while self._idle:
            self._idle.pop().close()
        if not calm:
            self.resume()
        return calm

    def resume(self) -> None:
        """After a fork, in the parent: go on."""
        self._paused = False
        self._calm.notify_all()
        self._calm.release()

    def start_anew(self) -> None:
        """After a fork, in the child: nothing of the parent's threads is here."""
        self._begin_life()

    # --- connections ---------------------------------------------------------------------------

    def _refuse_closed(self) -> None:
        if self._closed:
            raise StoreUnavailable(f"{self._place.path} was closed; open it again")

    def _take(self) -> sqlite3.Connection:
        with self._calm:
            self._refuse_closed()
            if self._paused:
                self._calm.wait_for(lambda: not self._paused)
            self._active += 1
            if self._idle:
                return self._idle.pop()
        try:
            return connect(self._place, reader=True)
        except sqlite3.Error as error:
            self._leave()
            raise translated(error, str(self._place.path)) from error

    def _give_back(self, connection: sqlite3.Connection, *, sound: bool) -> None:
        with self._calm:
            if sound and len(self._idle) < THREADS and not self._closed:
                self._idle.append(connection)
            else:
                connection.close()
        self._leave()

    def _leave(self) -> None:
        with self._calm:
            self._active -= 1
            if self._paused:
                self._calm.notify_all()
