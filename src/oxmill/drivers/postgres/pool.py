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
    """The connection used last is used next, so that idle ones stay idle. One that is there is had without a
    lock: taking it off the list, and putting it back, is one step of the interpreter."""

    def __init__(self, connect: Callable[[], Link], size: int, patience: float) -> None:
        self._connect = connect
        self._size = size
        self._patience = patience
        self._idle: list[Link] = []
        self.start_anew()

    def start_anew(self) -> list[Link]:
        """Forget everything: to begin with, or in a new process, where what was idle is the parent's."""
        idle, self._idle = self._idle, []
        self._changed = threading.Condition()
        self._open = 0
        """How many there are, idle or in use."""
        self._waiting = 0
        return idle

    def take(self) -> Link:
        """A connection that seems to work; give it back or drop it."""
        while (link := self._pop() or self._wait()) is not None:
            if time.monotonic() - link.used < _FRESH or link.alive:
                return link
            self.drop(link)
        try:
            return self._connect()
        except BaseException:
            self._forget()
            raise

    def take_idle(self) -> Link | None:
        """The same without any wait: nothing if none is idle, or if others wait for one."""
        link = None if self._waiting else self._pop()
        if link is None or time.monotonic() - link.used < _FRESH or link.alive:
            return link
        self.drop(link)
        return None

    def give_back(self, link: Link) -> None:
        """It may be used again."""
        link.used = time.monotonic()
        self._idle.append(link)
        if self._waiting:
            with self._changed:
                self._changed.notify()

    def drop(self, link: Link) -> None:
        """It must not be used again."""
        try:
            link.close()
        finally:
            self._forget()

    def clear(self) -> list[Link]:
        """Take all idle connections out."""
        with self._changed:
            idle, self._idle = self._idle, []
            self._open -= len(idle)
        return idle

    def _pop(self) -> Link | None:
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _wait(self) -> Link | None:
        """An idle connection as soon as there is one; nothing if one may be opened."""
        deadline = time.monotonic() + self._patience
        with self._changed:
            # Who gives one back looks at this after it is on the list, and we at the list after this.
            self._waiting += 1
            try:
                while (link := self._pop()) is None:
                    if self._open < self._size:
                        self._open += 1
                        return None
                    if not self._changed.wait(deadline - time.monotonic()):
                        raise StoreUnavailable(
                            f"all {self._size} connections stayed busy; nothing was written. Try "
                            f"again, or give the URL a larger pool="
                        )
            finally:
                self._waiting -= 1
        return link

    def _forget(self) -> None:
        with self._changed:
            self._open -= 1
            self._changed.notify()
