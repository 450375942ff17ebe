"""One connection to the server, with every setting that our statements rely on."""

from __future__ import annotations

import select
import time
from collections.abc import Sequence
from typing import Any, Final

from pymysql.connections import Connection, MySQLResult
from pymysql.constants import CLIENT, FIELD_TYPE

from oxmill.drivers.mysql.address import Place
from oxmill.drivers.mysql.faults import Taken, is_taken
from oxmill.drivers.mysql.shortcut import Result

_SETTINGS: Final = (
    b"SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00', "
    b"innodb_lock_wait_timeout = 5, lock_wait_timeout = 10, autocommit = 1",
    b"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    b"SELECT @@max_allowed_packet",
)
_NAMES: Final = frozenset({FIELD_TYPE.VAR_STRING, FIELD_TYPE.STRING, FIELD_TYPE.VARCHAR})
_NUMBERS: Final = frozenset({FIELD_TYPE.DECIMAL, FIELD_TYPE.NEWDECIMAL})
_FRESH: Final = 0.1
"""Seconds for which a connection that has answered is taken to be alive without a look."""
_SLACK: Final = 1_024


class Link:
    """A connection, used by one thread at a time."""

    def __init__(self, place: Place) -> None:
        self._connection = _Connection(
            **place.options,
            charset="utf8mb4",
            autocommit=None,
            read_timeout=place.timeout,
            write_timeout=place.timeout,
            client_flag=CLIENT.MULTI_STATEMENTS | CLIENT.FOUND_ROWS,
        )
        self._used = time.monotonic()
        self._most = 1 << 20
        *_, (rows, _, _) = self.send(_SETTINGS)
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
            connection.query(b";".join(batch))
            while True:
                result = connection._result  # noqa: SLF001 - a cursor would copy every row
                results.append(
                    Result(result.rows or [], result.affected_rows or 0, result.insert_id or 0)
                )
                if not result.has_next:
                    return
                connection.next_result()
        except Exception as error:
            if is_taken(error):
                raise Taken from error
            raise

    def rollback(self) -> None:
        """Forget the open transaction."""
        self.send([b"ROLLBACK"])

    def close(self) -> None:
        """Let go of it, without a word if the server does not listen."""
        self._connection._force_close()  # noqa: SLF001 - a forked child must not say good-bye


class _Connection(Connection):  # type: ignore[misc]
    """Reads names, which are stored as bytes, as text."""

    def _read_query_result(self, unbuffered: bool = False) -> int:  # noqa: ARG002 - never
        self._result = None
        result = _Result(self)
        result.read()
        self._result = result
        if result.server_status is not None:
            self.server_status = result.server_status
        return int(result.affected_rows)


class _Result(MySQLResult):  # type: ignore[misc]
    def _get_descriptions(self) -> None:
        super()._get_descriptions()
        for place, column in enumerate(self.fields):
            encoding, converter = self.converters[place]
            self.converters[place] = _read_as(column.type_code, encoding, converter)


def _read_as(kind: int, encoding: str | None, converter: Any) -> tuple[str | None, Any]:
    if kind in _NAMES and encoding is None:
        return "utf-8", None
    if kind in _NUMBERS:  # sums, which are whole numbers here
        return "ascii", int
    return encoding, converter
