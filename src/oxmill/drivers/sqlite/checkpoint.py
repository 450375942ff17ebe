"""Keeps the write-ahead log short where SQLite must not do it by itself.

Before 3.51.3 a checkpoint that runs while another connection commits can lose data (the WAL-reset
bug). So no connection checkpoints on its own, and this one does so only while every writer, of this
process and of others, is kept out by the turnstile.

The log is used again from its beginning rather than cut: a commit into a file that grows costs up
to half as much again as one into a file that does not.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from typing import Final

from oxmill.drivers.sqlite.connection import BUSY_SECONDS, LONGEST_LOG, Place
from oxmill.drivers.sqlite.snapshots import readers

_log = logging.getLogger("oxmill.sqlite")

LOG_BYTES: Final = 4 * 1024 * 1024
"""A log longer than this is worked into the database."""
_TOO_LONG: Final = LONGEST_LOG // LOG_BYTES
"""A log file so many times longer is cut, and if it cannot be, people are told."""
_HELD_BYTES: Final = 4 * LONGEST_LOG
_HELD_SECONDS: Final = 10.0
"""Where SQLite shortens the log by itself, one that is longer than this for so long is held by a reader:
a large transaction makes it grow, too, but not for long."""
_PATIENCE_MS: Final = 50
"""How long a checkpoint may wait for readers while writers wait for it."""
_PAUSE: Final = 1.0
"""Seconds between attempts while a reader stands in the way."""

# The layout of a log file is documented at sqlite.org/fileformat2.html: a header, then frames of a
# header and a page each. Frames written since the log was last begun bear the header's salt.
_HEADER, _HEADER_SALT = 32, 16
_FRAME_HEADER, _FRAME_SALT = 24, 8
_SALT_BYTES = 8


class Checkpointer:
    """Checkpoints when the log has grown long; at no other time."""

    def __init__(self, place: Place, log_bytes: int = LOG_BYTES) -> None:
        self.place = place
        self._log_bytes = log_bytes
        self._handle: int | None = None
        self._mark = 0
        self._not_before = 0.0
        self._long_since: float | None = None
        self._warned = False

    def watch(self, connection: sqlite3.Connection) -> None:
        """Look after the log of this connection, until `forget`."""
        if self.place.tends_log:
            (page,) = connection.execute("PRAGMA page_size").fetchone()
            frame = _FRAME_HEADER + page
            self._mark = _HEADER + self._log_bytes // frame * frame + _FRAME_SALT
        try:
            # No lock is ever held on this file, so closing it again takes none away.
            self._handle = os.open(self.place.log, os.O_RDONLY)
        except OSError as error:
            _log.warning("%s cannot be looked after: %s", self.place.log, error)

    def forget(self) -> None:
        """The connection is about to be closed."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    def due(self) -> bool:
        """Whether the log is too long. Costs two small reads, whoever wrote to it. Never where SQLite
        sees to it by itself; there people are only told if it cannot."""
        if self._handle is None:
            return False
        if not self._mark:
            self._look_on()
            return False
        newest = os.pread(self._handle, _SALT_BYTES, self._mark)
        return (
            len(newest) == _SALT_BYTES
            and newest == os.pread(self._handle, _SALT_BYTES, _HEADER_SALT)
            and time.monotonic() >= self._not_before
        )

    def checkpoint(self, connection: sqlite3.Connection) -> None:
        """Work the log into the database, so that the next commit begins it anew.

        The caller keeps all writers out. A reader that holds an old snapshot stands in the way;
        then as much as possible is done, and the next attempt is put off.
        """
        long = self._size() > _TOO_LONG * self._log_bytes
        connection.execute(f"PRAGMA busy_timeout = {_PATIENCE_MS}").fetchall()
        try:
            manner = "TRUNCATE" if long else "RESTART"
            ((busy, _, _),) = connection.execute(f"PRAGMA wal_checkpoint({manner})").fetchall()
        finally:
            connection.execute(f"PRAGMA busy_timeout = {round(BUSY_SECONDS * 1000)}").fetchall()
        if busy:
            self._not_before = time.monotonic() + _PAUSE
            if self._size() >= _TOO_LONG * self._log_bytes:
                self._warn()
        else:
            self._warned = False

    def _look_on(self) -> None:
        if self._size() < _HELD_BYTES:
            self._long_since, self._warned = None, False
        elif self._long_since is None:
            self._long_since = time.monotonic()
        elif time.monotonic() - self._long_since >= _HELD_SECONDS:
            self._warn()

    def _size(self) -> int:
        return 0 if self._handle is None else os.fstat(self._handle).st_size

    def _warn(self) -> None:
        """Once, until the log is short again: it is said in the log of every process that writes."""
        if self._warned:
            return
        self._warned = True
        size = self._size() / 2**20
        fields: dict[str, object] = {"database": str(self.place.path), "log_mib": round(size, 1)}
        if names := readers(self.place.index):
            fields["readers"] = names
        _log.warning(
            "%s has grown to %.0f MiB because a reader keeps an old snapshot open; end long reads "
            "of the database (a sqlite3 shell, an export, a backup) and it shrinks by itself",
            self.place.log,
            size,
            extra=fields,
        )
