"""The SQL of SQLite, one statement per file."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from oxmill.store.statements import load

_PACKAGE = "oxmill.drivers.sqlite"
_PARAMETER = re.compile(r"(?<!:):[a-z_]+")
_LISTS = re.compile(r"\(([^()]+)\)\s+VALUES \(([^()]+)\)")
_VALUES = re.compile(r"(?<=VALUES )\([^()]+\)")

SEVERAL: Final = 16
"""Rows that one run of an insert takes. That costs a quarter less than a run for each, and the
interpreter's lock is given up and fetched again once instead of so many times."""
SOME: Final = 4
"""Rows that one takes of what is left then."""


@cache
def statement_text(name: str) -> str:
    """The SQL of one statement file."""
    return load(_PACKAGE, f"sql/{name}.sql")


@cache
def positional_text(name: str, without: tuple[int, ...] = ()) -> str:
    """The same with its named parameters by position: binding them is three times as fast. Of an
    insert of values, `without` some columns, which are NULL then."""
    text = statement_text(name)
    if without:
        text = _LISTS.sub(lambda lists: _left(lists, without), text)
    return _PARAMETER.sub("?", text)


def _left(lists: re.Match[str], without: tuple[int, ...]) -> str:
    columns, values = (each.split(",") for each in lists.groups())
    kept = [at for at in range(len(values)) if at not in without]
    left = ",".join([columns[at] for at in kept]), ",".join([values[at] for at in kept])
    return "({}) VALUES ({})".format(*left)


@cache
def several_text(name: str, without: tuple[int, ...] = (), many: int = SEVERAL) -> str | None:
    """The same for so many rows at once, if it is an insert of values."""
    text = positional_text(name, without)
    values = _VALUES.search(text)
    if values is None:
        return None
    rows = ", ".join([values[0]] * many)
    return f"{text[: values.start()]}{rows}{text[values.end() :]}"


@cache
def takes_all(name: str) -> bool:
    """Whether one run of the statement takes many rows of parameters, as one JSON array."""
    return ":rows" in statement_text(name)


@cache
def gives_all(name: str) -> bool:
    """Whether all rows of the statement come as one JSON array. To fetch a row costs as much as to find it,
    and the interpreter's lock is given up for each: so this is for statements that find many, without
    blobs."""
    return "SELECT json_group_array(\n    json_array(" in statement_text(name)
