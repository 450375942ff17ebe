"""Versions of the schema: what is there, what is due, and how it is applied.

Functions belong to the newest version: they are created anew with every migration, so a changed
function comes with a migration, if only an empty one. A function keeps its parameters for ever,
since the last version of the code still calls it; a new shape gets a new name.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from psycopg import Connection

from oxmill.drivers.postgres.address import Address
from oxmill.drivers.postgres.statements import PACKAGE, function_texts, in_schema
from oxmill.drivers.sql.versions import Migration, migrations_of, refuse_newer
from oxmill.errors import SchemaMismatch
from oxmill.model.info import Schema
from oxmill.model.value import Micros

_LEDGER: Final = """CREATE TABLE IF NOT EXISTS oxmill.migrations (
    version integer NOT NULL PRIMARY KEY,
    name text NOT NULL,
    applied_at bigint NOT NULL,
    checksum text NOT NULL
)"""
_PATIENCE: Final = "20s"
"""How long a migration waits for its turn, and for each lock."""


def migrations() -> tuple[Migration, ...]:
    """All migrations, oldest first."""
    return migrations_of(PACKAGE)


def schema_of(connection: Connection[Any], schema: str) -> Schema:
    """The version that is there; 0 for a database without our tables. Writes nothing."""
    newest = migrations()[-1].version
    ((there,),) = connection.execute(
        "SELECT to_regclass($1) IS NOT NULL", [f"{schema}.migrations"]
    ).fetchall()
    if not there:
        return Schema(current=0, newest=newest)
    ledger = connection.execute(
        _sql("SELECT version, name FROM oxmill.migrations ORDER BY version", schema)
    ).fetchall()
    current = ledger[-1][0] if ledger else 0
    return Schema(current=current, newest=newest, applied=tuple(name for _, name in ledger))


def migrate(
    connection: Connection[Any], schema: str, clock: Callable[[], Micros] | None = None
) -> Schema:
    """Apply what is due, all or nothing, while no other process can. Refuse a newer schema."""
    found = schema_of(connection, schema)
    refuse_newer(found)
    if not found.pending:
        return found
    with connection.transaction():
        connection.execute(_sql(f"SET LOCAL lock_timeout = '{_PATIENCE}'", schema))
        connection.execute(_sql("SELECT pg_advisory_xact_lock(hashtext('oxmill.'))", schema))
        ((there,),) = connection.execute(
            "SELECT to_regnamespace($1) IS NOT NULL", [schema]
        ).fetchall()
        if not there:
            connection.execute(_sql(f"CREATE SCHEMA {schema}", schema))
        connection.execute(_sql(_LEDGER, schema))
        # Read again: another process may have done it while this one waited for its turn.
        current = schema_of(connection, schema).current
        now = time.time_ns() // 1_000 if clock is None else clock()
        for step in migrations():
            if step.version > current:
                _apply(connection, step, schema, now)
        for text in function_texts(schema):
            connection.execute(text.encode())
    return schema_of(connection, schema)


def bring_up_to_date(
    connection: Connection[Any], address: Address, clock: Callable[[], Micros] | None
) -> None:
    """Migrate at first use, unless the URL says that people do it."""
    if address.migrate:
        migrate(connection, address.schema, clock)
        return
    found = schema_of(connection, address.schema)
    refuse_newer(found)
    if found.pending:
        raise SchemaMismatch(
            f"{address.shown} has schema version {found.current}, and this Oxmill needs "
            f"{found.newest}; run `oxmill db migrate`"
        )


def _sql(text: str, schema: str) -> bytes:
    """For this schema; as bytes, since the library takes only written text for text."""
    return in_schema(text, schema).encode()


def _apply(connection: Connection[Any], step: Migration, schema: str, now: Micros) -> None:
    connection.execute(_sql(step.text, schema))
    connection.execute(
        _sql(
            "INSERT INTO oxmill.migrations (version, name, applied_at, checksum) "
            "VALUES ($1, $2, $3, $4)",
            schema,
        ),
        [step.version, step.name, now, step.checksum],
    )
