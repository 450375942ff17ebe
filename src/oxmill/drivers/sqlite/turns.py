"""One caller's plan on its way through the writer, and how the answer gets back."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable
from typing import Any

from oxmill.store.plan import Plan


class Signal:
    """A wake-up that is kept until it is waited for; several become one."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()

    def give(self) -> None:
        """End one wait, now or in the future."""
        try:
            self._lock.release()
        except RuntimeError:  # it was given before and nobody has waited since
            return

    def wait(self, seconds: float = -1) -> None:
        """Until it is given, or the time is up."""
        self._lock.acquire(timeout=seconds)


class Turn:
    """A plan in line. `done` is set once its transaction has ended, one way or the other."""

    __slots__ = ("answer", "done", "error", "plan", "withdrawn")

    def __init__(self, plan: Plan[Any]) -> None:
        self.plan = plan
        self.answer: Any = None
        self.error: Exception | None = None
        self.done = False
        self.withdrawn = False
        """The caller has gone away: if the plan has not begun, it need not."""


class BlockingTurn(Turn):
    """The turn of a thread that waits for it. Who finds the writer free needs no signal."""

    __slots__ = ("signal",)

    def __init__(self, plan: Plan[Any]) -> None:
        super().__init__(plan)
        self.signal: Signal | None = None

    def wake(self) -> None:
        """Have the thread look again, if it waits."""
        if self.signal is not None:
            self.signal.give()


class AsyncTurn(Turn):
    """The turn of a coroutine that awaits it."""

    __slots__ = ("future", "loop")

    def __init__(self, plan: Plan[Any], loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(plan)
        self.loop = loop
        self.future: asyncio.Future[Any] = loop.create_future()


def deliver(turns: Iterable[Turn]) -> None:
    """Hand every caller its answer: one wake-up per event loop, however many callers it has."""
    loops: dict[asyncio.AbstractEventLoop, list[AsyncTurn]] = {}
    for turn in turns:
        turn.done = True
        if isinstance(turn, AsyncTurn):
            loops.setdefault(turn.loop, []).append(turn)
        elif isinstance(turn, BlockingTurn):
            turn.wake()
    for loop, waiting in loops.items():
        try:
            loop.call_soon_threadsafe(_resolve, waiting)
        except RuntimeError:  # the loop was closed meanwhile: nobody waits any more
            continue


def _resolve(turns: list[AsyncTurn]) -> None:
    for turn in turns:
        if turn.future.done():
            continue
        if turn.error is not None:
            turn.future.set_exception(turn.error)
        else:
            turn.future.set_result(turn.answer)
