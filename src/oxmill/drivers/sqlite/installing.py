"""Installing in SQLite."""

from __future__ import annotations

import sqlite3

from oxmill.drivers.sql.steps import Look, operation
from oxmill.drivers.sqlite.columns import add_columns
from oxmill.drivers.sqlite.connection import Place
from oxmill.drivers.sqlite.migrating import schema_of
from oxmill.model.info import Finding, Schema
from oxmill.store.admission import check_columns
from oxmill.store.capabilities import Capability
from oxmill.store.plan import Plan, Steps, ask
from oxmill.store.roles.installing import Check, Migrate, Version
from oxmill.store.soundness import Sound


class SqliteInstalling(Sound):
    """Prepares the file. It also migrates by itself at first use; this says so in words."""

    def __init__(self, place: Place) -> None:
        self._place = place

    def migrate(self, request: Migrate) -> Plan[Schema]:
        """The writer has migrated the file when it opened it; extra columns are added."""
        check_columns(request.extra_columns, Capability.SQL)
        return self._migrate(request)

    @operation("migrate")
    def _migrate(self, request: Migrate) -> Steps[Schema]:
        def act(connection: sqlite3.Connection) -> Schema:
            if request.extra_columns:
                add_columns(connection, request.extra_columns)
            return schema_of(connection)

        return (yield from ask(Look(act)))

    @operation("version", writes=False)
    def version(self, request: Version) -> Steps[Schema]:  # noqa: ARG002 - there is one file
        """The version that is there; 0 for an empty or missing file."""
        return (yield from ask(Look(schema_of)))

    @operation("check", writes=False)
    def check(self, request: Check) -> Steps[tuple[Finding, ...]]:
        """What the doctor has to say about the file and its place."""

        def look(connection: sqlite3.Connection) -> tuple[Finding, ...]:
            from oxmill.drivers.sqlite.doctor import examine  # noqa: PLC0415 - workers do without

            return examine(connection, self._place, deep=request.deep)

        return (yield from ask(Look(look)))
