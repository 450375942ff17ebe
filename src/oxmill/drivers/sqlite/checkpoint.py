"""Keeps the write-ahead log short where SQLite must not do it by itself.

Before 3.51.3 a checkpoint that runs while another connection commits can lose data (the WAL-reset
bug). So no connection checkpoints on its own, and this one does so only while every writer, of this
process and of others, is kept out by the turnstile.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from typing import Final

from oxmill.drivers.sqlite.connection import BUSY_SECONDS, Place

_log = logging.getLogger("oxmill.sqlite")

LOG_BYTES: Final = 16 * 1024 * 1024
"""A log longer than this is worked into the database."""
_PATIENCE_MS: Final = 50
"""How long a checkpoint may wait for readers while writers wait for it."""
_PAUSE: Final = 1.0
"""Seconds between attempts while a reader stands in the way."""
_WARN_AT: Final = 4
"""Tell people once the log is this many times too long."""


class Checkpointer:
    """Checkpoints when the log has grown long; at no other time."""

    def __init__(self, place: Place, log_bytes: int = LOG_BYTES) -> None:
        self.place = place
        self._log_bytes = log_bytes
        self._wal = os.fspath(place.log)
        self._not_before = 0.0
        self._warned_at = 0

    def due(self) -> bool:
        """Whether the log is too long."""
        if not self.place.tends_log:
            return False
        try:
            size = os.stat(self._wal).st_size  # noqa: PTH116 - half the price on a hot path
        except OSError:
            return False
        if size < self._log_bytes:
            self._warned_at = 0
            return False
        return time.monotonic() >= self._not_before

    def checkpoint(self, connection: sqlite3.Connection) -> bool:
        """Work the log into the database and cut it to nothing; whether that was possible.

        The caller keeps all writers out. A reader that holds an old snapshot stands in the way;
        then as much as possible is done, and the next attempt is put off.
        """
        connection.execute(f"PRAGMA busy_timeout = {_PATIENCE_MS}").fetchall()
        try:
            rows = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            connection.execute(f"PRAGMA busy_timeout = {round(BUSY_SECONDS * 1000)}").fetchall()
        if not rows[0][0]:
            return True
        self._not_before = time.monotonic() + _PAUSE
        self._warn()
        return False

    def _warn(self) -> None:
        size = self.place.log.stat().st_size
        if size < _WARN_AT * self._log_bytes or size < 2 * self._warned_at:
            return
        self._warned_at = size
        _log.warning(
            "%s has grown to %d MiB because a reader keeps an old snapshot open; end long reads "
            "of the database (a sqlite3 shell, an export, a backup) and it shrinks by itself",
            self._wal,
            size // (1024 * 1024),
        )
