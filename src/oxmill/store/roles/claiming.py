"""Claiming: jobs go out under a lease."""

from __future__ import annotations

from typing import Protocol

from oxmill.model.claim import Claim, Claimed, ClaimIds, Renew, Renewed
from oxmill.store.plan import Plan


class Claiming(Protocol):
    """Grants and prolongs leases."""

    def claim(self, request: Claim, /) -> Plan[Claimed]:
        """At most `limit` jobs, each to this holder only, best rank first, with payloads.

        In the same step, for the queues named, open or closed: due jobs enter the line (in order of
        due time, behind what waits); lapsed leases are taken back to their old place in line,
        counted as a crash, and end as failed/poison at the limit; a cancelled-while-running job
        whose lease lapsed ends as cancelled; jobs past `expires` that were never claimed end as
        cancelled. Queues under a pause or block give nothing. Each of these clean-ups is bounded;
        what is left waits for the next claim or sweep.

        Groups of one priority take turns. No limit of a queue or group is exceeded, and no job is
        granted behind a closed gate (decision 0060); neither holds up others. `next_due` is also the
        moment at which the first gate opens that keeps jobs of these queues back.

        A job of a flow comes with the fields of the flow's state that it reads, and one that was
        held for its children with their ids.
        A claim adds one to the job's attempt number. A unique key held until *started* is freed.
        """
        ...

    def claim_ids(self, request: ClaimIds, /) -> Plan[Claimed]:
        """Those of the named jobs that `claim` could grant now, in the order named."""
        ...

    def renew(self, request: Renew, /) -> Plan[Renewed]:
        """Prolong leases whose token is still the newest, even if their time has passed.

        A job that waits because this lease lapsed, and that nobody claimed or replaced since, runs
        again under the same token, if the concurrency of its queue and group has room for it; its
        crash stays counted.

        The holder learns here that its lease is lost or that its job is asked to stop. Progress is
        stored only where the lease was kept.
        """
        ...
