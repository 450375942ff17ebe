"""Housekeeping: something unattended is always sweeping."""

from __future__ import annotations

from typing import Protocol

from oxmill.model.info import Beat, Beaten, Order, Ordered, Prune, Pruned, Sweep, Swept
from oxmill.store.plan import Plan


class Housekeeping(Protocol):
    """Bounded steps, what is longest overdue first; safe when several run at once; killing one
    halfway harms nothing."""

    def sweep(self, request: Sweep, /) -> Plan[Swept]:
        """Do for all queues what a claim does for its own: take back lapsed leases, let due jobs
        into the line, end expired ones, drop ended rules, go on with what ends of jobs of flows have set
        off, and fail or fire joins past their deadline. A lease granted later than now (the
        store's clock was stepped back) is cut to its full length from now."""
        ...

    def prune(self, request: Prune, /) -> Plan[Pruned]:
        """Delete ended jobs and flows past their retention, with all that belongs to them, and
        stages that nobody published within a day."""
        ...

    def beat(self, request: Beat, /) -> Plan[Beaten]:
        """Record a worker, forget stale ones, and pass on what people ask of it. Jobs never depend
        on this record."""
        ...

    def order(self, request: Order, /) -> Plan[Ordered]:
        """Workers that are there learn the command with their next beat; the newest one counts."""
        ...
