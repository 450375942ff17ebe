"""How connections to the database file are opened and set up."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from oxmill.drivers.sqlite.filesystem import is_mac
from oxmill.errors import StoreRefused

Mode = Literal["durable", "process", "volatile"]

OLDEST: Final = (3, 37, 0)
"""STRICT tables and RETURNING."""
WAL_RESET_FIXED: Final = (3, 51, 3)
"""Older ones may lose data when a checkpoint and a commit that restarts the log meet."""
_ALSO_FIXED: Final = {(3, 44): 6, (3, 50): 7}
"""Older branches to which the fix was carried, from this release on."""
SYNCHRONOUS: Final[dict[Mode, str]] = {"durable": "FULL", "process": "NORMAL", "volatile": "OFF"}
BUSY_SECONDS: Final = 5.0
LONGEST_LOG: Final = 16 * 1024 * 1024
"""A log longer than this is cut as soon as nobody needs it any more: a reader had held it."""


@dataclass(frozen=True, slots=True)
class Place:
    """The database file and how careful to be with it."""

    path: Path
    mode: Mode = "durable"
    version: tuple[int, int, int] = sqlite3.sqlite_version_info

    @property
    def tends_log(self) -> bool:
        """Whether checkpoints are ours to make, since SQLite's own are unsafe in this version."""
        *branch, release = self.version
        carried = _ALSO_FIXED.get((branch[0], branch[1]), release + 1)
        return self.version < WAL_RESET_FIXED and release < carried

    @property
    def lock(self) -> Path:
        """The file beside it by which writers take turns."""
        return self.path.with_name(self.path.name + "-lock")

    @property
    def log(self) -> Path:
        """The write-ahead log beside the file."""
        return self.path.with_name(self.path.name + "-wal")

    @property
    def index(self) -> Path:
        """The memory that all who use the log share."""
        return self.path.with_name(self.path.name + "-shm")


def refuse_old(version: tuple[int, int, int]) -> None:
    """Refuse a SQLite that lacks what the schema needs."""
    if version < OLDEST:
        have, need = (".".join(map(str, each)) for each in (version, OLDEST))
        raise StoreRefused(
            f"this Python is linked to SQLite {have}; Oxmill needs {need} or newer. "
            f"Use a newer Python build, or a server as the store"
        )


def connect(place: Place, *, reader: bool = False) -> sqlite3.Connection:
    """A connection that is set up and holds no lock.

    It may be used by any thread, by one at a time.
    """
    connection = sqlite3.connect(
        place.path,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
    )
    try:
        for pragma in _pragmas(place, reader=reader):
            connection.execute(f"PRAGMA {pragma}").fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


def _pragmas(place: Place, *, reader: bool) -> list[str]:
    pragmas = [
        f"synchronous = {SYNCHRONOUS[place.mode]}",
        f"cache_size = {-8_000 if reader else -32_000}",
        "mmap_size = 0",
        "temp_store = MEMORY",
        "trusted_schema = OFF",
        "cell_size_check = ON",
        "secure_delete = OFF",
    ]
    if place.tends_log:
        pragmas.append("wal_autocheckpoint = 0")
    else:  # SQLite begins the log anew by itself, and would leave it as long as it ever was
        pragmas.append(f"journal_size_limit = {LONGEST_LOG}")
    if is_mac():
        pragmas += ["fullfsync = ON", "checkpoint_fullfsync = ON"]
    if reader:
        pragmas.append("query_only = ON")
    return pragmas


def use_log(connection: sqlite3.Connection, place: Place) -> None:
    """Switch the file to write-ahead logging; it stays so."""
    (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    if mode == "wal":
        return
    # Only a file without tables takes this; it lets pages freed by pruning go back to the disk.
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL").fetchall()
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise StoreRefused(
            f"{place.path} stays in journal mode {mode}: its filesystem cannot share memory. "
            f"Put the file on a local disk"
        )
