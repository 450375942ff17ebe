"""Job ids: UUIDs of version 7, as 32 hexadecimal digits."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from itertools import count
from os import getpid
from typing import Final

_DRAW: Final = 10
"""Random bytes per draw: two for the upper part, eight for the lower one."""
_DRAWS: Final = 64
_LOW_BITS: Final = (1 << 61) - 1
_VARIANT: Final = 1 << 63


class IdSource:
    """Makes ids that nobody else makes, each greater than the one before from the same source.

    The time comes first, so new rows land at the end of an index. Within a millisecond, and while
    the clock stands or goes back, the random part is counted on. Randomness is drawn in blocks; a
    forked child draws its own.
    """

    __slots__ = ("_clock", "_draws", "_lock", "_millis", "_pid", "_random", "_series")

    def __init__(
        self,
        clock: Callable[[], int] = time.time_ns,
        random: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self._clock = clock
        self._random = random
        self._draws: list[tuple[str, count[int]]] = []
        """Random parts for milliseconds to come: what follows the time, and what is counted."""
        self._millis = -1
        self._series = ("", count())
        self._start_over()

    def __call__(self) -> str:
        """A new id."""
        return self.new()

    def new(self) -> str:
        """The same: a method is called faster than an object."""
        if self._pid != getpid():
            self._start_over()
        clock = self._clock
        millis = clock() // 1_000_000
        if millis > self._millis:
            self._begin(millis)
        prefix, low = self._series
        # To count on is one step, whoever else does it. The variant makes these 16 digits.
        return prefix + hex(next(low))[2:]  # noqa: FURB116 - a third of the time

    def _begin(self, millis: int) -> None:
        """Take a random part for a new millisecond."""
        with self._lock:
            if millis > self._millis:
                high, low = (self._draws or self._drawn()).pop()
                self._series = f"{millis:012x}{high}", low
                self._millis = millis

    def _drawn(self) -> list[tuple[str, count[int]]]:
        """Draw a block of them. The lower part starts in its lower half, so it can be counted on for
        longer than anyone lives."""
        block = self._random(_DRAWS * _DRAW)
        for start in range(0, len(block), _DRAW):
            high = int.from_bytes(block[start : start + 2], "big") & 0xFFF
            low = int.from_bytes(block[start + 2 : start + _DRAW], "big") & _LOW_BITS
            self._draws.append((f"7{high:03x}", count(_VARIANT | low)))
        return self._draws

    def _start_over(self) -> None:
        # A lock copied by a fork may be held by a thread that is not there any more.
        self._lock = threading.Lock()
        self._draws = []
        self._millis = -1
        self._pid = getpid()
