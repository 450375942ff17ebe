"""Sends queries through libpq itself and reads their rows. The library's cursors do the same for twice the
CPU: they find out how to send each value, while our statements name the types of theirs.

No wait is without a bound: a server that falls silent is given up.
"""

from __future__ import annotations

import contextlib
import select
import time
from collections.abc import Sequence
from typing import Any, Final

import psycopg
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus, Format
from psycopg.pq.abc import PGresult

from oxmill.drivers.postgres.session import Query
from oxmill.drivers.postgres.values import packed
from oxmill.drivers.sql.steps import Rows

_BINARY: Final = Format.BINARY
_TOLD, _DONE, _SYNC = ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK, ExecStatus.PIPELINE_SYNC
_CALLED_OFF: Final = 5.0
"""Seconds that an interrupted query is given to end."""


class ServerSilent(psycopg.OperationalError):
    """The server did not answer in time."""


class Wire:
    """What is said on one connection. After an error that the server has not told, it is of no more use."""

    __slots__ = ("_connection", "_incoming", "_patience", "_pgconn", "_reader")

    def __init__(self, connection: psycopg.Connection[Any], patience: float) -> None:
        self._connection = connection
        self._pgconn = connection.pgconn
        self._patience = patience
        self._reader = Transformer(connection)
        self._incoming = select.poll()  # unlike select, it takes descriptors of any number
        self._incoming.register(self._pgconn.socket, select.POLLIN)

    def ask(self, query: Query) -> Rows:
        """Send a query and give all its rows."""
        self._put(query)
        return self._rows(self._answers(several=False)[0])

    def say(self, command: str) -> None:
        """Send a command that has no rows."""
        self._pgconn.send_query(command.encode())
        self._rows(self._answers(several=False)[0])

    def send(self, several: Sequence[str | Query]) -> list[Rows]:
        """Send commands and queries in one round trip, and give the rows of each. After one that fails
        none is performed."""
        pgconn = self._pgconn
        pgconn.enter_pipeline_mode()
        for each in several:
            if isinstance(each, Query):
                self._put(each)
            else:
                pgconn.send_query_params(each.encode(), None)
        pgconn.pipeline_sync()
        answers = self._answers(several=True)
        with contextlib.suppress(psycopg.Error):  # of a lost connection, the answers tell more
            pgconn.exit_pipeline_mode()
        return [self._rows(answer) for answer in answers]

    def _put(self, query: Query) -> None:
        # Nothing is prepared by name: the next statement may reach another session of a pooler.
        text = query.text
        values = packed(query.values, text.packers)
        self._pgconn.send_query_params(text.command, values, text.oids, text.formats, _BINARY)

    def _rows(self, answer: PGresult) -> Rows:
        status = answer.status
        if status == _DONE:
            return []
        if status != _TOLD:
            raise error_from_result(answer)
        reader = self._reader
        reader.set_pgresult(answer, format=_BINARY)
        found: Rows = reader.load_rows(0, answer.ntuples, tuple)
        reader.set_pgresult(None)  # a large one is not kept until the next
        return found

    def _answers(self, *, several: bool) -> list[PGresult]:
        """What the server says to all that was sent, once it has ended."""
        answers: list[PGresult] = []
        try:
            self._exchange(answers, time.monotonic() + self._patience, several)
        except psycopg.Error:
            # A server that ends a session says so first, and then nothing more.
            if not answers or answers[-1].status in (_TOLD, _DONE):
                raise
        except BaseException:
            self._call_off()
            raise
        if not answers:
            raise psycopg.OperationalError("the connection is lost")
        return answers

    def _exchange(self, answers: list[PGresult], deadline: float, several: bool) -> None:
        """Send what was put, and gather answers until there are no more."""
        pgconn = self._pgconn
        if pgconn.flush():
            self._push(deadline)
        ended = not several
        while True:
            while pgconn.is_busy():
                _wait(self._incoming, deadline)
                pgconn.consume_input()
            answer = pgconn.get_result()
            if answer is None:  # the end of one, and of all after the last
                if ended:
                    return
                ended = True
            elif answer.status == _SYNC:
                return
            else:
                answers.append(answer)
                ended = not several

    def _push(self, deadline: float) -> None:
        """Send what is too long for one go. The server may have to be heard before it takes more."""
        pgconn = self._pgconn
        both = select.poll()
        both.register(pgconn.socket, select.POLLIN | select.POLLOUT)
        while pgconn.flush():
            if _wait(both, deadline) & select.POLLIN:
                pgconn.consume_input()

    def _call_off(self) -> None:
        """Whoever waited was interrupted: leave nothing running in the server."""
        with contextlib.suppress(psycopg.Error):
            self._connection.cancel_safe(timeout=_CALLED_OFF)
            self._exchange([], time.monotonic() + _CALLED_OFF, several=False)


def _wait(poll: select.poll, deadline: float) -> int:
    """What can be done, once something can."""
    ready = poll.poll(max(0.0, deadline - time.monotonic()) * 1_000)
    if not ready:
        raise ServerSilent("the server does not answer")
    return ready[0][1]
