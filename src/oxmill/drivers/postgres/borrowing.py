"""Plans inside a transaction of the caller's, on the caller's own connection to the database.

What is to be sent is decided by one generator; blocking and async connections of several libraries
only send it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from contextlib import suppress
from functools import cache
from typing import Any, Final, TypeVar
from weakref import WeakSet

import psycopg

from oxmill.drivers.postgres.address import Address
from oxmill.drivers.postgres.caller_cursor import AsyncCallerCursor, CallerCursor
from oxmill.drivers.postgres.doorbell import hashed
from oxmill.drivers.postgres.faults import TAKEN, translated
from oxmill.drivers.postgres.session import Query, Volley, queries
from oxmill.drivers.postgres.statements import statement
from oxmill.drivers.postgres.values import sendable
from oxmill.drivers.sql.script import perform_awaiting, perform_blocking
from oxmill.drivers.sql.steps import Look, Overtaken, Rows, Statement
from oxmill.errors import (
    NoTransaction,
    OtherDatabase,
    OxmillError,
    StoreUnavailable,
    WrongConnection,
    WrongContext,
)
from oxmill.model.value import Micros
from oxmill.store.plan import Plan, Steps, ask
from oxmill.store.ringing import topics_after
from oxmill.store.transport import Transport

T = TypeVar("T")

Script = Generator[str | Query, Any, T]
"""Commands and queries to send, each answered by its rows."""

_LIBRARIES: Final = frozenset({"psycopg", "psycopg2", "asyncpg", "pg8000"})
_SAVE: Final = "SAVEPOINT oxmill"
_UNDO: Final = "ROLLBACK TO SAVEPOINT oxmill"
_KEEP: Final = "RELEASE SAVEPOINT oxmill"
_TRIES: Final = 5
_MOST: Final = 800
"""Topics in one notification; more of them ring for everybody."""
_MISSING: Final = frozenset({"42P01", "3F000"})
_CONTESTED: Final = frozenset({"40001", "40P01", TAKEN})
_JSON: Final = re.compile(r"(\$\d+)::json\b")


class PostgresBorrowing:
    """Takes connections of psycopg 3, blocking and async, and of asyncpg.

    Every plan is in a savepoint, so that one that fails does not take the caller's transaction with
    it. Listeners are told by a NOTIFY in the transaction, which the server delivers at its commit.
    """

    def __init__(
        self,
        address: Address,
        clock: Callable[[], Micros] | None,
        transport: Transport,
        channel: str | None,
    ) -> None:
        self._address = address
        self._clock = clock
        self._transport = transport
        self._channel = channel
        self._identity: Rows | None = None
        self._proven: WeakSet[Any] = WeakSet()

    def knows(self, connection: Any) -> bool:
        """Whether it is a connection of a client library for PostgreSQL."""
        return library_of(connection) in _LIBRARIES

    def run(self, connection: Any, plan: Plan[T], *, ring: bool) -> T:
        """Perform a plan in the open transaction and give its answer."""
        if not isinstance(connection, psycopg.Connection):
            raise self._unfit(connection)
        _see_psycopg(connection)
        if self._identity is None:
            self._identity = self._transport.run(_IDENTITY)
        script = self._script(connection, plan, ring=ring)
        with CallerCursor(connection) as cursor:
            return self._perform(script, cursor.ask)

    async def arun(self, connection: Any, plan: Plan[T], *, ring: bool) -> T:
        """The same on an async connection."""
        if isinstance(connection, psycopg.Connection):
            return self.run(connection, plan, ring=ring)
        if self._identity is None:
            self._identity = await self._transport.arun(_IDENTITY)
        script = self._script(connection, plan, ring=ring)
        if isinstance(connection, psycopg.AsyncConnection):
            _see_psycopg(connection)
            async with AsyncCallerCursor(connection) as cursor:
                return await self._aperform(script, cursor.ask)
        if library_of(connection) != "asyncpg":
            raise self._unfit(connection)
        _see_asyncpg(connection)
        return await self._aperform(script, AsyncpgCursor(connection).ask)

    # -- what is sent ------------------------------------------------------------------------------

    def _script(self, connection: Any, plan: Plan[T], *, ring: bool) -> Script[T]:
        yield _SAVE
        try:
            if connection not in self._proven:
                yield from self._prove()
                with suppress(TypeError):  # not every kind can be remembered
                    self._proven.add(connection)
            answer = yield from self._try(plan)
            if ring and self._channel is not None:
                yield from self._tell(topics_after(plan.request, answer))
        except Exception:
            # If not even this can be said, the first error is the one to tell.
            with suppress(Exception):
                yield _UNDO
                yield _KEEP
            raise
        yield _KEEP
        return answer

    def _prove(self) -> Script[None]:
        """See that the store's own tables answer on this connection."""
        try:
            rows = yield self._query("identity")
        except Exception as error:
            if state_of(error) not in _MISSING:
                raise
            rows = None
        if rows != self._identity:
            raise OtherDatabase(
                f"this connection leads to another database than {self._address.shown}, which "
                f"holds the jobs"
            )

    def _try(self, plan: Plan[T]) -> Script[T]:
        for _ in range(_TRIES):
            try:
                return (yield from self._follow(plan))
            except Overtaken:
                yield _UNDO
        raise StoreUnavailable(
            f"{self._address.shown}: others were faster each time; roll back, and try again"
        )

    def _follow(self, plan: Plan[T]) -> Script[T]:
        work = queries(plan, self._address.schema, self._clock)
        reply: Any = None
        while True:
            try:
                asked = work.send(reply)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            if isinstance(asked, Look):
                raise TypeError(f"{plan.name} cannot run on a caller's connection")
            if isinstance(asked, Volley):
                reply = []
                for query in asked.queries:
                    reply.append((yield query))
                continue
            try:
                reply = yield asked
            except Exception as error:
                if not asked.conflicts or state_of(error) != TAKEN:
                    raise
                yield _UNDO  # only an enqueue asks this, and before anything else
                reply = None

    def _tell(self, topics: set[str]) -> Script[None]:
        if topics:
            message = "".join(map(hashed, topics)) if len(topics) <= _MOST else "*"
            yield self._query("notify_at_commit", self._channel, message)

    def _query(self, name: str, *values: Any) -> Query:
        return Query(statement(self._address.schema, name), values)

    # -- sending -----------------------------------------------------------------------------------

    def _perform(self, script: Script[T], send: Callable[[str | Query], Rows]) -> T:
        try:
            return perform_blocking(script, send)
        except Exception as error:
            raise self._told(error) from error

    async def _aperform(self, script: Script[T], send: Callable[[str | Query], Any]) -> T:
        try:
            return await perform_awaiting(script, send)
        except Exception as error:
            raise self._told(error) from error

    # -- errors ------------------------------------------------------------------------------------

    def _told(self, error: Exception) -> Exception:
        if isinstance(error, OxmillError):
            return error
        state = state_of(error)
        if state in _CONTESTED:
            return StoreUnavailable(
                f"{self._address.shown}: {error}. Another transaction was in the way; roll back, "
                f"and start your transaction again"
            )
        if state is not None and not isinstance(error, psycopg.Error):
            error = psycopg.errors.lookup(state)(str(error))
        return translated(error, self._address.shown, writing=False)

    def _unfit(self, connection: Any) -> Exception:
        library = library_of(connection)
        if isinstance(connection, psycopg.AsyncConnection) or library == "asyncpg":
            return WrongContext(
                "an async connection cannot be used by a blocking call; use the async form, such "
                "as `await task.using(connection=...).aenqueue(...)`"
            )
        return WrongConnection(
            f"Oxmill cannot use connections of {library}; use psycopg 3 or asyncpg"
        )


class AsyncpgCursor:
    """Sends queries on an asyncpg connection."""

    __slots__ = ("_connection",)

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def ask(self, step: str | Query) -> Rows:
        """Send a command or a query, and give all its rows as tuples."""
        if isinstance(step, str):
            await self._connection.execute(step)
            return []
        text = step.text
        values = map(_for_array, step.values, text.types)
        rows = await self._connection.fetch(_for_asyncpg(text.sql), *values)
        return [tuple(row.values()) for row in rows]


def _for_array(value: Any, kind: str) -> Any:
    """A parameter as asyncpg takes it: an array is a list."""
    if value is None or not kind.endswith("[]"):
        return sendable((value,), (kind,))[0]
    if kind == "text[]":
        return [None if text is None else sendable((text,), ("text",))[0] for text in value]
    return list(value)


@cache
def _for_asyncpg(sql: str) -> str:
    """The caller may have given the connection a codec for JSON, so it travels as text."""
    return _JSON.sub(r"\1::text::json", sql)


def library_of(connection: Any) -> str:
    """The library that a connection is of."""
    roots = [kind.__module__.partition(".")[0] for kind in type(connection).__mro__]
    return next((root for root in roots if root in _LIBRARIES), roots[0])


def state_of(error: Exception) -> str | None:
    """The server's code for an error, whatever the library."""
    state: str | None = getattr(error, "sqlstate", None)
    return state


def _see_psycopg(connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> None:
    status = connection.info.transaction_status
    if status == psycopg.pq.TransactionStatus.INERROR:
        raise _failed()
    if status == psycopg.pq.TransactionStatus.IDLE and connection.autocommit:
        raise NoTransaction(
            "this psycopg connection commits each statement, so the job could not be rolled back; "
            "call this inside `with connection.transaction():`, or enqueue without connection="
        )
    _see_encoding(connection.info.parameter_status("client_encoding"))


def _see_asyncpg(connection: Any) -> None:
    if not connection.is_in_transaction():
        raise NoTransaction(
            "no transaction is open on this asyncpg connection, so the job could not be rolled "
            "back; call this inside `async with connection.transaction():`, or enqueue without "
            "connection="
        )
    _see_encoding(connection.get_settings().client_encoding)


def _see_encoding(name: str | None) -> None:
    if (name or "").upper().replace("-", "") != "UTF8":
        raise WrongConnection(
            f"this connection's client_encoding is {name}; set it to UTF8 to use it for jobs"
        )


def _failed() -> WrongConnection:
    return WrongConnection(
        "the transaction on this connection has failed, and the server takes nothing more in it; "
        "roll back first"
    )


def _identity(_: None) -> Steps[Rows]:
    return (yield from ask(Statement("identity")))


_IDENTITY: Final[Plan[Rows]] = Plan("identity", None, lambda: _identity(None), writes=False)
