"""Claiming in PostgreSQL: one call, unless a lease has lapsed, a job expired or a queue is gated."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter
from typing import Any, Final

from oxmill.drivers.postgres.floors import Floors
from oxmill.drivers.postgres.steps import Call
from oxmill.drivers.sql.claiming import SqlClaiming, renewed
from oxmill.drivers.sql.flow_reading import leased_in_flows
from oxmill.drivers.sql.rows import leased, stored_nonce
from oxmill.drivers.sql.steps import NOW, operation
from oxmill.model.bounds import Bounds
from oxmill.model.claim import Claim, Claimed, Hold, Renew, Renewed
from oxmill.store.plan import Steps, ask

_NOTHING: Final[Mapping[str, Any]] = {}


class PostgresClaiming(SqlClaiming):
    """Grants and prolongs leases."""

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._floors = Floors()
        self._gated: frozenset[str] | set[str] = frozenset()
        """Queues that were gated when they were last looked at."""

    @operation("claim")
    def _claim(self, request: Claim) -> Steps[Claimed]:
        queues = list(dict.fromkeys(request.queues))
        if self._gated.isdisjoint(queues):
            claimed = yield from self._plain(request, queues)
            if claimed is not None:
                return claimed
        while True:
            now = yield from ask(NOW)
            horizons = yield from self._entered(queues, now)
            gated = {each.queue for each in horizons if each.gated}
            self._gated = (self._gated - set(queues)) | gated
            if gated:
                return (yield from self._behind_gates(request, horizons, now))
            claimed = yield from self._plain(request, queues, {"tending": False})
            if claimed is not None:
                return claimed

    def _plain(
        self, request: Claim, queues: list[str], known: Mapping[str, Any] = _NOTHING
    ) -> Steps[Claimed | None]:
        """From the plain lines alone; nothing if there is something to see to first."""
        asked = {
            "queues": queues,
            "most": request.limit,
            "lease": request.lease,
            "worker": request.worker,
            "nonce": stored_nonce(request.nonce),
            "bound": self._bounds.cleanup_jobs,
            **self._floors.under(queues),
            **known,
        }
        rows = yield from ask(Call("claim", asked))
        if rows and rows[-1][_TEND]:
            return None
        *granted, last = rows or []
        granted.sort(key=_rank)
        self._floors.learn(queues, granted, last[_STEPS:])
        now = last[_NOW]
        jobs = leased([row[:_LEASE] for row in granted], request.nonce)
        return Claimed(
            jobs=(yield from leased_in_flows(jobs)),
            now=now,
            until=now + request.lease,
            next_due=last[_NEXT_DUE],
        )

    @operation("renew")
    def _renew(self, request: Renew) -> Steps[Renewed]:
        items = request.items
        asked: dict[str, Any] = {
            "ids": [item.id for item in items],
            "attempts": [item.token.attempt for item in items],
            "nonces": [stored_nonce(item.token.nonce) for item in items],
            "progress": [item.progress for item in items],
            "lease": request.lease,
        }
        rows = (yield from ask(Call("renew", asked))) or []
        *kept, (_, _, now) = rows
        until = now + request.lease
        holds = {item: Hold.CANCEL if stop else Hold.KEPT for item, stop, _ in kept}
        missing = [number for number in range(1, len(items) + 1) if number not in holds]
        if missing:
            rest = Renew(items=tuple([items[n - 1] for n in missing]), lease=request.lease)
            holds |= zip(missing, (yield from renewed(rest, until)), strict=True)
        return Renewed(
            holds=tuple([holds[n] for n in range(1, len(items) + 1)]), now=now, until=until
        )


_LEASE = 15
_NOW, _NEXT_DUE, _TEND, _STEPS = 16, 17, 18, 19
_rank = itemgetter(6, 15)
"""Priority and place."""
