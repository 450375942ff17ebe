"""Plans inside a transaction of the caller's, on the caller's own connection to the file."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

from oxmill.drivers.sqlite.connection import Place
from oxmill.drivers.sqlite.faults import translated, unstorable
from oxmill.drivers.sqlite.migrating import schema_of
from oxmill.drivers.sqlite.session import perform
from oxmill.errors import (
    NoTransaction,
    OtherDatabase,
    SchemaMismatch,
    StoreError,
    WrongConnection,
    WrongContext,
)
from oxmill.model.value import Micros
from oxmill.store.plan import Plan

T = TypeVar("T")


class SqliteBorrowing:
    """Takes connections of `sqlite3` and of `aiosqlite`.

    The doorbell does not ring for them: nobody is told of the commit. Who waits in another process
    looks by itself in any case, and the queue layer rings where it learns of the commit.
    """

    def __init__(
        self, place: Place, clock: Callable[[], Micros], install: Callable[[], None]
    ) -> None:
        self._place = place
        self._clock = clock
        self._install = install
        self._installed = False

    def knows(self, connection: Any) -> bool:
        """Whether it is a connection to some SQLite database."""
        return isinstance(connection, sqlite3.Connection) or _is_aiosqlite(connection)

    def run(self, connection: Any, plan: Plan[T], *, ring: bool) -> T:  # noqa: ARG002 - cannot
        """Perform a plan in the open transaction and give its answer."""
        if not isinstance(connection, sqlite3.Connection):
            raise WrongContext(
                "an aiosqlite connection cannot be used by a blocking call; use the async form, "
                "such as `await task.using(connection=...).aenqueue(...)`"
            )
        return self._perform(connection, plan)

    async def arun(self, connection: Any, plan: Plan[T], *, ring: bool) -> T:
        """The same; on an aiosqlite connection in its own thread, in one go."""
        if isinstance(connection, sqlite3.Connection):
            return self.run(connection, plan, ring=ring)
        execute = getattr(connection, "_execute", None)
        inner = getattr(connection, "_conn", None)
        if execute is None or not isinstance(inner, sqlite3.Connection):
            raise WrongConnection(
                "this version of aiosqlite is not known to Oxmill; use 0.17 to 0.22, or a sqlite3 "
                "connection"
            )
        return cast("T", await execute(partial(self._perform, inner, plan)))

    def _perform(self, connection: sqlite3.Connection, plan: Plan[T]) -> T:
        path = str(self._place.path)
        with _as_text(connection):
            plain = Plain(connection)
            try:
                self._prove(plain)
                with _transaction(connection, plain), _all_or_nothing(plain):
                    return perform(cast("sqlite3.Connection", plain), self._clock, plan)
            except sqlite3.Error as error:
                raise translated(error, path) from error
            except (UnicodeEncodeError, OverflowError) as error:
                raise unstorable(error) from error

    def _prove(self, plain: Plain) -> None:
        """See that this connection's main database is our file, with our tables in it."""
        files = {name: file for _, name, file in plain.execute("PRAGMA database_list").fetchall()}
        if not _same_file(files.get("main"), self._place.path):
            raise OtherDatabase(
                f"this connection leads to {files.get('main') or 'a database in memory'}, but the "
                f"jobs are in {self._place.path}"
            )
        if not self._installed:
            self._see_tables(plain)
            self._installed = True
        if self._place.tends_log:
            # In these versions of SQLite a checkpoint by this connection could lose what others
            # commit meanwhile (decision 10). Oxmill's own writers make them.
            plain.execute("PRAGMA wal_autocheckpoint = 0").fetchall()

    def _see_tables(self, plain: Plain) -> None:
        try:
            if schema_of(cast("sqlite3.Connection", plain)).pending:
                self._install()
        except StoreError as error:
            raise SchemaMismatch(
                f"the tables of {self._place.path} are missing or old and cannot be made beside "
                f"your open transaction ({error}); run `oxmill db migrate` first, or use the app "
                f"once before the transaction begins"
            ) from error


class Plain:
    """The connection as our statements need it: rows are tuples, whatever the caller has set."""

    __slots__ = ("_connection",)

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def cursor(self) -> sqlite3.Cursor:
        """A cursor made in this way takes nothing over from the connection."""
        return sqlite3.Cursor(self._connection)

    def execute(self, text: str, parameters: Any = ()) -> sqlite3.Cursor:
        """Run one statement."""
        return self.cursor().execute(text, parameters)


@contextmanager
def _as_text(connection: sqlite3.Connection) -> Iterator[None]:
    """Read text as `str` meanwhile: this setting cannot be had for one cursor alone."""
    before, connection.text_factory = connection.text_factory, str
    try:
        yield
    finally:
        connection.text_factory = before


@contextmanager
def _transaction(connection: sqlite3.Connection, plain: Plain) -> Iterator[None]:
    """See that a transaction is open; begin one where the module itself would at the first write.
    One that reads first and writes later could be refused in between, so it is begun as a writer.
    """
    if connection.in_transaction:
        yield
        return
    # Since Python 3.12 `autocommit` decides, unless it is left at -1.
    if connection.isolation_level is None or getattr(connection, "autocommit", -1) is True:
        raise NoTransaction(
            "this sqlite3 connection commits each statement, so the job could not be rolled back; "
            "execute BEGIN IMMEDIATE first, or enqueue without connection="
        )
    plain.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        with suppress(sqlite3.Error):
            plain.execute("ROLLBACK")
        raise


@contextmanager
def _all_or_nothing(plain: Plain) -> Iterator[None]:
    plain.execute("SAVEPOINT oxmill")
    try:
        yield
    except BaseException:
        # Some errors end the whole transaction by themselves, and then there is no savepoint.
        with suppress(sqlite3.Error):
            plain.execute("ROLLBACK TO oxmill")
            plain.execute("RELEASE oxmill")
        raise
    plain.execute("RELEASE oxmill")


def _is_aiosqlite(connection: Any) -> bool:
    return any(kind.__module__.startswith("aiosqlite.") for kind in type(connection).__mro__)


def _same_file(file: str | None, path: Path) -> bool:
    if not file:
        return False
    try:
        return Path(file).samefile(path)
    except OSError:  # not there yet: both are made at the first write
        return Path(file).resolve() == path.resolve()
