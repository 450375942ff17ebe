"""Who reads a database file right now: whoever keeps a snapshot open keeps the log from shrinking."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_LOCKS: Final = Path("/proc/locks")
_READING: Final = range(123, 128)
"""Bytes of the `-shm` file, one of which every connection locks while it reads a snapshot; see
"WAL-Index Locks" at sqlite.org/walformat.html."""


def readers(index: Path) -> list[str]:
    """The other processes that hold a snapshot, such as `sqlite3 (4711)`; none where the system does not
    tell."""
    try:
        inode, locks = index.stat().st_ino, _LOCKS.read_text(encoding="ascii", errors="replace")
    except OSError:
        return []
    others = sorted(set(holders(locks, inode)) - {os.getpid()})
    return [f"{_name(pid)} ({pid})" for pid in others]


def holders(locks: str, inode: int) -> Iterator[int]:
    """The processes that hold one of these bytes of a file, by the system's table of locks.

    A line is `1: POSIX  ADVISORY  READ 4711 fe:01:131 124 124`; who waits for a lock has `->` after
    the number.
    """
    for line in locks.splitlines():
        match line.split():
            case [_, "POSIX", _, _, pid, file, first, _] if file.endswith(f":{inode}"):
                if int(first) in _READING and int(pid) > 0:  # below 1: outside of this container
                    yield int(pid)


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:  # it has ended by now
        return "process"
