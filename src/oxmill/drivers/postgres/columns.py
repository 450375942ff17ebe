"""Extra columns in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from psycopg import Connection

from oxmill.drivers.postgres.statements import PACKAGE, in_schema
from oxmill.drivers.sql.columns import PLACEHOLDER, missing
from oxmill.store.roles.installing import ExtraColumn
from oxmill.store.statements import load

_ADD: Final = {"text": "add_column_text", "integer": "add_column_integer"}


def add_columns(connection: Connection[Any], schema: str, columns: Sequence[ExtraColumn]) -> None:
    """Have these columns and their indexes, all or none. The table is locked while the column is
    filled for the jobs that are there."""

    def text(name: str) -> str:
        return in_schema(load(PACKAGE, f"sql/{name}.sql"), schema)

    with connection.transaction():
        rows = connection.execute(text("columns_of_jobs").encode()).fetchall()
        for column in missing(columns, dict(rows)):
            for name in (_ADD[column.type], "index_column"):
                connection.execute(text(name).replace(PLACEHOLDER, column.name).encode())
