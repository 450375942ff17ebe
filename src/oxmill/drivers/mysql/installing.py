"""Installing in MariaDB or MySQL."""

from __future__ import annotations

from oxmill.drivers.mysql.address import Place
from oxmill.drivers.mysql.columns import add_columns
from oxmill.drivers.mysql.doctor import Mode, examine
from oxmill.drivers.mysql.link import Link
from oxmill.drivers.mysql.migrating import migrate, schema_of
from oxmill.drivers.sql.steps import Look, operation
from oxmill.model.bounds import Bounds
from oxmill.model.info import Finding, Schema
from oxmill.store.admission import check_columns
from oxmill.store.capabilities import Capability
from oxmill.store.plan import Plan, Steps, ask
from oxmill.store.roles.installing import Check, Migrate, Version
from oxmill.store.soundness import Sound


class MysqlInstalling(Sound):
    """Prepares the database. First use does it too; this says so in words."""

    def __init__(self, place: Place, mode: Mode, bounds: Bounds) -> None:
        self._place = place
        self._mode: Mode = mode
        self._bounds = bounds

    def migrate(self, request: Migrate) -> Plan[Schema]:
        """Apply all pending migrations, one process at a time."""
        check_columns(request.extra_columns, Capability.SQL)
        return self._migrate(request)

    @operation("migrate")
    def _migrate(self, request: Migrate) -> Steps[Schema]:
        def act(link: Link) -> Schema:
            schema = migrate(link, self._place)
            if request.extra_columns:
                add_columns(link, request.extra_columns)
            return schema

        return (yield from ask(Look(act)))

    @operation("version", writes=False)
    def version(self, request: Version) -> Steps[Schema]:  # noqa: ARG002 - there is one schema
        """The version that is there; 0 for an empty database."""
        return (yield from ask(Look(schema_of)))

    @operation("check", writes=False)
    def check(self, request: Check) -> Steps[tuple[Finding, ...]]:
        """What the doctor has to say about the server and our tables."""

        def act(link: Link) -> tuple[Finding, ...]:
            return examine(link, self._mode, self._bounds, deep=request.deep)

        return (yield from ask(Look(act)))
