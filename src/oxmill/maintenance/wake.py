"""A wait that can be cut short."""

from __future__ import annotations

import asyncio


class Wake:
    """Remembers a ring until the next wait, so nothing is missed in between. One waiter only."""

    __slots__ = ("_loop", "_rung", "_waiter")

    def __init__(self) -> None:
        self._rung = False
        self._waiter: asyncio.Future[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def ring(self) -> None:
        """End the wait, or the next one. In the event loop's thread only."""
        self._rung = True
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def ring_from_thread(self) -> None:
        """The same from any thread."""
        self._rung = True
        loop = self._loop
        if loop is not None:
            try:
                loop.call_soon_threadsafe(self.ring)
            except RuntimeError:  # the loop is closed: nobody waits any more
                self._loop = None

    async def wait(self, timeout: float) -> bool:
        """Wait until rung, at most so many seconds; whether it was rung."""
        if not self._rung:
            loop = self._loop = asyncio.get_running_loop()
            waiter = self._waiter = loop.create_future()
            timer = loop.call_later(timeout, _finish, waiter)
            try:
                # A ring between the look above and the line before found nobody to wake.
                if not self._rung:
                    await waiter
            finally:
                timer.cancel()
                self._waiter = None
        rung, self._rung = self._rung, False
        return rung


def _finish(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
