"""Claiming in PostgreSQL: one call, unless a lease has lapsed, a job expired or a queue is gated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from operator import itemgetter
from typing import Any, Final

from oxmill.drivers.postgres.floors import Floors
from oxmill.drivers.postgres.gated_queues import GatedQueues
from oxmill.drivers.postgres.steps import Call
from oxmill.drivers.sql.claiming import SqlClaiming, renewed
from oxmill.drivers.sql.flow_reading import leased_in_flows
from oxmill.drivers.sql.rows import stored_nonce
from oxmill.drivers.sql.steps import NOW, Rows, Start, operation
from oxmill.drivers.sql.tending import Ahead
from oxmill.model.bounds import Bounds
from oxmill.model.claim import Claim, Claimed, Hold, Renew, Renewed
from oxmill.model.news import NO_NEWS
from oxmill.store.plan import Plan, Steps, ask

_NOTHING: Final[Mapping[str, Any]] = {}
_TENDED: Final[Mapping[str, Any]] = {"tending": False}

Short = Callable[[Claim], Steps[Claimed | None]]
"""A way to claim in one call, which may find that it does not do."""


class PostgresClaiming(SqlClaiming):
    """Grants and prolongs leases."""

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._floors = Floors()
        self._gated = GatedQueues()

    def _claim(self, request: Claim) -> Plan[Claimed]:
        """The way is chosen here, once: a plan that is started again must ask the same."""
        queues = list(dict.fromkeys(request.queues))
        terms = self._gated.terms_of(queues)
        short: Short | None = None
        if terms is not None:
            short = partial(self._through_gates, queue=queues[0], terms=terms)
        elif not self._gated.any(queues):
            short = partial(self._plain, queues=queues)
        return Plan("claim", request, Start(partial(_by_the, short), self, request))

    def by_way_of(self, short: Short | None, request: Claim) -> Steps[Claimed]:
        """The short way if there is one, and the long way if that does not do."""
        queues = list(dict.fromkeys(request.queues))
        claimed = None if short is None else (yield from short(request))
        while claimed is None:
            now = yield from ask(NOW)
            # Of several gates all are entered at once, in one order: only one can be guessed.
            held = queues if len(queues) == 1 and self._gated.any(queues) else ()
            ahead = yield from self._holding(held, queues, now)
            gated = {each.queue for each in ahead.horizons if each.gated}
            self._gated.see(queues, gated)
            if gated:
                return (yield from self._behind_gates(request, ahead, now))
            claimed = yield from self._plain(request, queues, ahead)
        return claimed

    def _through_gates(
        self, request: Claim, queue: str, terms: Mapping[str, Any]
    ) -> Steps[Claimed | None]:
        """The usual claim of one gated queue; nothing if it is none."""
        asked = {
            "queue": queue,
            "most": request.limit,
            "lease": request.lease,
            "worker": request.worker,
            "nonce": stored_nonce(request.nonce),
            "bound": self._bounds.cleanup_jobs,
            **terms,
        }
        *granted, last = (yield from ask(Call("claim_gated", asked))) or []
        *_, now, next_due, tend = last
        if tend:
            self._gated.learn(queue, last[_EXTRAS])
            return None
        by_seq = {row[0]: row[:_LEASE] for row in granted}
        rows = [by_seq[int(seq)] for seq in last[_EXTRAS].split(",") if seq]
        return Claimed(
            jobs=(yield from leased_in_flows(rows, request.nonce)),
            now=now,
            until=now + request.lease,
            next_due=next_due,
        )

    def _plain(
        self, request: Claim, queues: list[str], tended: Ahead | None = None
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
            **(_NOTHING if tended is None else _TENDED),
        }
        (*granted, last), fields = _apart((yield from ask(Call("claim", asked))) or [])
        now, next_due, tend, *steps = last[_TOLD]
        if tend:
            return None
        granted.sort(key=_rank)
        self._floors.learn(queues, granted, steps)
        leases = [row[:_LEASE] for row in granted]
        return Claimed(
            jobs=(yield from leased_in_flows(leases, request.nonce, fields)),
            now=now,
            until=now + request.lease,
            next_due=next_due,
            gained=() if tended is None else tended.gained,
            news=NO_NEWS if tended is None else tended.news,
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


def _apart(rows: Rows) -> tuple[Rows, Rows]:
    """What was granted, with the row that comes last, and what these jobs read of their flows, which
    follows where steps were settled before."""
    end = len(rows)
    while end and rows[end - 1][_TOLD] is None:
        end -= 1
    return rows[:end], [(row[_FLOW], row[_NAME], row[_VALUE]) for row in rows[end:]]


def _by_the(short: Short | None, claiming: PostgresClaiming, request: Claim) -> Steps[Claimed]:
    return claiming.by_way_of(short, request)


_FLOW, _NAME, _VALUE = 1, 2, 4
_LEASE, _EXTRAS = 15, 12
_TOLD = 16
_rank = itemgetter(6, 15)
"""Priority and place."""
