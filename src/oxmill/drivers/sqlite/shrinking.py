"""The file gives back to the disk what pruning has freed."""

from __future__ import annotations

import sqlite3
from typing import Final

_SPARE_PAGES: Final = 2_000
_PAGES_AT_ONCE: Final = 500


def give_back_pages(connection: sqlite3.Connection) -> None:
    """Let the file shrink, a little at a time, once a good part of it is free."""
    (free,) = connection.execute("PRAGMA freelist_count").fetchone()
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    if free > max(_SPARE_PAGES, pages // 4):
        # SQLite gives back one page per step, and the module takes one step of such a pragma.
        for _ in range(min(free, _PAGES_AT_ONCE)):
            connection.execute("PRAGMA incremental_vacuum(1)")
