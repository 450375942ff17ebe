"""Sends statements on connections of the caller's: PyMySQL, mysqlclient and asyncmy.

A cursor of the library's plainest kind is used, whatever kind the caller has chosen, and the
connection's converters are set aside meanwhile. Values are read by the types of their columns.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Final

from oxmill.drivers.mysql.faults import Taken, is_taken
from oxmill.drivers.mysql.shortcut import Result

_INTEGERS: Final = frozenset({0, 1, 2, 3, 8, 9, 13, 246})
_NAMES: Final = frozenset({15, 253, 254})
"""Short text, which is stored as bytes; long bytes are payloads and the like."""
_CONVERTERS: Final = {"pymysql": "decoders", "asyncmy": "_decoders"}
_UNICODE: Final = {"pymysql": "use_unicode", "asyncmy": "_use_unicode"}


class CallerCursor:
    """Sends on a blocking connection."""

    def __init__(self, connection: Any, library: str) -> None:
        self._connection = connection
        self._library = library
        self._kind = sys.modules[f"{library}.cursors"].Cursor

    def send(self, text: bytes) -> Result:
        """Run one statement."""
        with _plain(self._connection, self._library):
            cursor = self._kind(self._connection)
            try:
                cursor.execute(text)
                rows = cursor.fetchall() if cursor.description else ()
                return _result(cursor, rows)
            except Exception as error:
                if is_taken(error):
                    raise Taken from error
                raise
            finally:
                cursor.close()


class AsyncCallerCursor:
    """Sends on an async connection."""

    def __init__(self, connection: Any, library: str) -> None:
        self._connection = connection
        self._library = library
        self._kind = sys.modules[f"{library}.cursors"].Cursor

    async def send(self, text: bytes) -> Result:
        """Run one statement."""
        with _plain(self._connection, self._library):
            cursor = self._kind(self._connection)
            try:
                await cursor.execute(text)
                rows = await cursor.fetchall() if cursor.description else ()
                return _result(cursor, rows)
            except Exception as error:
                if is_taken(error):
                    raise Taken from error
                raise
            finally:
                await cursor.close()


@contextmanager
def _plain(connection: Any, library: str) -> Iterator[None]:
    if library not in _CONVERTERS:
        yield
        return
    names = _CONVERTERS[library], _UNICODE[library]
    before = [getattr(connection, name) for name in names]
    setattr(connection, names[0], _decoders(library))
    setattr(connection, names[1], True)
    try:
        yield
    finally:
        for name, value in zip(names, before, strict=True):
            setattr(connection, name, value)


@cache
def _decoders(library: str) -> dict[int, Any]:
    """The library's own converters by the types of columns."""
    usual = sys.modules[f"{library}.converters"].conversions
    return {kind: convert for kind, convert in usual.items() if isinstance(kind, int)}


def _result(cursor: Any, rows: Any) -> Result:
    if not cursor.description:
        return Result([], max(cursor.rowcount, 0), cursor.lastrowid or 0)
    kinds = [column[1] for column in cursor.description]
    read = [tuple(map(_read, row, kinds)) for row in rows]
    return Result(read, len(read), 0)


def _read(value: Any, kind: int) -> Any:
    if value is None:
        return None
    if kind in _INTEGERS:
        return int(value)
    if kind in _NAMES and isinstance(value, bytes):
        return value.decode()
    return value
