"""The one writer: plans of many callers become one transaction, without anyone waiting for more.

While one group is being committed, the next one gathers by itself. Whoever finds the writer free
leads: it takes all plans in line, its own among them, and commits them together.
"""

from __future__ import annotations

import logging
import random
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from oxmill.drivers.sqlite.checkpoint import Checkpointer
from oxmill.drivers.sqlite.faults import is_broken, is_busy, translated, unstorable
from oxmill.drivers.sqlite.filesystem import prepare_place
from oxmill.drivers.sqlite.session import Session
from oxmill.drivers.sqlite.turns import AsyncTurn, BlockingTurn, Signal, Turn, deliver
from oxmill.drivers.sqlite.turnstile import Turnstile
from oxmill.errors import OxmillError, StoreUnavailable

_log = logging.getLogger("oxmill.sqlite")

PATIENCE: Final = 10.0
"""Seconds to wait for other processes before giving up."""
_LOOK_AGAIN: Final = 1.0


class Writer:
    """Performs plans that write, each as if alone."""

    def __init__(
        self, open_connection: Callable[[], sqlite3.Connection], checkpointer: Checkpointer
    ) -> None:
        self._open = open_connection
        self._checkpointer = checkpointer
        self._path = str(checkpointer.place.path)
        self._closed = False
        self._begin_life()

    def _begin_life(self) -> None:
        self._session: Session | None = None
        self._turnstile = Turnstile(self._checkpointer.place.path)
        self._line: deque[Turn] = deque()
        self._lock = threading.Lock()
        self._door = threading.Lock()
        self._thread: threading.Thread | None = None
        self._summons = Signal()

    # --- callers -------------------------------------------------------------------------------

    def lead(self, turn: BlockingTurn) -> None:
        """Perform this turn, in this thread if the writer is free; return when it is done."""
        self._enter(turn)
        try:
            while not turn.done:
                if self._lock.acquire(blocking=False):
                    self._lead()
                else:
                    turn.signal.wait(_LOOK_AGAIN)
        except BaseException:
            turn.withdrawn = True
            raise

    def follow(self, turn: AsyncTurn) -> None:
        """Have this turn performed by the writer's own thread, or by any thread that leads."""
        self._enter(turn)
        self._summon()

    def ensure_open(self) -> None:
        """Open the database if that has not happened yet."""
        if self._session is None:
            with self._lock:
                try:
                    self._opened()
                except sqlite3.Error as error:
                    raise translated(error, self._path) from error

    def close(self) -> None:
        """Perform what was accepted, then let go of thread and connection."""
        with self._door:
            self._closed = True
            thread, self._thread = self._thread, None
        if thread is not None:
            self._summons.give()
            thread.join()
        with self._lock:
            if self._line:
                self._commit_line()
            self._drop_connection()
            self._turnstile.close()

    # --- forks ---------------------------------------------------------------------------------

    def pause(self, seconds: float) -> bool:
        """Before a fork: finish what is under way and close the connection. SQLite's locks and
        shared memory must not be carried into a child; whether that could be prevented."""
        if not self._lock.acquire(timeout=seconds):
            return False
        self._drop_connection()
        self._turnstile.close()
        return True

    def resume(self) -> None:
        """After a fork, in the parent: go on."""
        self._lock.release()
        self._hand_on()

    def start_anew(self) -> None:
        """After a fork, in the child: nothing of the parent's threads and callers is here."""
        self._begin_life()

    # --- leading -------------------------------------------------------------------------------

    def _enter(self, turn: Turn) -> None:
        with self._door:
            if self._closed:
                raise StoreUnavailable(f"{self._path} was closed; open it again")
            self._line.append(turn)

    def _lead(self) -> None:
        """Commit everything in line. The lock is held; it is released here."""
        try:
            self._commit_line()
        finally:
            self._lock.release()
            self._hand_on()

    def _hand_on(self) -> None:
        """Whoever came while the lock was held found it taken, so see that someone leads."""
        try:
            first = self._line[0]
        except IndexError:
            return
        if isinstance(first, BlockingTurn):
            first.signal.give()
        else:
            self._summon()

    def _summon(self) -> None:
        if self._thread is None:
            with self._door:
                if self._thread is None and not self._closed:
                    self._thread = threading.Thread(
                        target=self._serve, name="oxmill-sqlite-writer", daemon=True
                    )
                    self._thread.start()
        self._summons.give()

    def _serve(self) -> None:
        """The life of the writer's own thread, which leads for callers that must not block."""
        while not self._closed:
            self._summons.wait()
            while self._line:
                self._lock.acquire()
                self._lead()

    # --- committing ----------------------------------------------------------------------------

    def _commit_line(self) -> None:
        """Perform everything in line as one transaction, or each in one of its own."""
        try:
            session = self._begun()
        except (sqlite3.Error, OxmillError) as error:
            self._refuse(self._take(), error)
            return
        group = self._take()
        try:
            if not self._together(session, group):
                for turn in group:
                    self._alone(turn)
        except BaseException:
            self._give_back(group)
            raise
        finally:
            self._turnstile.leave()
        deliver(group)
        self._tend_log()

    def _take(self) -> list[Turn]:
        group: list[Turn] = []
        while self._line:
            turn = self._line.popleft()
            if not turn.withdrawn:
                group.append(turn)
        return group

    def _together(self, session: Session, group: list[Turn]) -> bool:
        """Perform and commit a group in the transaction that was begun; whether it is settled. A
        single turn always is, if only by its error."""
        alone = len(group) == 1
        committing = False
        try:
            for turn in group:
                if not self._perform(session, turn):
                    session.rollback()
                    return alone
            committing = True
            session.commit()
        except sqlite3.Error as error:
            self._recover(error)
            if alone:
                group[0].error = translated(error, self._path, committing=committing)
            return alone
        return True

    def _alone(self, turn: Turn) -> None:
        """Perform one turn in a transaction of its own, so that its failure is its own."""
        try:
            session = self._opened()
            self._begin(session)
        except (sqlite3.Error, OxmillError) as error:
            turn.error = self._told(error)
        else:
            self._together(session, [turn])

    def _perform(self, session: Session, turn: Turn) -> bool:
        """Perform one turn in the open transaction; whether what there is may be committed."""
        turn.answer = turn.error = None
        before = session.connection.total_changes
        try:
            turn.answer = session.perform(turn.plan)
        except sqlite3.Error:
            raise
        except Exception as error:  # noqa: BLE001 - it belongs to the caller of this very plan
            turn.error = unstorable(error)
            return session.connection.total_changes == before
        return True

    def _refuse(self, group: list[Turn], error: sqlite3.Error | OxmillError) -> None:
        for turn in group:
            turn.error = self._told(error)
        deliver(group)

    def _told(self, error: sqlite3.Error | OxmillError) -> OxmillError:
        return translated(error, self._path) if isinstance(error, sqlite3.Error) else error

    def _give_back(self, group: list[Turn]) -> None:
        """This thread was interrupted while it led: others must not suffer from it."""
        session = self._session
        if session is not None and session.connection.in_transaction:
            session.rollback()
            self._line.extendleft(reversed(group))
        else:
            deliver(group)

    # --- the connection ------------------------------------------------------------------------

    def _begun(self) -> Session:
        """The session with a write transaction open, and the turnstile passed."""
        session = self._opened()
        self._turnstile.enter(PATIENCE)
        try:
            self._begin(session)
        except BaseException as error:
            self._turnstile.leave()
            if isinstance(error, sqlite3.Error):
                self._recover(error)
            raise
        return session

    def _begin(self, session: Session) -> None:
        """Each try waits as long as the busy timeout: programs of others pass no turnstile."""
        for last in (False, True):
            try:
                session.begin()
                return
            except sqlite3.OperationalError as error:
                if last or not is_busy(error):
                    raise
                time.sleep(random.uniform(0.005, 0.1))  # noqa: S311 - only to spread out retries

    def _opened(self) -> Session:
        if self._session is None:
            prepare_place(self._checkpointer.place.path)
            # One process at a time installs, migrates and switches to the write-ahead log.
            self._turnstile.enter(PATIENCE)
            try:
                connection = self._open()
            finally:
                self._turnstile.leave()
            self._checkpointer.watch(connection)
            self._session = Session(connection)
        return self._session

    def _recover(self, error: sqlite3.Error) -> None:
        if self._session is None:
            return
        try:
            self._session.rollback()
        except sqlite3.Error:
            self._drop_connection()
        if is_broken(error):
            self._drop_connection()

    def _drop_connection(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            self._checkpointer.forget()
            session.connection.close()

    def _tend_log(self) -> None:
        """Nobody waits for this any more, so nobody is told of a failure but the log."""
        session = self._session
        if session is None or not self._checkpointer.due():
            return
        try:
            self._turnstile.enter(PATIENCE)
            try:
                self._checkpointer.checkpoint(session.connection)
            finally:
                self._turnstile.leave()
        except (sqlite3.Error, OxmillError) as error:
            _log.warning("the log of %s could not be shortened: %s", self._path, error)
            if isinstance(error, sqlite3.Error):
                self._recover(error)
