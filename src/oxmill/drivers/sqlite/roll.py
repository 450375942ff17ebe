"""Tells whether anyone has begun to listen, without asking the system.

Every enqueue wants to know who is to be nudged. The bytes that say whether that has changed lie in
the file that writers take turns by, and every process has them in its memory.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from typing import Final

BYTES: Final = 8
UNKNOWN: Final = b""
"""Never the same as what was seen before."""


class Roll:
    """A few bytes beside the database, different after each call of `turn` by anyone."""

    def __init__(self, lock_file: Path) -> None:
        self._path = lock_file
        self.bytes: mmap.mmap | None = None
        """Those bytes, and others, once they were asked for."""

    def mark(self) -> bytes:
        """What the bytes are; `UNKNOWN` if they cannot be had."""
        there = self.bytes
        if there is None:
            there = self._mapped()
        return UNKNOWN if there is None else there[:BYTES]

    def turn(self) -> None:
        """Have everybody see that something has changed."""
        there = self.bytes or self._mapped()
        if there is not None:
            there[:BYTES] = os.urandom(BYTES)

    def close(self) -> None:
        """Let go of the memory."""
        there, self.bytes = self.bytes, None
        if there is not None:
            there.close()

    def _mapped(self) -> mmap.mmap | None:
        try:
            handle = os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600)
            try:
                if os.fstat(handle).st_size < BYTES:
                    os.ftruncate(handle, BYTES)
                self.bytes = mmap.mmap(handle, BYTES)
            finally:
                # Locks made with flock belong to their own handle: closing this one frees none.
                os.close(handle)
        except (OSError, ValueError):
            return None
        return self.bytes
