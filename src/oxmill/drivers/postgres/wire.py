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
    """What is said on one connection, one round trip after the other. After an error that the server has
    not told, it is of no more use.

    `send` waits for the answers. Who has something else to do meanwhile calls `put` and `push`, then `hear`
    whenever something has arrived, until that says that all is there, then `rows`.
    """

    __slots__ = (
        *("_answers", "_connection", "_ended", "_incoming", "_patience", "_pgconn", "_reader"),
        "_several",
    )

    def __init__(self, connection: psycopg.Connection[Any], patience: float) -> None:
        self._connection = connection
        self._pgconn = connection.pgconn
        self._patience = patience
        self._reader = Transformer(connection)
        self._incoming = select.poll()  # unlike select, it takes descriptors of any number
        self._incoming.register(self._pgconn.socket, select.POLLIN)
        self._several = False
        self._ended = False
        """Whether the answer to what was asked last has ended."""
        self._answers: list[PGresult] = []

    def send(self, several: Sequence[str | Query]) -> list[Rows]:
        """Send commands and queries in one round trip, and give the rows of each. After one that fails
        none is performed."""
        self.put(several)
        return self.wait()

    def wait(self) -> list[Rows]:
        """Send the rest of what was put, and give the rows of each once they are there."""
        deadline = time.monotonic() + self._patience
        try:
            if self.push():
                self._push(deadline)
            self._wait_for_all(deadline)
        except psycopg.Error as error:
            self.cut_off(error)
        except BaseException:
            self._call_off()
            raise
        return self.rows()

    def put(self, several: Sequence[str | Query]) -> None:
        """Make them ready to be sent."""
        pgconn = self._pgconn
        self._several = len(several) > 1
        self._ended, self._answers = not self._several, []
        if self._several:
            pgconn.enter_pipeline_mode()
        for each in several:
            if isinstance(each, Query):
                # Nothing is prepared by name: the next statement may reach another session of a pooler.
                text = each.text
                values = packed(each.values, text.packers)
                pgconn.send_query_params(text.command, values, text.oids, text.formats, _BINARY)
            elif self._several:
                pgconn.send_query_params(each.encode(), None)
            else:
                pgconn.send_query(each.encode())
        if self._several:
            pgconn.pipeline_sync()

    def push(self) -> bool:
        """Send what was put, as far as it fits in one go; whether something is left. The server may have to
        be heard before it takes all of it."""
        return bool(self._pgconn.flush())

    def hear(self) -> bool:
        """Take in what has arrived; whether the answers to all that was sent are there."""
        self._pgconn.consume_input()
        return self._all_there()

    @property
    def arrived(self) -> bool:
        """Whether there is something to hear."""
        return bool(self._incoming.poll(0))

    def rows(self) -> list[Rows]:
        """The rows of each answer, or the error that one of them is."""
        answers, self._answers = self._answers, []
        if self._several:
            with contextlib.suppress(psycopg.Error):  # of a lost connection, the answers tell more
                self._pgconn.exit_pipeline_mode()
        if not answers:
            raise psycopg.OperationalError("the connection is lost")
        return [self._rows(answer) for answer in answers]

    def cut_off(self, error: psycopg.Error) -> None:
        """No more will be heard. A server that ends a session says so first, and then nothing more: then
        that is what `rows` raises, else the error is raised here."""
        if not self._answers or self._answers[-1].status in (_TOLD, _DONE):
            raise error

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

    def _wait_for_all(self, deadline: float) -> None:
        while not self._all_there():
            _wait(self._incoming, deadline)
            self._pgconn.consume_input()

    def _all_there(self) -> bool:
        """Gather the answers that have arrived."""
        pgconn = self._pgconn
        while not pgconn.is_busy():
            answer = pgconn.get_result()
            if answer is None:  # the end of one, and of all after the last
                if self._ended:
                    return True
                self._ended = True
            elif answer.status == _SYNC:
                return True
            else:
                self._answers.append(answer)
                self._ended = not self._several
        return False

    def _push(self, deadline: float) -> None:
        """Send what is too long for one go."""
        both = select.poll()
        both.register(self._pgconn.socket, select.POLLIN | select.POLLOUT)
        while self.push():
            if _wait(both, deadline) & select.POLLIN:
                self._pgconn.consume_input()

    def _call_off(self) -> None:
        """Whoever waited was interrupted: leave nothing running in the server."""
        with contextlib.suppress(psycopg.Error):
            self._connection.cancel_safe(timeout=_CALLED_OFF)
            self._several, self._ended, self._answers = False, True, []
            self._wait_for_all(time.monotonic() + _CALLED_OFF)


def _wait(poll: select.poll, deadline: float) -> int:
    """What can be done, once something can."""
    ready = poll.poll(max(0.0, deadline - time.monotonic()) * 1_000)
    if not ready:
        raise ServerSilent("the server does not answer")
    return ready[0][1]
