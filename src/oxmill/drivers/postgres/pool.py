"""A few connections, shared by the threads of a process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from oxmill.drivers.postgres.connection import Link
from oxmill.errors import StoreUnavailable

_FRESH: Final = 1.0
"""Seconds since its last use for which a connection is trusted unseen."""


class Pool:
    """The connection used last is used next, so that idle ones stay idle."""

    def __init__(self, connect: Callable[[], Link], size: int, patience: float) -> None:
        self._connect = connect
        self._size = size
        self._patience = patience
        self.start_anew()

    def start_anew(self) -> None:
        """Forget everything: in a new process, or to begin with."""
        self._guard = threading.Lock()
        self._room = threading.BoundedSemaphore(self._size)
        self._idle: list[Link] = []

    def take(self) -> Link:
        """A connection that seems to work; give it back or drop it."""
        if not self._room.acquire(timeout=self._patience):
            raise StoreUnavailable(
                f"all {self._size} connections stayed busy; nothing was written. Try again, or "
                f"give the URL a larger pool="
            )
        try:
            while True:
                with self._guard:
                    link = self._idle.pop() if self._idle else None
                if link is None:
                    return self._connect()
                if time.monotonic() - link.used < _FRESH or link.alive:
                    return link
                link.close()
        except BaseException:
            self._room.release()
            raise

    def give_back(self, link: Link) -> None:
        """It may be used again."""
        link.used = time.monotonic()
        with self._guard:
            self._idle.append(link)
        self._room.release()

    def drop(self, link: Link) -> None:
        """It must not be used again."""
        try:
            link.close()
        finally:
            self._room.release()

    def clear(self) -> list[Link]:
        """Take all idle connections out."""
        with self._guard:
            idle, self._idle = self._idle, []
        return idle
