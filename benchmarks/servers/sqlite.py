"""A SQLite file; there is no server to start."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

SETTINGS = "WAL, synchronous=FULL"


@contextlib.contextmanager
def serve(folder: Path) -> Iterator[str]:
    """The URL of a file that is not there yet."""
    yield f"sqlite:///{folder / 'jobs.db'}"


def file_of(url: str) -> Path:
    """The file that a URL names."""
    return Path(url.removeprefix("sqlite:///"))


def come_to_rest(_: str) -> None:
    """Let what a new backlog has set off come to its end: the kernel writes it to the disk."""
    os.sync()


def stored_bytes(url: str) -> int:
    """The size of the file, its log put back into it."""
    path = file_of(url)
    if not path.exists():
        return 0
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.stat().st_size


def version() -> str:
    """The library of this Python."""
    return sqlite3.sqlite_version
