"""Plans inside a transaction of the caller's, on the caller's own connection to the database."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Any, Final, TypeVar

from oxmill.drivers.mysql.address import Place
from oxmill.drivers.mysql.caller_cursor import AsyncCallerCursor, CallerCursor
from oxmill.drivers.mysql.caller_session import UNDO, CallerSession
from oxmill.drivers.mysql.faults import Taken, code_of, is_conflict, translated
from oxmill.drivers.mysql.shortcut import Result
from oxmill.drivers.mysql.statements import statement
from oxmill.drivers.sql.script import perform_awaiting, perform_blocking
from oxmill.drivers.sql.steps import Overtaken, Rows, Statement
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
from oxmill.store.transport import Transport

T = TypeVar("T")

Script = Generator[bytes, Result, T]
"""Statements to send, each answered by its result."""

_BLOCKING: Final = frozenset({"pymysql", "MySQLdb"})
_ASYNC: Final = frozenset({"asyncmy"})
_UNFIT: Final = frozenset({"aiomysql", "mysql", "mariadb"})
_SAVE: Final = b"SAVEPOINT oxmill"
_KEEP: Final = b"RELEASE SAVEPOINT oxmill"
_TRIES: Final = 3
_IN_TRANSACTION: Final = 1
"""A bit of the status that the server sends with each answer."""
_MISSING: Final = frozenset({1046, 1146})
_NO_SAVEPOINT: Final = 1305


class MysqlBorrowing:
    """Takes connections of PyMySQL, mysqlclient and asyncmy.

    Every plan is in a savepoint. User variables that begin with `@oxmill_`, and what
    LAST_INSERT_ID() gives, are different afterwards; nothing else is. Nobody is woken by the
    commit: workers look by themselves.
    """

    def __init__(
        self, place: Place, clock: Callable[[], Micros] | None, transport: Transport
    ) -> None:
        self._place = place
        self._clock = clock
        self._transport = transport
        self._identity: Rows | None = None

    def knows(self, connection: Any) -> bool:
        """Whether it is a connection of a client library for MySQL or MariaDB."""
        return library_of(connection) in _BLOCKING | _ASYNC | _UNFIT

    def run(self, connection: Any, plan: Plan[T], *, ring: bool) -> T:  # noqa: ARG002 - cannot
        """Perform a plan in the open transaction and give its answer."""
        library = library_of(connection)
        if library not in _BLOCKING:
            raise _unfit(library)
        if self._identity is None:
            self._identity = self._transport.run(_IDENTITY)
        script = self._script(plan, sure=_sure(connection))
        try:
            return perform_blocking(script, CallerCursor(connection, library).send)
        except Exception as error:
            raise self._told(error) from error

    async def arun(self, connection: Any, plan: Plan[T], *, ring: bool) -> T:
        """The same on an async connection."""
        library = library_of(connection)
        if library in _BLOCKING:
            return self.run(connection, plan, ring=ring)
        if library not in _ASYNC:
            raise _unfit(library)
        if self._identity is None:
            self._identity = await self._transport.arun(_IDENTITY)
        script = self._script(plan, sure=_sure(connection))
        try:
            return await perform_awaiting(script, AsyncCallerCursor(connection, library).send)
        except Exception as error:
            raise self._told(error) from error

    # -- what is sent ------------------------------------------------------------------------------

    def _script(self, plan: Plan[T], *, sure: bool) -> Script[T]:
        yield from self._prove()
        yield _SAVE
        if not sure:
            yield from _see_savepoint()
        try:
            answer = yield from self._try(plan)
        except Exception:
            # A deadlock ends the whole transaction; then there is no savepoint to go back to.
            with suppress(Exception):
                yield UNDO
                yield _KEEP
            raise
        yield _KEEP
        return answer

    def _prove(self) -> Script[None]:
        """See that the store's own tables answer on this connection, and understand us."""
        try:
            rows = (yield statement("identity_here", {})).rows
        except Exception as error:
            if code_of(error) not in _MISSING:
                raise
            rows = []
        if [row[:1] for row in rows] != self._identity:
            raise OtherDatabase(
                f"this connection's current database is another one than {self._place.shown}, "
                f"which holds the jobs"
            )
        ((_, mode, charset),) = rows
        if "NO_BACKSLASH_ESCAPES" in mode:
            raise WrongConnection(
                "this connection's sql_mode has NO_BACKSLASH_ESCAPES; take it out to use the "
                "connection for jobs"
            )
        if charset != "utf8mb4":
            raise WrongConnection(
                f"this connection's character set is {charset}; connect with charset utf8mb4, or "
                f"execute SET NAMES utf8mb4, to use it for jobs"
            )

    def _try(self, plan: Plan[T]) -> Script[T]:
        for _ in range(_TRIES):
            try:
                return (yield from self._follow(plan))
            except (Overtaken, Taken):
                yield UNDO
        raise StoreUnavailable(
            f"{self._place.shown}: a job of the same id has come since your transaction began; "
            f"roll back, and start your transaction again"
        )

    def _follow(self, plan: Plan[T]) -> Script[T]:
        """Each statement by itself: few callers allow several in one packet."""
        talk = CallerSession(self._clock, plan).talk(plan)
        try:
            batch = next(talk)
            while True:
                results: list[Result] = []
                try:
                    for text in batch:
                        results += [(yield text)]
                except Taken as taken:
                    batch = talk.throw(taken)
                else:
                    batch = talk.send(results)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    def _told(self, error: Exception) -> Exception:
        if isinstance(error, OxmillError):
            return error
        if is_conflict(error):
            return StoreUnavailable(
                f"{self._place.shown}: {error}. Another transaction was in the way; roll back, and "
                f"start your transaction again"
            )
        if isinstance(error, UnicodeEncodeError) or code_of(error):
            return translated(error, self._place.shown)
        return error


def library_of(connection: Any) -> str:
    """The library that a connection is of."""
    roots = [kind.__module__.partition(".")[0] for kind in type(connection).__mro__]
    known = _BLOCKING | _ASYNC | _UNFIT
    return next((root for root in roots if root in known), roots[0])


def _sure(connection: Any) -> bool:
    """Whether a transaction is known to be open, or the server opens one with the first statement.
    `NoTransaction` if neither can be; mysqlclient does not tell."""
    if not connection.get_autocommit():
        return True
    status = getattr(connection, "server_status", None)
    if status is None:
        return False
    if not status & _IN_TRANSACTION:
        raise _none_open()
    return True


def _see_savepoint() -> Script[None]:
    """Outside of a transaction a savepoint is gone as soon as it is made."""
    try:
        yield UNDO
    except Exception as error:
        if code_of(error) != _NO_SAVEPOINT:
            raise
        raise _none_open() from None


def _none_open() -> NoTransaction:
    return NoTransaction(
        "this connection commits each statement, so the job could not be rolled back; call "
        "connection.begin() first, or enqueue without connection="
    )


def _unfit(library: str) -> Exception:
    if library in _ASYNC:
        return WrongContext(
            "an async connection cannot be used by a blocking call; use the async form, such as "
            "`await task.using(connection=...).aenqueue(...)`"
        )
    return WrongConnection(
        f"Oxmill cannot use connections of {library}; use PyMySQL, mysqlclient or asyncmy"
    )


def _read_identity() -> Steps[Rows]:
    return (yield from ask(Statement("identity")))


_IDENTITY: Final[Plan[Rows]] = Plan("identity", None, _read_identity, writes=False)
