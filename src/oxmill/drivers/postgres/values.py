"""Parameters as they are sent: packed by us on our own connections, and through psycopg on those of
callers. A whole column of a batch travels as one binary array: packing it here takes a third of the CPU
that the library's own lists take, or less."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from struct import Struct
from typing import Any, Final

import psycopg
from psycopg.abc import AdaptContext
from psycopg.adapt import AdaptersMap, Dumper
from psycopg.pq import Format

_HEADER: Final = Struct("!iiIii")
_EMPTY: Final = Struct("!iiI")
_SIZE: Final = Struct("!i").pack
_NULL: Final = _SIZE(-1)
_LONG: Final = Struct("!iq").pack
_SHORT: Final = Struct("!ii").pack
_NUL_ESCAPE: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")


class Packed:
    """An array, as bytes."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data


class Texts(Packed):
    """An array of text."""


class Blobs(Packed):
    """An array of bytes."""


class Longs(Packed):
    """An array of 64-bit integers."""


class Shorts(Packed):
    """An array of 32-bit integers."""


def _text(value: str) -> bytes:
    data = value.encode()
    if b"\0" in data:
        data = data.replace(b"\0", "\N{REPLACEMENT CHARACTER}".encode())
    return _SIZE(len(data)) + data


def _blob(value: bytes) -> bytes:
    return _SIZE(len(value)) + value


def _long(value: int) -> bytes:
    return _LONG(8, value)


def _short(value: int) -> bytes:
    return _SHORT(4, value)


_KINDS: Final[dict[str, tuple[type[Packed], int, int, Callable[[Any], bytes]]]] = {
    # type: the class, the types' numbers of its elements and of the array, how to pack one
    "text[]": (Texts, 25, 1009, _text),
    "bytea[]": (Blobs, 17, 1001, _blob),
    "bigint[]": (Longs, 20, 1016, _long),
    "integer[]": (Shorts, 23, 1007, _short),
}


Packer = Callable[[Any], bytes]


def _array(element: int, pack: Callable[[Any], bytes], values: Sequence[Any]) -> bytes:
    if not values:
        return _EMPTY.pack(0, 0, element)
    holes = None in values
    header = _HEADER.pack(1, int(holes), element, len(values), 1)
    if values.count(values[0]) == len(values):  # such as the attempts and results of most batches
        return header + (_NULL if holes else pack(values[0])) * len(values)
    if pack is _text and not holes:
        return header + _texts(values)
    if holes:
        body = [_NULL if value is None else pack(value) for value in values]
    else:
        body = [pack(value) for value in values]
    return header + b"".join(body)


def _texts(values: Sequence[str]) -> bytes:
    """Several texts; mostly they are ids, all of one length."""
    data = [value.encode() for value in values]
    if len(set(map(len, data))) > 1 or b"\0" in b"".join(data):
        return b"".join(map(_text, values))
    head = _SIZE(len(data[0]))
    return head + head.join(data)


def _plain_text(value: str) -> bytes:
    return value.replace("\0", "\N{REPLACEMENT CHARACTER}").encode()


def _json(value: str) -> str:
    # No text has a NUL, so nothing that is asked about with one is there.
    return _NUL_ESCAPE.sub(r"\1\\ufffe", value) if "\\u0000" in value else value


_PACKERS: Final[dict[str, tuple[int, Packer]]] = {
    # type: its number, how to pack a value
    "text": (25, _plain_text),
    "json": (114, lambda value: _json(value).encode()),
    "bytea": (17, bytes),
    "bigint": (20, Struct("!q").pack),
    "integer": (23, Struct("!i").pack),
    "boolean": (16, Struct("!?").pack),
    **{
        kind: (array, partial(_array, element, pack))
        for kind, (_, element, array, pack) in _KINDS.items()
    },
}


def packing(types: Sequence[str]) -> tuple[tuple[int, ...], tuple[Packer, ...]]:
    """The numbers of these types, and what packs values of them."""
    found = [_PACKERS[kind] for kind in types]
    return tuple([oid for oid, _ in found]), tuple([pack for _, pack in found])


def packed(values: Sequence[Any], packers: Sequence[Packer]) -> list[bytes | None]:
    """Parameters as libpq takes them."""
    return [
        None if value is None else pack(value) for value, pack in zip(values, packers, strict=True)
    ]


def sendable(values: Iterable[Any], types: Sequence[str]) -> list[Any]:
    """Parameters as psycopg takes them, by the types that the statement gives them."""
    return [_sendable(value, kind) for value, kind in zip(values, types, strict=True)]


def _sendable(value: Any, kind: str) -> Any:
    if value is None:
        return None
    if kind in _KINDS:
        array, element, _, pack = _KINDS[kind]
        return array(_array(element, pack, value))
    if kind == "json":
        return _json(value)
    if kind == "text":
        return value.replace("\0", "\N{REPLACEMENT CHARACTER}")
    return value


def _dumper(number: int) -> type[Dumper]:
    class PackedDumper(Dumper):
        format = Format.BINARY
        oid = number

        def dump(self, obj: Packed) -> bytes:
            return obj.data

    return PackedDumper


_DUMPERS: Final = {packed: _dumper(number) for packed, _, number, _ in _KINDS.values()}


def teach(context: AdaptContext) -> None:
    """Let connections or cursors send packed arrays."""
    for packed, dumper in _DUMPERS.items():
        context.adapters.register_dumper(packed, dumper)


class Taught:
    """What connections of ours are made with, so that they share what they can send: one that is taught
    by itself has a copy of all that the library knows."""

    def __init__(self) -> None:
        self.adapters = AdaptersMap(psycopg.adapters)
        self.connection = None
        teach(self)
