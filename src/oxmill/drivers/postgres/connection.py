"""One connection to the server, on which no wait is without a bound."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Generator, Mapping, Sequence
from typing import Any, Final

import psycopg
from psycopg import RawCursor
from psycopg.pq import TransactionStatus

from oxmill.drivers.postgres.address import Address
from oxmill.drivers.postgres.session import Query
from oxmill.drivers.postgres.values import Taught
from oxmill.drivers.postgres.wire import ServerSilent, Wire
from oxmill.drivers.sql.steps import Rows

_TAUGHT: Final = Taught()


class Connection(psycopg.Connection[Any]):
    """Every query is given up after `patience` seconds."""

    patience: float = 30.0

    def wait(self, gen: Generator[Any, Any, Any], *args: Any, **options: Any) -> Any:
        """Consume a generator of the library's, up to a deadline."""
        return super().wait(_bounded(gen, time.monotonic() + self.patience), *args, **options)


def _bounded(gen: Generator[Any, Any, Any], deadline: float) -> Generator[Any, Any, Any]:
    ready = None
    while True:
        try:
            wanted = gen.send(ready)
        except StopIteration as end:
            return end.value
        ready = yield wanted
        if not ready and time.monotonic() > deadline:
            raise ServerSilent("the server does not answer")


class Link:
    """A connection with what we know about it."""

    __slots__ = ("connection", "used", "wire")

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.wire = Wire(connection, connection.patience)
        self.used = time.monotonic()

    def ask(self, query: Query) -> Rows:
        """Send a query and give all its rows."""
        return self.wire.send((query,))[0]

    def say(self, command: str) -> None:
        """Send a command that has no rows."""
        self.wire.send((command,))

    def send(self, several: Sequence[str | Query]) -> list[Rows]:
        """Send commands and queries in one round trip, and give the rows of each. After one that fails
        none is performed."""
        return self.wire.send(several)

    @property
    def idle(self) -> bool:
        """Whether no transaction is open and no query under way."""
        return self.connection.pgconn.transaction_status == TransactionStatus.IDLE

    @property
    def alive(self) -> bool:
        """Whether nothing speaks against using it: an idle server has nothing to say, so what can
        be read is the end."""
        connection = self.connection
        if connection.closed:
            return False
        poll = select.poll()
        poll.register(connection.fileno(), select.POLLIN)
        return not poll.poll(0)

    def close(self) -> None:
        """Let go of it."""
        self.connection.close()

    def abandon(self) -> None:
        """In a child process: leave the parent's session alone, also when this is collected."""
        socket = self.connection.pgconn.socket
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, socket)
        os.close(nowhere)


def _connect(way: Mapping[str, Any]) -> Connection:
    return Connection.connect(
        **way,
        autocommit=True,
        prepare_threshold=None,
        cursor_factory=RawCursor,
        context=_TAUGHT,
    )


def _with_settings(way: Mapping[str, Any], timeout: float) -> dict[str, Any]:
    """Our tables go from empty to millions and back faster than statistics follow, and every statement
    has its index: the planner is not to think of anything else, nor to compile short queries. What
    we have given up, the server may give up too."""
    settings = {
        "jit": "off",
        "enable_seqscan": "off",
        "enable_bitmapscan": "off",
        "enable_hashjoin": "off",
        "enable_mergejoin": "off",
        "statement_timeout": f"{timeout * 1000:.0f}",
        "idle_in_transaction_session_timeout": f"{timeout * 1000:.0f}",
    }
    options = " ".join(f"-c {name}={value}" for name, value in settings.items())
    return {**way, "options": f"{options} {way.get('options', '')}"}


def open_link(address: Address, *, listening: bool = False) -> Link:
    """A new connection that commits each statement unless told otherwise."""
    way = address.listening if listening else address.conninfo
    try:
        connection = _connect(_with_settings(way, address.timeout))
    except psycopg.OperationalError as error:
        # Poolers may refuse settings at the start; without them only speed is lost.
        if "startup" not in str(error):
            raise
        connection = _connect(way)
    connection.patience = address.timeout
    return Link(connection)
