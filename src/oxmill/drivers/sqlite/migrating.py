"""Versions of the schema: what is there, what is due, and how it is applied."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from typing import Final

from oxmill.drivers.sql.versions import Migration, migrations_of, refuse_newer
from oxmill.model.info import Schema
from oxmill.model.value import Micros

_LEDGER: Final = """CREATE TABLE IF NOT EXISTS migrations (
    version INTEGER NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    applied_at INTEGER NOT NULL,
    checksum TEXT NOT NULL
) STRICT"""


def migrations() -> tuple[Migration, ...]:
    """All migrations, oldest first."""
    return migrations_of("oxmill.drivers.sqlite")


def pending_sql(current: int = 0) -> str:
    """The SQL that brings a schema from version `current` to the newest, for people to read."""
    return "\n".join(step.text for step in migrations() if step.version > current)


def schema_of(connection: sqlite3.Connection) -> Schema:
    """The version that is there; 0 for a file without our tables. Writes nothing."""
    newest = migrations()[-1].version
    there = connection.execute(
        "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'migrations'"
    ).fetchall()
    if not there:
        return Schema(current=0, newest=newest)
    ledger = connection.execute("SELECT version, name FROM migrations ORDER BY version").fetchall()
    current = ledger[-1][0] if ledger else 0
    return Schema(current=current, newest=newest, applied=tuple(name for _, name in ledger))


def migrate(connection: sqlite3.Connection, clock: Callable[[], Micros]) -> None:
    """Apply what is due, all or nothing, while no other process can. Refuse a newer schema."""
    if not _due(connection):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute(_LEDGER)
        # Read again: another process may have done it while this one waited for its turn.
        current = schema_of(connection).current
        for step in migrations():
            if step.version > current:
                _apply(connection, step, clock())
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _due(connection: sqlite3.Connection) -> bool:
    schema = schema_of(connection)
    refuse_newer(schema)
    return schema.pending


def _apply(connection: sqlite3.Connection, step: Migration, now: Micros) -> None:
    for statement in _statements(step.text):
        connection.execute(statement)
    connection.execute(
        "INSERT INTO migrations (version, name, applied_at, checksum) VALUES (?, ?, ?, ?)",
        (step.version, step.name, now, step.checksum),
    )


def _statements(text: str) -> Iterator[str]:
    """The statements one by one: `executescript` would commit in between."""
    lines: list[str] = []
    for line in text.splitlines():
        if line.lstrip().startswith("--"):
            continue
        lines.append(line)
        statement = "\n".join(lines)
        if statement.strip() and sqlite3.complete_statement(statement):
            yield statement
            lines.clear()
