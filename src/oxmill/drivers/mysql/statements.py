"""The SQL of MariaDB and MySQL, one statement per file, and how values get into it.

`:name` stands for a value, `:name*` for all values of a JSON array.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import repeat
from typing import Any, Final, NamedTuple

from oxmill.drivers.mysql.literals import listed, listed_json, literal
from oxmill.store.statements import load

_PACKAGE: Final = "oxmill.drivers.mysql"
_PARAMETER: Final = re.compile(r"(?<!:):([a-z_]+\*?)")
_ROW: Final = re.compile(r"(.*?\bVALUES\s*)(\(.*\))\s*", re.DOTALL)
_OTHERWISE: Final = "ON DUPLICATE KEY"
_ROW_BYTES: Final = 1 << 20
"""About so long a statement with many rows may get."""

_SKIPPING: Final = frozenset(
    {
        "line_of_one",
        "leases_by_seq",
        "lapsed",
        "due",
        "expired",
        "prunable",
        "old_flows",
        "old_stages",
    }
)
"""Reads that take what is free: others are at work on the rest."""


class Text(NamedTuple):
    """One statement, cut where values go."""

    pieces: tuple[bytes, ...]
    names: tuple[str, ...]

    def filled(self, values: Mapping[str, Any]) -> bytes:
        """The statement with its values by name."""
        parts = [self.pieces[0]]
        for name, piece in zip(self.names, self.pieces[1:], strict=True):
            if name[-1] == "*":
                parts.append(listed_json(values[name[:-1]]))
            else:
                parts.append(literal(values[name]))
            parts.append(piece)
        return b"".join(parts)

    def filled_in_order(self, values: Sequence[Any]) -> bytes:
        """The statement with its values by position."""
        parts = [self.pieces[0]]
        for value, piece in zip(values, self.pieces[1:], strict=True):
            parts += (literal(value), piece)
        return b"".join(parts)


@cache
def text_of(name: str) -> Text:
    """One statement file, ready to be filled."""
    return _cut(load(_PACKAGE, f"sql/{name}.sql").rstrip(";"))


def _cut(text: str) -> Text:
    parts = _PARAMETER.split(text)
    return Text(tuple(part.encode() for part in parts[::2]), tuple(parts[1::2]))


class ManyRows(NamedTuple):
    """An INSERT, cut so that one statement can take many rows."""

    before: bytes
    row: Text
    after: bytes


@cache
def rows_of(name: str) -> ManyRows | None:
    """The same statement for many rows at once, if it stores rows."""
    text, mark, otherwise = load(_PACKAGE, f"sql/{name}.sql").rstrip(";").partition(_OTHERWISE)
    found = _ROW.fullmatch(text)
    if found is None:
        return None
    after = f" {mark}{otherwise}" if mark else ""
    return ManyRows(found[1].encode(), _cut(found[2]), after.encode())


def statement(name: str, parameters: Mapping[str, Any], *, locks: bool = False) -> bytes:
    """A statement with its values; `locks` if nobody else may change what it reads."""
    text = text_of(name).filled(parameters)
    if not locks:
        return text
    return text + (b" FOR UPDATE SKIP LOCKED" if name in _SKIPPING else b" FOR UPDATE")


def many(name: str, rows: Sequence[Sequence[Any]]) -> Iterator[bytes]:
    """The statements that do one thing for many rows: as few as their length allows."""
    shape = rows_of(name)
    if shape is None:
        text = text_of(name)
        if text.names[-1][-1] == "*":
            yield from _alike(text, rows)
            return
        yield from (text.filled_in_order(row) for row in rows)
        return
    if len(rows) == 1:
        yield shape.before + shape.row.filled_in_order(rows[0]) + shape.after
    elif rows:
        yield from joined(shape, _written(shape.row, rows))


def _written(shape: Text, rows: Sequence[Sequence[Any]]) -> Iterator[bytes]:
    """Rows written out. Most have most of their values in common, which are written once."""
    parts = [shape.pieces[0].replace(b"%", b"%%")]
    different: list[Iterator[bytes]] = []
    for values, piece in zip(zip(*rows, strict=True), shape.pieces[1:], strict=True):
        if values.count(values[0]) == len(values):
            parts.append(literal(values[0]).replace(b"%", b"%%"))
        else:
            parts.append(b"%b")
            different.append(map(literal, values))
        parts.append(piece.replace(b"%", b"%%"))
    row = b"".join(parts)
    if not different:
        return repeat(row % (), len(rows))
    return map(row.__mod__, zip(*different, strict=True))


def _alike(text: Text, rows: Sequence[Sequence[Any]]) -> Iterator[bytes]:
    """Rows that differ only in the last value, by which they are found, are one statement."""
    groups: dict[tuple[Any, ...], list[Any]] = {}
    for row in rows:
        groups.setdefault(tuple(row[:-1]), []).append(row[-1])
    for alike, found in groups.items():
        parts = [text.pieces[0]]
        for value, piece in zip(alike, text.pieces[1:-1], strict=True):
            parts += (literal(value), piece)
        yield b"".join([*parts, listed(found), text.pieces[-1]])


def joined(shape: ManyRows, rows: Iterable[bytes]) -> Iterator[bytes]:
    """Rows that are written out already, as few statements."""
    parts: list[bytes] = []
    size = 0
    for row in rows:
        if parts and size + len(row) > _ROW_BYTES:
            yield shape.before + b", ".join(parts) + shape.after
            parts, size = [], 0
        parts.append(row)
        size += len(row)
    if parts:
        yield shape.before + b", ".join(parts) + shape.after
