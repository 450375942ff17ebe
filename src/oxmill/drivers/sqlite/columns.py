"""Extra columns in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Final

from oxmill.drivers.sql.columns import PLACEHOLDER, missing
from oxmill.drivers.sqlite.statements import statement_text
from oxmill.store.roles.installing import ExtraColumn

_STEPS: Final = ("add_column", "fill_column", "index_column", "column_added", "column_dropped")


def add_columns(connection: sqlite3.Connection, columns: Sequence[ExtraColumn]) -> None:
    """Have these columns and their indexes, in the transaction that is open."""
    rows = connection.execute(statement_text("columns_of_jobs")).fetchall()
    for column in missing(columns, dict(rows)):
        for name in _STEPS:
            text = statement_text(name).replace("extra_type", column.type)
            connection.execute(text.replace(PLACEHOLDER, column.name))
