"""One connection to the server, on which no wait is without a bound."""

from __future__ import annotations

import contextlib
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
_LOOK: Final = "SHOW statement_timeout"
_CALLED_OFF: Final = 1.0
"""Seconds for telling the server that something was given up."""


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

    __slots__ = ("bounds", "connection", "used", "wire")

    def __init__(self, connection: Connection, bounds: tuple[str, ...] = ()) -> None:
        self.connection = connection
        self.bounds = bounds
        """What each transaction has to begin with, so that the server bounds its waits; nothing if the session
        does."""
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

    def call_off(self) -> None:
        """What runs there was given up here: end it, unless the server does so by itself."""
        if self.bounds:
            with contextlib.suppress(psycopg.Error):
                self.connection.cancel_safe(timeout=_CALLED_OFF)

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


def _bounds(timeout: float) -> dict[str, str]:
    """How long the server waits: a little less than we do, so that it is the one to say what was in the way,
    and that nothing was written. A lock that somebody keeps is no reason to hold others for as long."""
    parts = {
        "lock_timeout": 750,
        "statement_timeout": 900,
        "idle_in_transaction_session_timeout": 1_000,
    }
    # In milliseconds; 0 would be no bound.
    return {name: f"{max(1, round(timeout * part))}" for name, part in parts.items()}


def _with_settings(way: Mapping[str, Any], timeout: float) -> dict[str, Any]:
    """Our tables go from empty to millions and back faster than statistics follow, and every statement
    has its index: the planner is not to think of anything else, nor to compile short queries."""
    settings = {
        "jit": "off",
        "enable_seqscan": "off",
        "enable_bitmapscan": "off",
        "enable_hashjoin": "off",
        "enable_mergejoin": "off",
        **_bounds(timeout),
    }
    options = " ".join(f"-c {name}={value}" for name, value in settings.items())
    return {**way, "options": f"{options} {way.get('options', '')}"}


def open_link(address: Address, *, listening: bool = False) -> Link:
    """A new connection that commits each statement unless told otherwise."""
    way = address.listening if listening else address.conninfo
    try:
        connection = _connect(_with_settings(way, address.timeout))
        refused = False
    except psycopg.OperationalError as error:
        # Poolers may refuse settings at the start: then each transaction sets its bounds itself, what was
        # given up is cancelled, and of the rest only speed is lost.
        if "startup" not in str(error):
            raise
        connection = _connect(way)
        refused = True
    connection.patience = address.timeout
    link = Link(connection)
    # Or they ignore them without a word.
    if refused or link.send((_LOOK,))[0][0][0] == "0":
        words = (f"set_config('{n}', '{v}', true)" for n, v in _bounds(address.timeout).items())
        link.bounds = (f"SELECT {', '.join(words)}",)
    return link
