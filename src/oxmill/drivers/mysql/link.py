"""One connection to the server, with every setting that our statements rely on."""

from __future__ import annotations

import select
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final, cast

from pymysql import err
from pymysql.connections import Connection
from pymysql.constants import CLIENT, COMMAND, CR, ER

from oxmill.drivers.mysql.address import Place
from oxmill.drivers.mysql.faults import Taken, is_taken
from oxmill.drivers.mysql.shortcut import Result
from oxmill.drivers.mysql.wire import Answer

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
_PIECE: Final = 65_536
_TOO_LARGE: Final = "the statement is larger than the server's max_allowed_packet"
_LONGEST: Final = 0xFFFFFF - 2
"""Bytes of statements that one packet of the protocol holds."""


def _packet(text: bytes) -> bytes:
    """Statements as they are sent."""
    return b"%b\0\x03%b" % ((len(text) + 1).to_bytes(3, "little"), text)


class Question:
    """A statement that is asked again and again, and what was answered last."""

    __slots__ = ("came", "packet", "results")

    def __init__(self, text: bytes) -> None:
        self.packet = _packet(text)
        self.came = b""
        self.results: list[Result] = []


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
        self._socket: Any = self._connection._sock  # noqa: SLF001 - see `wire`
        self._socket.settimeout(place.timeout)
        self._used = time.monotonic()
        self._most = 1 << 20
        self.before_error = 0
        """How many statements of a batch were done before one that the server has refused."""
        *_, (rows, _, _) = self.send(SETTINGS)
        self._most = int(rows[0][0]) - _SLACK

    @property
    def takes_blocks(self) -> bool:
        """Whether the server takes blocks of statements with loops: MariaDB does."""
        return "MariaDB" in self._connection.get_server_info()

    @property
    def stale(self) -> bool:
        """Whether the server has closed it while nobody used it."""
        if time.monotonic() - self._used < _FRESH:
            return False
        if self._socket.fileno() < 0:
            return True
        waiting = select.poll()
        waiting.register(self._socket, select.POLLIN)
        return bool(waiting.poll(0))

    def send(self, batch: Sequence[bytes]) -> list[Result]:
        """Run statements, in one round trip if they fit into one packet."""
        results: list[Result] = []
        for part in self._packets(batch):
            self._run(part, results)
        self._used = time.monotonic()
        return results

    def ask_again(self, question: Question) -> list[Result]:
        """Run one statement that is asked again and again and mostly has the same answer: what came
        back is compared before it is read."""
        self._say(question.packet)
        came = self._come()
        if came != question.came:
            pieces = [came]

            def come() -> bytes:
                pieces.append(self._come())
                return pieces[-1]

            question.results = Answer(come, came).results([])
            question.came = b"".join(pieces)
        self._used = time.monotonic()
        return question.results

    def _say(self, packet: bytes) -> None:
        try:
            self._socket.sendall(packet)
        except OSError as error:
            raise self._lost(str(error)) from error

    def _come(self) -> bytes:
        """What has come, at least something. Nothing is ever left over of an answer."""
        try:
            data: bytes = self._socket.recv(_PIECE)
        except OSError as error:
            raise self._lost(str(error)) from error
        if not data:
            raise self._lost("it was closed")
        return data

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
        text = b";".join(batch)
        try:
            if len(text) + 1 >= self._most + _SLACK:
                # The server says the same, and cuts the connection while we still speak: what it has
                # said would be lost as often as not.
                raise err.OperationalError(ER.NET_PACKET_TOO_LARGE, _TOO_LARGE)
            if len(text) <= _LONGEST:
                self._say(_packet(text))
            else:
                self._connection._execute_command(COMMAND.COM_QUERY, text)  # noqa: SLF001 - in parts
            Answer(self._come).results(results)
        except err.Error as error:
            self.before_error = len(results)
            if is_taken(error):
                raise Taken from error
            raise

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
