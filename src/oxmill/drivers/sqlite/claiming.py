"""Claiming in SQLite: the usual claim of one gated queue takes a few statements."""

from __future__ import annotations

from oxmill.drivers.sql.claiming import SqlClaiming, claimed
from oxmill.drivers.sql.tending import Ahead, look_ahead
from oxmill.drivers.sqlite.taking_turns import take_turns
from oxmill.model.claim import Claim, Claimed
from oxmill.model.value import Micros
from oxmill.store.plan import Steps


class SqliteClaiming(SqlClaiming):
    """Grants and prolongs leases."""

    def _entered(self, queues: list[str], now: Micros) -> Steps[Ahead]:
        """There is one writer, so nobody else decides by any gates: one look does."""
        ahead = yield from look_ahead(queues, now)
        return (yield from self._tended(queues, now, ahead))

    def _behind_gates(self, request: Claim, ahead: Ahead, now: Micros) -> Steps[Claimed]:
        """The short way if there is one queue and nothing unusual about it."""
        if len(ahead.horizons) == 1 and not ahead.horizons[0].closed:
            bound = self._bounds.cleanup_jobs
            taken = yield from take_turns(request, ahead.horizons[0], now, bound)
            if taken is not None:
                return (yield from claimed(request, ahead, now, *taken))
        return (yield from super()._behind_gates(request, ahead, now))
