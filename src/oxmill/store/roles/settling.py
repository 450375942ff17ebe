"""Settling: leases end."""

from __future__ import annotations

from typing import Protocol

from oxmill.model.settlement import Settle, Settled
from oxmill.store.plan import Plan


class Settling(Protocol):
    """Records how leases ended."""

    def settle(self, request: Settle, /) -> Plan[tuple[Settled, ...]]:
        """One answer per settlement, in order; each is judged by its token alone, not by the clock.

        `WON` if the token is the job's newest and the job runs under it, or waits because that
        lease lapsed and was not replaced since (then the settlement takes it out of the line
        again), or was last settled by this very token with the same outcome and has not been
        redriven since (a winner may repeat itself; nothing changes). Otherwise `LOST`, and nothing
        changed; `GONE` if the job is not there.

        complete → succeeded · fail → failed · cancel → cancelled. retry → one failure more, then
        scheduled after `delay` (waiting, behind the line, if it is 0), or failed/exhausted when
        `failures` has reached `max_attempts`. snooze → scheduled after `delay` (waiting, behind
        the line, if 0). release → waiting at its old place. A job asked to stop that is retried,
        snoozed or released ends as cancelled instead; one that completes or fails keeps that end.

        A release that `closes` a gate keeps it closed for `delay`, and longer if it was to be closed
        for longer. In ordered groups a retry or snooze keeps its place, and closes the group.

        A completion of a job of a flow merges fields, makes the next steps, or makes children and
        holds the job until they have ended (`resume`), all in this step. A job that ends closes the
        edges of those that wait for it; joins fire or fail by that (decision 0070).

        An error or a reason that is too long or is not text is cut or replaced, never refused.

        A job that ends gives back its unique key and frees the job held behind it. An ended job
        with nothing to keep is deleted in the same step.
        """
        ...
