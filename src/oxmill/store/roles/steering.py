"""Steering: people change what happens."""

from __future__ import annotations

from typing import Protocol

from oxmill.model.query import Cancel, Edit, Purge, Redrive, Steered
from oxmill.model.rule import PutRules, RulesPut
from oxmill.model.settings import PutSettings, QueueSettings
from oxmill.store.plan import Plan


class Steering(Protocol):
    """Rules, settings, and changes to jobs by id or by filter, the oldest first.

    Every call that changes something leaves an event.
    """

    def put_rules(self, request: PutRules, /) -> Plan[RulesPut]:
        """Once this returns, no claim that starts later gives a job that a pause or block covers, or
        more than a throttle lets through. Lifting a pause does not lift a block. Rules end by
        themselves at `expires_at`. Jobs kept back by a rule that ends are back in their places."""
        ...

    def put_settings(self, request: PutSettings, /) -> Plan[QueueSettings]:
        """Holds for every settlement and claim that starts later. What is not to be put stays as it
        is, whoever changes it at the same time. Gives the settings that hold now."""
        ...

    def cancel(self, request: Cancel, /) -> Plan[Steered]:
        """Idle jobs end as cancelled at once and are never claimed; running ones are asked to
        stop (`asked`). Ended ones stay as they are."""
        ...

    def redrive(self, request: Redrive, /) -> Plan[Steered]:
        """Failed and cancelled jobs wait again, behind the line, with no failures, crashes, result
        or error, and without an expiry; the attempt number goes on, so old tokens stay stale.
        History is kept. A job with upstreams in a flow is held again until those that did not succeed
        have ended once more; a flow that had ended goes on."""
        ...

    def edit(self, request: Edit, /) -> Plan[Steered]:
        """Idle jobs change priority, queue or due time. A changed due time or queue puts the job
        behind the line."""
        ...

    def purge(self, request: Purge, /) -> Plan[Steered]:
        """Matching jobs that are not running are gone, with their fields, keys and history; a job
        held behind one of them is freed."""
        ...
