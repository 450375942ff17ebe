"""The doorbell within one process, and the one that never rings."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterable
from typing import Final, Self

from oxmill.store.doorbell import CONTROL, SWEEP, is_end

_running_loop: Final = asyncio._get_running_loop  # noqa: SLF001 - does not raise where there is none


class LocalBell:
    """A bell that threads and event loops of this process can wait on."""

    __slots__ = (
        *("_closed", "_flag", "_home", "_loop", "_on_ring", "_passing_on", "_waiter"),
        "topics",
    )

    def __init__(self, topics: frozenset[str], home: LocalDoorbell) -> None:
        self.topics = topics
        self._home = home
        self._flag = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._closed = False
        self._on_ring: Callable[[], None] | None = None
        self._passing_on = False
        """Whether a ring from another thread is on its way to the event loop."""

    def strike(self) -> None:
        """Remember the ring and wake the waiter, or pass it on, from whatever thread."""
        if self._on_ring is not None:
            self._pass_on(self._on_ring)
            return
        if self._flag.is_set():
            return
        self._flag.set()
        if self._on_ring is not None:  # since the look above
            self._pass_on(self._on_ring)
            return
        loop = self._loop
        if loop is not None:
            try:
                if _running_loop() is loop:
                    self._wake()
                else:
                    loop.call_soon_threadsafe(self._wake)
            except RuntimeError:  # the loop was closed meanwhile: nobody waits any more
                self._loop = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def tell(self, on_ring: Callable[[], None]) -> None:
        """Call this in this event loop at every ring from now on; nobody waits then."""
        self._loop, self._on_ring = asyncio.get_running_loop(), on_ring
        if self._flag.is_set():
            on_ring()

    def _pass_on(self, on_ring: Callable[[], None]) -> None:
        loop = self._loop
        if _running_loop() is loop:
            on_ring()
        elif loop is not None and not self._passing_on:
            self._passing_on = True
            # Refused if the loop was closed meanwhile: there is nobody to tell any more.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._passed_on, on_ring)

    def _passed_on(self, on_ring: Callable[[], None]) -> None:
        self._passing_on = False  # first: a ring from now on is another one
        if not self._closed:
            on_ring()

    def wait(self, timeout: float) -> bool:
        """Block until rung or `timeout` seconds have passed; whether it was rung."""
        # Cleared only if it was seen: a ring just after the end of the wait is for the next one.
        rung = self._flag.wait(timeout)
        if rung:
            self._flag.clear()
        return rung

    async def arrive(self, timeout: float) -> bool:
        """The same without blocking the event loop."""
        if not self._flag.is_set():
            loop = asyncio.get_running_loop()
            waiter = self._waiter = loop.create_future()
            self._loop = loop
            timer = loop.call_later(timeout, self._wake)
            try:
                # A ring between the look at the flag and the line above found no loop to wake.
                if not self._flag.is_set():
                    await waiter
            finally:
                timer.cancel()
                self._loop = self._waiter = None
        rung = self._flag.is_set()
        if rung:
            self._flag.clear()
        return rung

    def close(self) -> None:
        """Stop listening. To do so again does nothing."""
        if not self._closed:
            self._closed = True
            self._home.forget(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class LocalDoorbell:
    """Wakes listeners of this process at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bells: dict[str, set[LocalBell]] = {}

    def listened(self) -> bool:
        """Whether anyone listens."""
        return bool(self._bells)

    def ring(self, topics: Iterable[str]) -> None:
        """Wake whoever listens to one of the topics."""
        bells = self._bells
        if not bells:
            return
        with self._lock:
            rung = [bell for topic in topics for bell in bells.get(topic, ())]
        for bell in rung:
            bell.strike()

    def ring_all(self) -> None:
        """Wake everybody: a hint whose topic is not known, after which much may be missed."""
        with self._lock:
            topics = tuple(self._bells)
        LocalDoorbell.ring(self, topics)

    def ring_ends(self) -> None:
        """Wake all who wait for the end of something."""
        LocalDoorbell.ring(self, filter(is_end, self.topics()))

    def ring_most(self) -> None:
        """The same as `ring_all` where something was written: whoever did it tells sweepers and those whom he asks
        for something himself. To look after every write would be work for nothing, and writes too."""
        with self._lock:
            topics = [topic for topic in self._bells if topic not in (CONTROL, SWEEP)]
        LocalDoorbell.ring(self, topics)

    def listen(self, topics: Iterable[str]) -> LocalBell:
        """A bell for these topics."""
        bell = LocalBell(frozenset(topics), self)
        with self._lock:
            for topic in bell.topics:
                self._bells.setdefault(topic, set()).add(bell)
        return bell

    def attend(self, topics: Iterable[str]) -> LocalBell:
        """A bell for these topics, for somebody in this event loop."""
        return self.listen(topics)

    def forget(self, bell: LocalBell) -> None:
        """Take a bell off its topics."""
        with self._lock:
            for topic in bell.topics:
                listeners = self._bells.get(topic)
                if listeners is not None:
                    listeners.discard(bell)
                    if not listeners:
                        del self._bells[topic]

    def topics(self) -> list[str]:
        """What anyone listens to."""
        with self._lock:
            return list(self._bells)

    @property
    def listeners(self) -> int:
        """How many topics are listened to."""
        return len(self._bells)

    def close(self) -> None:
        """Nothing to let go of."""


class SilentDoorbell(LocalDoorbell):
    """Never rings. Everything must still work, only later: the store is the truth."""

    def listened(self) -> bool:
        """Never."""
        return False

    def ring(self, topics: Iterable[str]) -> None:
        """Do nothing."""

    def ring_all(self) -> None:
        """Do nothing."""

    def ring_ends(self) -> None:
        """Do nothing."""

    def ring_most(self) -> None:
        """Do nothing."""
