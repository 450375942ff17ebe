"""Installing in memory: there is nothing to install."""

from __future__ import annotations

from oxmill.drivers.memory.transport import Call
from oxmill.model.info import Finding, Level, Schema
from oxmill.store.admission import check_columns
from oxmill.store.capabilities import Capability
from oxmill.store.plan import Plan, Steps, ask, plan
from oxmill.store.roles.installing import Check, Migrate, Version
from oxmill.store.soundness import Sound

_SCHEMA = Schema(current=1, newest=1, applied=("0001_memory",))


class MemoryInstalling(Sound):
    """Always ready."""

    def migrate(self, request: Migrate) -> Plan[Schema]:
        """Nothing to apply."""
        check_columns(request.extra_columns, Capability.NONE)
        return self._migrate(request)

    @plan("migrate")
    def _migrate(self, request: Migrate) -> Steps[Schema]:  # noqa: ARG002 - there is one way
        return (yield from ask(Call(lambda: _SCHEMA)))

    @plan("version", writes=False)
    def version(self, request: Version) -> Steps[Schema]:  # noqa: ARG002
        """The one version there is."""
        return (yield from ask(Call(lambda: _SCHEMA)))

    @plan("check", writes=False)
    def check(self, request: Check) -> Steps[tuple[Finding, ...]]:  # noqa: ARG002
        """Memory forgets everything at the end of the process."""
        finding = Finding(
            level=Level.WARN,
            name="durability",
            found="memory",
            wanted="a file or a server",
            risk="all jobs are lost when the process ends",
            remedy="use sqlite:///oxmill.db or another store for anything but tests",
        )
        return (yield from ask(Call(lambda: (finding,))))
