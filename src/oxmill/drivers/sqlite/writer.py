"""The one writer: plans of many callers become one transaction, without anyone waiting for more.

While one group is being committed, the next one gathers by itself. Whoever finds the writer free
leads: it takes all plans in line, its own among them, and commits them together.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Final, TypeVar, cast

from oxmill.drivers.sqlite.committer import Committer
from oxmill.drivers.sqlite.turns import AsyncTurn, BlockingTurn, Signal, Turn
from oxmill.errors import StoreUnavailable
from oxmill.store.plan import Plan

T = TypeVar("T")

_LOOK_AGAIN: Final = 1.0
"""Seconds after which a waiting thread looks for itself whether it should lead."""


class Writer:
    """Performs plans that write, each as if alone."""

    def __init__(self, committer: Committer) -> None:
        self.committer = committer
        self._closed = False
        self._begin_life()

    def _begin_life(self) -> None:
        self._line: deque[Turn] = deque()
        self._lock = threading.Lock()
        self._door = threading.Lock()
        self._thread: threading.Thread | None = None
        self._summons = Signal()

    # --- callers -------------------------------------------------------------------------------

    def perform(self, plan: Plan[T]) -> T:
        """Perform a plan and give its answer: at once and in this thread if the writer is free."""
        if not self._line and self._lock.acquire(blocking=False):
            try:
                if self._closed:
                    self._refuse_closed()
                return self.committer.perform(plan)
            finally:
                self._lock.release()
                if self._line:
                    self._hand_on()
        turn = BlockingTurn(plan)
        self._line_up(turn)
        if turn.error is not None:
            raise turn.error
        return cast("T", turn.answer)

    def _line_up(self, turn: BlockingTurn) -> None:
        """Wait until this turn is done, or lead."""
        self._enter(turn)
        try:
            while not turn.done:
                if self._lock.acquire(blocking=False):
                    self._lead()
                elif turn.signal is None:
                    # From here on whoever holds the lock can wake us; it may have just let go.
                    turn.signal = Signal()
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
        if not self.committer.is_open:
            with self._lock:
                self._refuse_closed()
                self.committer.ensure_open()

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
                self.committer.commit(self._line)
            self.committer.close()

    # --- forks ---------------------------------------------------------------------------------

    def pause(self, seconds: float) -> bool:
        """Before a fork: finish what is under way and close the connection. SQLite's locks and
        shared memory must not be carried into a child; whether that could be prevented."""
        if not self._lock.acquire(timeout=seconds):
            return False
        self.committer.close()
        return True

    def resume(self) -> None:
        """After a fork, in the parent: go on."""
        self._lock.release()
        self._hand_on()

    def start_anew(self) -> None:
        """After a fork, in the child: nothing of the parent's threads and callers is here."""
        self.committer.start_anew()
        self._begin_life()

    # --- leading -------------------------------------------------------------------------------

    def _enter(self, turn: Turn) -> None:
        with self._door:
            self._refuse_closed()
            self._line.append(turn)

    def _refuse_closed(self) -> None:
        if self._closed:
            raise StoreUnavailable(f"{self.committer.path} was closed; open it again")

    def _lead(self) -> None:
        """Commit everything in line. The lock is held; it is released here."""
        try:
            self.committer.commit(self._line)
        finally:
            self._lock.release()
            self._hand_on()

    def _hand_on(self) -> None:
        """Whoever came while the lock was held found it taken, so see that someone leads."""
        try:
            first = self._line[0]
        except IndexError:  # someone else leads by now
            return
        if isinstance(first, BlockingTurn):
            first.wake()
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
