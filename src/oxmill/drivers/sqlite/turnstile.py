"""Processes that write take turns before they ask SQLite for its lock.

SQLite's own wait is a sleep of growing length: with four busy processes one gets nearly all turns
and another waits for seconds (figures in docs/decisions). Here a waiter looks the more often the
longer it has waited, so everyone gets a turn. It also keeps every writer out while the log is
checkpointed.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

from oxmill.errors import StoreRefused, StoreUnavailable

try:
    import fcntl
except ImportError:  # pragma: no cover - no such locks on this system: SQLite's own must do
    fcntl = None  # type: ignore[assignment]

_PATIENCE: Final = ((0.005, 0.000_5), (0.02, 0.000_2))
"""Up to this many seconds of waiting, look after so many more."""
_SHORTEST: Final = 0.000_05
_AT_ONCE: Final = 0 if fcntl is None else fcntl.LOCK_EX | fcntl.LOCK_NB
_LET_GO: Final = 0 if fcntl is None else fcntl.LOCK_UN
_flock: Final = None if fcntl is None else fcntl.flock


class Turnstile:
    """Lets one writer through at a time, over all processes that use the file."""

    def __init__(self, lock_file: Path) -> None:
        self._path = lock_file
        self._handle: int | None = None
        self._entered = 0
        """How often one has entered and not left."""

    def enter(self, seconds: float) -> None:
        """Wait for one's turn, at most this long. Who is through may enter again."""
        if self._entered or _flock is None:
            self._entered += 1
            return
        handle = self._handle
        if handle is None:
            handle = self._opened()
        try:
            _flock(handle, _AT_ONCE)
        except BlockingIOError:
            self._wait(handle, seconds)
        self._entered = 1

    def _wait(self, handle: int, seconds: float) -> None:
        start = time.monotonic()
        waited = 0.0
        while _flock is not None:
            time.sleep(next((nap for limit, nap in _PATIENCE if waited < limit), _SHORTEST))
            try:
                _flock(handle, _AT_ONCE)
                return
            except BlockingIOError:
                waited = time.monotonic() - start
            if waited > seconds:
                raise StoreUnavailable(
                    f"another process has kept {self._path} locked for {waited:.0f} seconds; "
                    f"nothing was written. Look for a stopped process that has it open"
                )

    def leave(self) -> None:
        """Let the next one through, once one has left as often as one has entered."""
        self._entered = left = self._entered - 1
        if left < 1 and self._handle is not None and _flock is not None:
            _flock(self._handle, _LET_GO)

    def close(self) -> None:
        """Let go of the file."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    def _opened(self) -> int:
        if self._handle is None:
            try:
                self._handle = os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600)
            except OSError as error:
                raise StoreRefused(
                    f"{self._path} cannot be opened: {error}. This user needs to read and write "
                    f"it; it may be deleted while no process uses the database"
                ) from error
        return self._handle
