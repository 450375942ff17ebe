"""Cursors on psycopg connections of the caller's, that none of the caller's settings reach."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Final, Self

from psycopg import AsyncConnection, AsyncRawCursor, Connection, RawCursor
from psycopg.rows import tuple_row
from psycopg.types import numeric, string

from oxmill.drivers.postgres.session import Query
from oxmill.drivers.postgres.values import sendable, teach
from oxmill.drivers.sql.steps import Rows

_DUMPERS: Final = (
    (str, string.StrBinaryDumper),
    (str, string.StrDumper),
    (bytes, string.BytesDumper),
    (bytes, string.BytesBinaryDumper),
    (int, numeric.IntDumper),
    (int, numeric.IntBinaryDumper),
)
_LOADERS: Final = (
    ("text", string.TextBinaryLoader),
    ("bytea", string.ByteaBinaryLoader),
    ("int8", numeric.Int8BinaryLoader),
    ("int4", numeric.Int4BinaryLoader),
    ("numeric", numeric.NumericBinaryLoader),
)


class CallerCursor:
    """Asks on a blocking connection."""

    def __init__(self, connection: Connection[Any]) -> None:
        self._cursor = RawCursor(connection, row_factory=tuple_row)
        _prepare(self._cursor)

    def ask(self, step: str | Query) -> Rows:
        """Send a command or a query, and give all its rows."""
        cursor = self._cursor
        if isinstance(step, str):
            cursor.execute(step.encode(), prepare=False)
            return []
        text = step.text
        cursor.execute(
            text.sql.encode(), sendable(step.values, text.types), prepare=False, binary=True
        )
        return cursor.fetchall() if cursor.description is not None else []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._cursor.close()


class AsyncCallerCursor:
    """Asks on an async connection."""

    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._cursor = AsyncRawCursor(connection, row_factory=tuple_row)
        _prepare(self._cursor)

    async def ask(self, step: str | Query) -> Rows:
        """Send a command or a query, and give all its rows."""
        cursor = self._cursor
        if isinstance(step, str):
            await cursor.execute(step.encode(), prepare=False)
            return []
        text = step.text
        values = sendable(step.values, text.types)
        await cursor.execute(text.sql.encode(), values, prepare=False, binary=True)
        return await cursor.fetchall() if cursor.description is not None else []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._cursor.close()


def _prepare(cursor: RawCursor[Any] | AsyncRawCursor[Any]) -> None:
    """Give a cursor back the library's own ways for what our statements send and read, and teach it
    packed arrays. The connection's ways stay as they are."""
    adapters = cursor.adapters
    for kind, dumper in _DUMPERS:
        adapters.register_dumper(kind, dumper)
    for name, loader in _LOADERS:
        adapters.register_loader(name, loader)
    teach(cursor)
