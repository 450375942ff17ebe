"""Installing in PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from psycopg import Connection

from oxmill.drivers.postgres.address import Address
from oxmill.drivers.postgres.columns import add_columns
from oxmill.drivers.postgres.migrating import migrate, schema_of
from oxmill.drivers.sql.steps import Look
from oxmill.model.info import Finding, Schema
from oxmill.model.value import Micros
from oxmill.store.admission import check_columns
from oxmill.store.capabilities import Capability
from oxmill.store.plan import Plan, Steps, ask, plan
from oxmill.store.roles.installing import Check, Migrate, Version
from oxmill.store.soundness import Sound

if TYPE_CHECKING:
    from oxmill.drivers.postgres.findings import Mode


class PostgresInstalling(Sound):
    """Prepares the schema. It also migrates by itself at first use, unless the URL says no."""

    def __init__(
        self, address: Address, mode: Mode, clock: Callable[[], Micros] | None = None
    ) -> None:
        self._address = address
        self._mode: Mode = mode
        self._clock = clock

    def migrate(self, request: Migrate) -> Plan[Schema]:
        """Apply what is due, under a lock."""
        check_columns(request.extra_columns, Capability.SQL)
        return self._migrate(request)

    @plan("migrate")
    def _migrate(self, request: Migrate) -> Steps[Schema]:
        def act(connection: Connection[Any]) -> Schema:
            schema = migrate(connection, self._address.schema, self._clock)
            if request.extra_columns:
                add_columns(connection, self._address.schema, request.extra_columns)
            return schema

        return (yield from ask(Look(act)))

    @plan("version", writes=False)
    def version(self, request: Version) -> Steps[Schema]:  # noqa: ARG002 - there is one schema
        """The version that is there; 0 for a database without our tables."""

        def act(connection: Connection[Any]) -> Schema:
            return schema_of(connection, self._address.schema)

        return (yield from ask(Look(act)))

    @plan("check", writes=False)
    def check(self, request: Check) -> Steps[tuple[Finding, ...]]:
        """What the doctor has to say about the server and its settings."""

        def act(connection: Connection[Any]) -> tuple[Finding, ...]:
            from oxmill.drivers.postgres.doctor import examine  # noqa: PLC0415 - workers do without

            return examine(connection, self._address.schema, self._mode, deep=request.deep)

        return (yield from ask(Look(act)))
