"""One connection to the server, with every setting that our statements rely on."""

from __future__ import annotations

import select
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final, cast

from pymysql import err
from pymysql.connections import Connection
from pymysql.constants import CLIENT, COMMAND, CR

from oxmill.drivers.mysql.address import Place
from oxmill.drivers.mysql.faults import Taken, is_taken
from oxmill.drivers.mysql.shortcut import Result
from oxmill.drivers.mysql.wire import read_results

SETTINGS: Final = (
    b"SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00'",
    b"SET SESSION innodb_lock_wait_timeout = 5, lock_wait_timeout = 10, autocommit = 1",
    b"SET SESSION group_concat_max_len = 1048576",
    b"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    b"SELECT @@max_allowed_packet",
)
_FRESH: Final = 0.1
"""Seconds for which a connection that has answered is taken to be alive without a look."""
_SLACK: Final = 1_024


class Link:
    """A connection, used by one thread at a time."""

    def __init__(self, place: Place) -> None:
        # Its private parts are used: it cannot send a batch and hand over what comes back as it is.
        self._connection: Any = cast(
            "Any",
            Connection(
                **place.options,
                charset="utf8mb4",
                autocommit=None,
                read_timeout=place.timeout,
                write_timeout=place.timeout,
                client_flag=CLIENT.MULTI_STATEMENTS | CLIENT.FOUND_ROWS,
            ),
        )
        self._file: Any = self._connection._rfile  # noqa: SLF001 - see `wire`
        self._used = time.monotonic()
        self._most = 1 << 20
        *_, (rows, _, _) = self.send(SETTINGS)
        self._most = int(rows[0][0]) - _SLACK

    @property
    def stale(self) -> bool:
        """Whether the server has closed it while nobody used it."""
        if time.monotonic() - self._used < _FRESH:
            return False
        socket = self._connection._sock  # noqa: SLF001 - the library offers no look at it
        return socket is None or bool(select.select([socket], [], [], 0)[0])

    def send(self, batch: Sequence[bytes]) -> list[Result]:
        """Run statements, in one round trip if they fit into one packet."""
        results: list[Result] = []
        for part in self._packets(batch):
            self._run(part, results)
        self._used = time.monotonic()
        return results

    def _packets(self, batch: Sequence[bytes]) -> list[Sequence[bytes]]:
        if sum(map(len, batch)) + len(batch) <= self._most:
            return [batch]
        packets: list[Sequence[bytes]] = []
        part: list[bytes] = []
        size = 0
        for text in batch:
            if part and size + len(text) > self._most:
                packets.append(part)
                part, size = [], 0
            part.append(text)
            size += len(text) + 1
        return [*packets, part]

    def _run(self, batch: Sequence[bytes], results: list[Result]) -> None:
        connection = self._connection
        try:
            connection._execute_command(COMMAND.COM_QUERY, b";".join(batch))  # noqa: SLF001
            results += read_results(self._read)
        except err.Error as error:
            if is_taken(error):
                raise Taken from error
            raise

    def _read(self, length: int) -> bytes:
        try:
            data: bytes = self._file.read(length)
        except OSError as error:
            raise self._lost(str(error)) from error
        if len(data) < length:
            raise self._lost("it was closed")
        return data

    def _lost(self, reason: str) -> err.OperationalError:
        self.close()
        return err.OperationalError(CR.CR_SERVER_LOST, f"the connection was lost: {reason}")

    def rollback(self) -> None:
        """Forget the open transaction."""
        self.send([b"ROLLBACK"])

    def leave(self) -> None:
        """Say good-bye and let go of it."""
        with suppress(err.Error, OSError):
            self._connection.close()

    def close(self) -> None:
        """Let go of it without a word: it is broken, or it belongs to the parent process."""
        self._connection._force_close()  # noqa: SLF001 - see above
