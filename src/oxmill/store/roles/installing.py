"""Installing: the store's own structures, versioned."""

from __future__ import annotations

from typing import Protocol

from oxmill.model.info import Finding, Schema
from oxmill.model.value import Value
from oxmill.store.plan import Plan


class Migrate(Value, frozen=True):
    """Bring the schema up to the newest version."""


class Version(Value, frozen=True):
    """Which schema version is there?"""


class Check(Value, frozen=True):
    """What is unsafe about this store?"""

    deep: bool = False
    """Look through its content too, for a bounded time."""


class Installing(Protocol):
    """Prepares a store. Safe when several processes do it at once."""

    def migrate(self, request: Migrate, /) -> Plan[Schema]:
        """Apply all pending migrations under a lock, each recorded in a ledger; also installs an
        empty store. Applying them again changes nothing."""
        ...

    def version(self, request: Version, /) -> Plan[Schema]:
        """The version that is there; 0 for an empty store. Writes nothing."""
        ...

    def check(self, request: Check, /) -> Plan[tuple[Finding, ...]]:
        """What the doctor has to say. Writes nothing."""
        ...
