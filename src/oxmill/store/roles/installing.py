"""Installing: the store's own structures, versioned."""

from __future__ import annotations

from typing import Literal, Protocol

from oxmill.model.info import Finding, Mended, Schema
from oxmill.model.value import Value
from oxmill.store.plan import Plan


class ExtraColumn(Value, frozen=True):
    """A column of the table of jobs that shows the business attribute of the same name, for jobs
    that are there and all that come, with an index. A value of another type shows as NULL."""

    name: str
    type: Literal["text", "integer"] = "text"


class Migrate(Value, frozen=True):
    """Bring the schema up to the newest version."""

    extra_columns: tuple[ExtraColumn, ...] = ()
    """Also have these columns, where jobs can be asked about in SQL."""


class Version(Value, frozen=True):
    """Which schema version is there?"""


class Check(Value, frozen=True):
    """What is unsafe about this store?"""

    deep: bool = False
    """Look through its content too, for a bounded time."""


class Mend(Value, frozen=True):
    """Mend what damage from outside has left: keys deleted by hand, a log cut short."""


class Installing(Protocol):
    """Prepares a store. Safe when several processes do it at once."""

    def migrate(self, request: Migrate, /) -> Plan[Schema]:
        """Apply all pending migrations under a lock, each recorded in a ledger; also installs an
        empty store. Applying them again changes nothing. A store without SQL refuses extra columns;
        so does one that has another column of that name."""
        ...

    def version(self, request: Version, /) -> Plan[Schema]:
        """The version that is there; 0 for an empty store. Writes nothing."""
        ...

    def check(self, request: Check, /) -> Plan[tuple[Finding, ...]]:
        """What the doctor has to say. Writes nothing. A finding passes by itself only if the store
        acknowledges no write while it is there."""
        ...

    def mend(self, request: Mend, /) -> Plan[Mended]:
        """Bring back every job that is kept but stands nowhere, and drop every entry of a job that is
        gone; in bounded steps, beside workers, and as often as one likes. What is sound stays as it
        is. A store in which a job's place and its data are one row has nothing to mend."""
        ...
