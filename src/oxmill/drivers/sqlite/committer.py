"""The one connection of a process that writes, and the transactions made on it."""

from __future__ import annotations

import logging
import random
import sqlite3
import time
from collections import deque
from collections.abc import Callable
from typing import Final, TypeVar

from oxmill.drivers.sqlite.checkpoint import Checkpointer
from oxmill.drivers.sqlite.faults import is_broken, is_busy, translated, unstorable
from oxmill.drivers.sqlite.filesystem import prepare_place
from oxmill.drivers.sqlite.session import Session
from oxmill.drivers.sqlite.turns import Turn, deliver
from oxmill.drivers.sqlite.turnstile import Turnstile
from oxmill.errors import OxmillError
from oxmill.model.value import Micros
from oxmill.store.plan import Plan

T = TypeVar("T")

_log = logging.getLogger("oxmill.sqlite")

PATIENCE: Final = 10.0
"""Seconds to wait for other processes before giving up."""
_LOOK_EVERY: Final = 8
"""Commits after which the length of the log is looked at: two system calls."""


class Committer:
    """Commits plans in groups. Used by one thread at a time."""

    def __init__(
        self,
        open_connection: Callable[[], sqlite3.Connection],
        clock: Callable[[], Micros],
        checkpointer: Checkpointer,
    ) -> None:
        self._open = open_connection
        self._clock = clock
        self.checkpointer = checkpointer
        self.path = str(checkpointer.place.path)
        self.start_anew()

    def start_anew(self) -> None:
        """Forget the connection without closing it; after a fork it is the parent's."""
        self.session: Session | None = None
        self._commits = 0
        self.turnstile = Turnstile(self.checkpointer.place.lock)

    @property
    def is_open(self) -> bool:
        """Whether there is a connection."""
        return self.session is not None

    def ensure_open(self) -> None:
        """Open the database, installed and up to date."""
        try:
            self._opened()
        except sqlite3.Error as error:
            raise translated(error, self.path) from error

    def close(self) -> None:
        """Let go of the connection; it is opened again when it is needed."""
        self._drop_connection()
        self.turnstile.close()

    def perform(self, plan: Plan[T]) -> T:
        """One plan in a transaction of its own. If it fails nothing was written, unless the error
        says that this is not known."""
        session = self.session
        if session is None:
            self.ensure_open()
            session = self._opened()
        self.turnstile.enter(PATIENCE)
        try:
            try:
                answer = session.transact(plan)
            except sqlite3.OperationalError as error:
                if session.begun:
                    raise
                self._wait_once(error)
                answer = session.transact(plan)
        except BaseException as error:
            told = self._undo(session, error)
            if told is error:
                raise
            raise told from error
        finally:
            self.turnstile.leave()
        self._commits += 1
        if not self._commits % _LOOK_EVERY:
            self._tend_log()
        return answer

    def commit(self, line: deque[Turn]) -> None:
        """Perform everything in line as one transaction, or each in one of its own, and tell the
        callers. The line is emptied when the transaction has begun, so the group is as large as it
        can be."""
        try:
            session = self._begun()
        except (sqlite3.Error, OxmillError) as error:
            self._refuse(_take(line), error)
            return
        group = _take(line)
        try:
            if len(group) == 1:
                self._alone(session, group[0])
            elif not self._together(session, group):
                for turn in group:
                    self._apart(turn)
                    deliver([turn])
        except BaseException:
            self._give_back(group, line)
            raise
        finally:
            self.turnstile.leave()
        deliver(turn for turn in group if not turn.done)
        self._commits += 1
        if not self._commits % _LOOK_EVERY:
            self._tend_log()

    def _together(self, session: Session, group: list[Turn]) -> bool:
        """Perform and commit a group in the transaction that was begun; if not all of it can be,
        nothing of it is."""
        try:
            for turn in group:
                if not self._perform(session, turn):
                    session.rollback()
                    return False
            session.commit()
        except sqlite3.Error as error:
            self._recover(error)
            return False
        return True

    def _perform(self, session: Session, turn: Turn) -> bool:
        """Perform one turn of a group; whether what there is may be committed."""
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

    def _apart(self, turn: Turn) -> None:
        """Perform one turn in a transaction of its own, so that its failure is its own."""
        turn.answer = turn.error = None
        try:
            session = self._begun()
        except (sqlite3.Error, OxmillError) as error:
            turn.error = self._told(error)
            return
        try:
            self._alone(session, turn)
        finally:
            self.turnstile.leave()

    def _alone(self, session: Session, turn: Turn) -> None:
        """Perform and commit one turn in the transaction that was begun, or undo it."""
        try:
            turn.answer = session.perform(turn.plan)
            session.commit()
        except BaseException as error:
            told = self._undo(session, error)
            if not isinstance(told, Exception):
                raise
            if told is not error:
                told.__cause__ = error
            turn.error = told  # it belongs to the caller of this very plan

    def _undo(self, session: Session, error: BaseException) -> BaseException:
        """Undo what was begun and failed; what to tell the caller."""
        if isinstance(error, sqlite3.Error):
            refused = translated(error, self.path, committing=session.committing)
            self._recover(error)
            return refused
        if not session.committed:
            session.rollback()
        return unstorable(error)

    def _refuse(self, group: list[Turn], error: sqlite3.Error | OxmillError) -> None:
        for turn in group:
            turn.error = self._told(error)
        deliver(group)

    def _told(self, error: sqlite3.Error | OxmillError) -> OxmillError:
        return translated(error, self.path) if isinstance(error, sqlite3.Error) else error

    def _give_back(self, group: list[Turn], line: deque[Turn]) -> None:
        """This thread was interrupted while it led: others must not suffer from it."""
        session = self.session
        left = [turn for turn in group if not turn.done]
        if session is not None and session.committed:
            deliver(left)
            return
        if session is not None:
            session.rollback()
        line.extendleft(reversed(left))

    def _begun(self) -> Session:
        """The session with a write transaction open, and the turnstile passed."""
        session = self.session or self._opened()
        self.turnstile.enter(PATIENCE)
        try:
            try:
                session.begin()
            except sqlite3.OperationalError as error:
                self._wait_once(error)
                session.begin()
        except BaseException as error:
            self.turnstile.leave()
            if isinstance(error, sqlite3.Error):
                self._recover(error)
            raise
        return session

    def _wait_once(self, error: sqlite3.OperationalError) -> None:
        """Before a transaction is begun again that others kept from being begun: they pass no turnstile.
        Each try waits as long as the busy timeout."""
        if not is_busy(error):
            raise error
        time.sleep(random.uniform(0.005, 0.1))  # noqa: S311 - only to spread out retries

    def _opened(self) -> Session:
        if self.session is None:
            prepare_place(self.checkpointer.place.path)
            # One process at a time installs, migrates and switches to the write-ahead log.
            self.turnstile.enter(PATIENCE)
            try:
                connection = self._open()
            finally:
                self.turnstile.leave()
            self.checkpointer.watch(connection)
            self.session = Session(connection, self._clock)
        return self.session

    def _recover(self, error: sqlite3.Error) -> None:
        if self.session is None:
            return
        try:
            self.session.rollback()
        except sqlite3.Error:
            self._drop_connection()
        if is_broken(error):
            self._drop_connection()

    def _drop_connection(self) -> None:
        session, self.session = self.session, None
        if session is not None:
            self.checkpointer.forget()
            session.connection.close()

    def _tend_log(self) -> None:
        """Nobody waits for this any more, so nobody is told of a failure but the log."""
        session = self.session
        if session is None or not self.checkpointer.due():
            return
        try:
            self.turnstile.enter(PATIENCE)
            try:
                self.checkpointer.checkpoint(session.connection)
            finally:
                self.turnstile.leave()
        except (sqlite3.Error, OxmillError) as error:
            _log.warning("the log of %s could not be shortened: %s", self.path, error)
            if isinstance(error, sqlite3.Error):
                self._recover(error)


def _take(line: deque[Turn]) -> list[Turn]:
    """All turns in line whose callers are still there."""
    group: list[Turn] = []
    while line:
        turn = line.popleft()
        if not turn.withdrawn:
            group.append(turn)
    return group
