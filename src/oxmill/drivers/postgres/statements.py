"""The SQL of PostgreSQL, one statement per file, for the schema that a store lives in."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from oxmill.drivers.postgres.values import Packer, packing
from oxmill.errors import BadConfig
from oxmill.store.statements import load

PACKAGE: Final = "oxmill.drivers.postgres"
USUAL: Final = "oxmill"
"""The schema's name in the files, and unless the URL names another."""

_LOCKING: Final = frozenset({"standings_by_id", "match"})
"""Read with and without locks; other statements have theirs in the file."""
_PARAMETER: Final = re.compile(r"(?<!:):([a-z_]+)(?:::([a-z]+(?:\[\])?))?")
_CHANGE: Final = re.compile(r"(?:INSERT|UPDATE|DELETE)\b")
_SCHEMA: Final = re.compile(r"[a-z_][a-z0-9_]{0,47}")


@dataclass(frozen=True, slots=True)
class Text:
    """One statement: its parameters by number, with their names and types in that order."""

    name: str
    sql: str
    names: tuple[str, ...]
    types: tuple[str, ...]
    tells: bool
    """Whether it may have rows to give."""
    command: bytes
    """What is sent, with the numbers of the parameters' types and what packs each."""
    oids: tuple[int, ...]
    packers: tuple[Packer, ...]
    formats: tuple[int, ...]


def check_schema(name: str) -> str:
    """Refuse a name that would have to be quoted, or that would be cut."""
    if not _SCHEMA.fullmatch(name) or name.startswith("pg_"):
        raise BadConfig(
            f"schema={name} in the URL: use up to 48 lower-case letters, digits and underscores, "
            f"beginning with a letter"
        )
    return name


def in_schema(sql: str, schema: str) -> str:
    """The SQL of a file, for another schema."""
    return sql if schema == USUAL else re.sub(rf"\b{USUAL}\.", f"{schema}.", sql)


@cache
def statement(schema: str, name: str, *, locks: bool = False) -> Text:
    """The text of one statement file."""
    sql = in_schema(load(PACKAGE, f"sql/{name}.sql"), schema)
    if locks and name in _LOCKING:
        sql = f"{sql.rstrip().removesuffix(';')}\nFOR UPDATE OF j"
    order: dict[str, str] = {}

    def numbered(found: re.Match[str]) -> str:
        word, kind = found[1], found[2] or "text"
        order.setdefault(word, kind)
        return f"${list(order).index(word) + 1}::{kind}"

    sql = _PARAMETER.sub(numbered, sql)
    tells = _CHANGE.match(sql) is None or "RETURNING" in sql
    types = tuple(order.values())
    oids, packers = packing(types)
    binary = (1,) * len(types)
    return Text(name, sql, tuple(order), types, tells, sql.encode(), oids, packers, binary)


@cache
def function_texts(schema: str) -> tuple[str, ...]:
    """What creates our functions; each checks its body only when it first runs."""
    folder = files(PACKAGE).joinpath("functions")
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return tuple(in_schema(load(PACKAGE, f"functions/{name}"), schema) for name in names)
