"""Values as they stand in the text of a statement.

A whole batch travels as one text, so values are written into it here and not by the client library.
The session's SQL mode is set by us: a backslash escapes.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Any, Final

import msgspec

_decode = msgspec.json.Decoder().decode


class Sql(bytes):
    """A piece of a statement, not a value."""


SERVER_TIME: Final = Sql(
    b"TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', UTC_TIMESTAMP(6))"
)
"""The moment at which the server starts the statement, in microseconds."""


def literal(value: Any) -> bytes:
    """One value. Text that is not text (half a surrogate pair) raises `UnicodeEncodeError`."""
    kind = type(value)
    if kind is str:
        text: bytes = value.encode()
        return b"'%b'" % (_escaped(text) if b"\\" in text or b"'" in text else text)
    if value is None:
        return b"NULL"
    if kind is int:
        return b"%d" % value
    if kind is bytes:
        return b"_binary'" + _escaped(value) + b"'"
    return _other(value)


def _other(value: Any) -> bytes:
    match value:
        case Sql():
            return value
        case bool() | int():
            return b"%d" % value
        case Enum():
            return literal(value.value)
        case str():
            return literal(str(value))
        case bytearray() | memoryview():
            return literal(bytes(value))
        case _:
            raise TypeError(f"{type(value).__name__} is not a value for a statement")


def _escaped(text: bytes) -> bytes:
    if b"\\" in text:
        text = text.replace(b"\\", b"\\\\")
    return text.replace(b"'", b"\\'") if b"'" in text else text


def listed(values: Iterable[Any]) -> bytes:
    """Several values for `IN (…)`; none of them is like nothing."""
    return b", ".join([literal(value) for value in values]) or b"NULL"


def listed_json(text: str | None) -> bytes:
    """The values of a JSON array for `IN (…)`."""
    return listed(() if text is None else _decode(text))
