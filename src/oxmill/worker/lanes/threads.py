"""Standing threads for blocking calls."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from oxmill.worker.stacks import stack_of_thread


class Ticket:
    """One call on its way through a thread."""

    __slots__ = ("call", "ended", "error", "future", "left", "thread", "value")

    def __init__(self, call: Callable[[], Any], future: asyncio.Future[Any]) -> None:
        self.call = call
        self.future = future
        self.thread: int | None = None
        self.ended = False
        self.left = False
        """Nobody waits for it any more, although it runs."""
        self.value: Any = None
        self.error: BaseException | None = None

    @property
    def stack(self) -> str:
        """Where the call is now; empty if it has not started or has ended."""
        return "" if self.ended else stack_of_thread(self.thread)


class Threads:
    """Up to `limit` threads, made on demand, fed by one queue.

    Results go back to the event loop in bursts: one wake-up for all that have piled up. A thread
    whose caller went away (a timeout) cannot be killed: it is left behind as stuck and another
    takes its place, so stuck calls never use up the threads.
    """

    def __init__(self, limit: int, name: str = "oxmill-thread") -> None:
        self._limit = limit
        self._name = name
        self._queue: SimpleQueue[Ticket | None] = SimpleQueue()
        self._done: deque[Ticket] = deque()
        self._waking = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._started = 0
        self._threads = 0
        self._busy = 0
        self.stuck = 0
        """Threads that still run a call which nobody waits for any more."""

    def submit(self, call: Callable[[], Any]) -> Ticket:
        """Run the call in a thread. Await the ticket's future; to leave it, use `abandon`."""
        loop = self._loop = asyncio.get_running_loop()
        ticket = Ticket(call, loop.create_future())
        self._busy += 1
        if self._busy > self._threads and self._threads < self._limit:
            self._add_thread()
        self._queue.put(ticket)
        return ticket

    def abandon(self, ticket: Ticket) -> bool:
        """Nobody waits for the call any more; whether it goes on all the same."""
        if not ticket.future.cancel() and not ticket.future.cancelled():
            ticket.future.exception()  # it ended in this very moment: the answer is not needed
        if ticket.thread is None or ticket.ended:
            return False
        ticket.left = True
        self.stuck += 1
        self._threads -= 1
        self._busy -= 1
        return True

    def close(self) -> None:
        """Idle threads end now, busy ones after their call; none is waited for."""
        for _ in range(self._threads + self.stuck):
            self._queue.put(None)

    def _add_thread(self) -> None:
        self._threads += 1
        self._started += 1
        threading.Thread(
            target=self._work, name=f"{self._name}-{self._started}", daemon=True
        ).start()

    def _work(self) -> None:
        while (ticket := self._queue.get()) is not None:
            if not ticket.future.cancelled():
                ticket.thread = threading.get_ident()
                try:
                    ticket.value = ticket.call()
                except BaseException as error:  # noqa: BLE001 - it is raised where it is awaited
                    ticket.error = error
            ticket.ended = True
            ticket.call = _nothing  # what the call held may go now
            self._hand_back(ticket)

    def _hand_back(self, ticket: Ticket) -> None:
        self._done.append(ticket)
        if not self._waking and self._loop is not None:
            self._waking = True
            try:
                self._loop.call_soon_threadsafe(self._collect)
            except RuntimeError:  # the loop is closed: nobody waits any more
                self._loop = None

    def _collect(self) -> None:
        # The flag goes down first: what a thread hands back from now on rings again.
        self._waking = False
        while self._done:
            ticket = self._done.popleft()
            future = ticket.future
            if ticket.left:
                self._came_back()
            else:
                self._busy -= 1
            if future.done():
                continue
            if ticket.error is None:
                future.set_result(ticket.value)
            else:
                future.set_exception(_raisable(ticket.error))

    def _came_back(self) -> None:
        """A stuck thread is free again; one beyond the limit is sent home."""
        self.stuck -= 1
        self._threads += 1
        if self._threads > self._limit:
            self._threads -= 1
            self._queue.put(None)


def _raisable(error: BaseException) -> BaseException:
    """What a future can hold and a coroutine be woken with. `StopIteration` would look like its return,
    and `GeneratorExit` would close what awaits instead of being raised there."""
    if isinstance(error, StopIteration | GeneratorExit):
        replaced = RuntimeError(f"the task raised {type(error).__name__}")
        replaced.__cause__ = error
        return replaced
    return error


def _nothing() -> None:
    """Stands for a call that has ended."""
