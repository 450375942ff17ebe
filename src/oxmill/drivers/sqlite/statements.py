"""The SQL of SQLite, one statement per file."""

from __future__ import annotations

import re
from functools import cache

from oxmill.store.statements import load

_PACKAGE = "oxmill.drivers.sqlite"
_PARAMETER = re.compile(r"(?<!:):[a-z_]+")


@cache
def statement_text(name: str) -> str:
    """The SQL of one statement file."""
    return load(_PACKAGE, f"sql/{name}.sql")


@cache
def positional_text(name: str) -> str:
    """The same with its named parameters by position: binding them is three times as fast."""
    return _PARAMETER.sub("?", statement_text(name))


@cache
def takes_all(name: str) -> bool:
    """Whether one run of the statement takes many rows of parameters, as one JSON array."""
    return ":rows" in statement_text(name)
