"""Reads what the server sends, several times as fast as the client library does.

A batch of five statements brings five results, most of them nothing but "done"; a claim brings a
hundred rows. The library's reader takes about 20 µs for either, per result and per row.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from pymysql import err
from pymysql.constants import FIELD_TYPE

from oxmill.drivers.mysql.shortcut import Result

Converter = Callable[[bytes], Any] | None

_OK, _LOCAL, _EOF, _ERROR = 0x00, 0xFB, 0xFE, 0xFF
_NULL: Final = 0xFB
_MORE: Final = 0x0008
"""The flag that says that another result follows."""
_LONGEST: Final = 0xFFFFFF
_BINARY: Final = 63
_INTEGERS: Final = frozenset(
    {
        FIELD_TYPE.TINY,
        FIELD_TYPE.SHORT,
        FIELD_TYPE.LONG,
        FIELD_TYPE.LONGLONG,
        FIELD_TYPE.INT24,
        FIELD_TYPE.DECIMAL,  # sums, which are whole numbers here
        FIELD_TYPE.NEWDECIMAL,
    }
)
_NAMES: Final = frozenset({FIELD_TYPE.VAR_STRING, FIELD_TYPE.STRING, FIELD_TYPE.VARCHAR})


class Answer:
    """What comes back for one packet of statements, read as it comes."""

    __slots__ = ("_at", "_come", "_data")

    def __init__(self, come: Callable[[], bytes], first: bytes = b"") -> None:
        self._come = come
        """Gives what has come meanwhile, at least something."""
        self._data = first
        self._at = 0

    def results(self, results: list[Result]) -> list[Result]:
        """Add all results to these. An error of the server's is raised in its turn."""
        more = True
        while more:
            result, more = self._result()
            results.append(result)
        return results

    def _packet(self) -> bytes:
        at, data = self._at, self._data
        if len(data) < at + 4:
            at, data = 0, self._fill(4)
        length = int.from_bytes(data[at : at + 3], "little")
        end = at + 4 + length
        if len(data) < end:
            at, end, data = 0, 4 + length, self._fill(4 + length)
        self._at = end
        if length == _LONGEST:
            return data[at + 4 : end] + self._packet()
        return data[at + 4 : end]

    def _fill(self, need: int) -> bytes:
        """Wait until so much is there of what was not read yet."""
        parts = [self._data[self._at :]]
        have = len(parts[0])
        while have < need:
            parts.append(self._come())
            have += len(parts[-1])
        self._data, self._at = b"".join(parts), 0
        return self._data

    def _result(self) -> tuple[Result, bool]:
        data = self._packet()
        kind = data[0]
        if kind == _OK:
            affected, at = _number(data, 1)
            insert_id, at = _number(data, at)
            return Result([], affected, insert_id), bool(data[at] & _MORE)
        if kind == _ERROR:
            err.raise_mysql_exception(data)
        if kind == _LOCAL:
            raise err.OperationalError(2027, "the server asked for a file, which it never gets")
        count, _ = _number(data, 0)
        columns = tuple([self._packet() for _ in range(count)])
        self._packet()  # the end of the columns
        converters = _converters(columns)
        rows: list[tuple[Any, ...]] = []
        while True:
            data = self._packet()
            kind = data[0]
            if kind == _EOF and len(data) < 9:
                return Result(rows, len(rows), 0), bool(data[3] & _MORE)
            if kind == _ERROR and len(data) > 3:
                err.raise_mysql_exception(data)
            rows.append(_row(data, converters))


def _row(data: bytes, converters: tuple[Converter, ...]) -> tuple[Any, ...]:
    row: list[Any] = []
    at = 0
    for converter in converters:
        length = data[at]
        at += 1
        if length == _NULL:
            row.append(None)
            continue
        if length > _NULL:
            length, at = _number(data, at - 1)
        end = at + length
        value = data[at:end]
        row.append(value if converter is None else converter(value))
        at = end
    return tuple(row)


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number whose length is part of it, and where it ends."""
    first = data[at]
    if first < _NULL:
        return first, at + 1
    end = at + 1 + {0xFC: 2, 0xFD: 3, 0xFE: 8}[first]
    return int.from_bytes(data[at + 1 : end], "little"), end


@lru_cache(maxsize=512)
def _converters(columns: tuple[bytes, ...]) -> tuple[Converter, ...]:
    return tuple([_converter(column) for column in columns])


def _converter(column: bytes) -> Converter:
    """How to read a column, by its description: catalog, schema, table, its own name, type."""
    at = 0
    for _ in range(6):
        length, at = _number(column, at)
        at += length
    charset = int.from_bytes(column[at + 1 : at + 3], "little")
    kind = column[at + 7]
    if kind in _INTEGERS:
        return int
    if charset == _BINARY and kind not in _NAMES:
        return None
    return bytes.decode
