"""The connections of one process: as many as are used at once, up to a bound."""

from __future__ import annotations

import os
import threading

from oxmill.drivers.mysql.address import Place
from oxmill.drivers.mysql.link import Link
from oxmill.errors import StoreUnavailable


class Pool:
    """Hands out connections, the one used last first. A forked child starts with none."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._reset()

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._turn = threading.Condition()
        self._idle: list[Link] = []
        self._out = 0
        self._queued = 0
        """How many wait for their turn."""

    def take(self) -> tuple[Link, bool]:
        """A connection that nobody else uses, and whether it was used before."""
        if os.getpid() != self._pid:  # the parent's connections are not ours to use or to close
            self._reset()
        with self._turn:
            if self._out >= self._place.pool:
                self._wait()
            self._out += 1
            link = self._idle.pop() if self._idle else None
        if link is not None:
            if not link.stale:
                return link, True
            link.close()
        try:
            return Link(self._place), False
        except BaseException:
            self._leave()
            raise

    def _wait(self) -> None:
        self._queued += 1
        try:
            came = self._turn.wait_for(self._has_room, self._place.timeout)
        finally:
            self._queued -= 1
        if not came:
            raise StoreUnavailable(
                f"{self._place.shown}: all {self._place.pool} connections of this process were "
                f"busy for {self._place.timeout:g} s; nothing was written. Try again, or raise "
                f"pool= in the URL"
            )

    def _has_room(self) -> bool:
        return self._out < self._place.pool

    def give_back(self, link: Link) -> None:
        """It is in order, and free."""
        with self._turn:
            self._idle.append(link)
            self._out -= 1
            if self._queued:
                self._turn.notify()

    def discard(self, link: Link) -> None:
        """It is not in order."""
        link.close()
        self._leave()

    def _leave(self) -> None:
        with self._turn:
            self._out -= 1
            if self._queued:
                self._turn.notify()

    def close(self) -> None:
        """Close what is free."""
        with self._turn:
            idle, self._idle = self._idle, []
        for link in idle:
            if os.getpid() == self._pid:
                link.leave()
