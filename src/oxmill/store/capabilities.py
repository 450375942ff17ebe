"""What a store can do beyond the common contract."""

from __future__ import annotations

from enum import Flag, auto


class Capability(Flag):
    """Differences between drivers are declared here; tests skip by capability, never by name."""

    NONE = 0
    VIRTUAL_TIME = auto()
    """The clock can be injected (memory and SQLite), so tests need not wait."""
    MANY_PROCESSES = auto()
    """Several processes may open the same store."""
    DURABLE = auto()
    """An acknowledged enqueue survives kill -9 of everything."""
    DOORBELL = auto()
    """Waiting workers of other processes are woken without polling."""
    FLOWS = auto()
    GROUPS = auto()
    LIMITS = auto()
    SCOPED_RULES = auto()
    """Rules on tasks, groups and fields, not only on queues."""
    CALLER_TRANSACTION = auto()
    """Plans can run inside a transaction of the caller's own connection."""
    SQL = auto()
    """Jobs can be asked about in SQL."""
