"""Claiming in MariaDB or MySQL: the usual claim and renewal in one round trip."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any, Final, cast

from oxmill.drivers.mysql.granted import Granted, granting
from oxmill.drivers.mysql.knocking import Knocking
from oxmill.drivers.mysql.literals import Sql
from oxmill.drivers.mysql.manner import Manner
from oxmill.drivers.mysql.shortcut import HotStart, Last, Result, Shortcut
from oxmill.drivers.mysql.statements import statement
from oxmill.drivers.mysql.taking_turns import TakingTurns
from oxmill.drivers.sql.claiming import SqlClaiming
from oxmill.drivers.sql.rows import json_text, stored_nonce
from oxmill.drivers.sql.steps import Enter, Guard, abreast
from oxmill.drivers.sql.tending import Ahead, look_ahead
from oxmill.model.bounds import Bounds
from oxmill.model.claim import Claim, Claimed, Hold, Renew, Renewed
from oxmill.model.value import Micros
from oxmill.store.plan import Plan, Steps, ask

_MANY: Final = 20
"""Queues that a claim looks at in one go; more go the long way."""


class MysqlClaiming(SqlClaiming):
    """Grants and prolongs leases."""

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._gated: dict[str, Manner] = {}
        """Queues that were gated when they were last looked at: there the shortcut is not tried."""

    def claim(self, request: Claim) -> Plan[Claimed]:
        """At most `limit` jobs, each to this holder only, best rank first."""
        plan = super().claim(request)
        if not 0 < len(set(request.queues)) <= _MANY:
            return plan
        return Plan(plan.name, request, self._start(plan, request))

    def _start(self, plan: Plan[Claimed], request: Claim) -> ClaimStart:
        queues = list(dict.fromkeys(request.queues))
        known = [manner for queue in queues if (manner := self._gated.get(queue)) is not None]
        if not known:
            return ClaimStart(_long_way, plan, request, Taking(request))
        manner = known[0]
        knocking = ClaimStart(_long_way, plan, request, Knocking(queues, request.limit, manner))
        if len(queues) > 1 or manner.terms is None:
            return knocking
        return ClaimStart(_otherwise, knocking, request, TakingTurns(request, manner, manner.terms))

    def _entered(self, queues: list[str], now: Micros) -> Steps[Ahead]:
        known = [queue for queue in queues if queue in self._gated]
        ahead = yield from self._known(queues, known, now)
        for each in ahead.horizons:
            if each.gated:
                self._gated.setdefault(each.queue, Manner())
            else:
                self._gated.pop(each.queue, None)
        return ahead

    def _known(self, queues: list[str], known: list[str], now: Micros) -> Steps[Ahead]:
        """The same. Where gates are known they are locked first, and looked at once."""
        if known:
            yield from ask(Guard(known))
            ahead, _ = yield from abreast(look_ahead(queues, now), ask(Enter(known)))
            if all(each.queue in known or each.closed or not each.gated for each in ahead):
                return (yield from self._tended(queues, now, ahead))
        return (yield from super()._entered(queues, now))

    def renew(self, request: Renew) -> Plan[Renewed]:
        """Prolong leases whose token is still the newest."""
        plan = super().renew(request)
        if not _plain(request):
            return plan
        return Plan(plan.name, request, HotStart(_long_way, plan, request, Renewing(request)))


class ClaimStart(HotStart[Claimed], frozen=True):
    """A claim, of which leases of jobs of flows are told more."""

    def completed(self, answer: Any) -> Steps[Claimed]:
        """The leases with what their jobs read and what was joined."""
        granted: Granted = answer
        return cast("Claimed", (yield Last(granted.claimed)))


def _long_way(plan: Plan[Any], _: object) -> Steps[Any]:
    return plan.start()


def _otherwise(start: ClaimStart, _: object) -> Steps[Claimed]:
    return start()


def _plain(request: Renew) -> bool:
    ids = {item.id for item in request.items if item.progress is None}
    return len(ids) == len(request.items) > 0


class Taking(Shortcut[Any]):
    """Jobs from the heads of the lines, unless something is due in these queues first."""

    __slots__ = ("_queues", "_request")

    def __init__(self, request: Claim) -> None:
        self._request = request
        self._queues = list(dict.fromkeys(request.queues))

    def statements(self) -> list[bytes]:
        """Look, take, count, free keys, tell what was taken and what comes next."""
        request, places = self._request, list(enumerate(self._queues))
        asked = {
            "nonce": stored_nonce(request.nonce),
            "worker": request.worker,
            "lease": request.lease,
            "shelves": json_text(f"running {queue}" for queue in self._queues),
            "most": request.limit,
        }

        def each(name: str) -> list[bytes]:
            return [
                statement(name, asked | {"place": place, "queue": queue}) for place, queue in places
            ]

        texts = [*each("claim_look"), *each("claim_ready"), *each("claim_line")]
        if len(places) == 1:
            texts += [statement("claim_first", asked), *granting(asked), *each("claim_count_one")]
        else:
            texts += [statement("claim_choose", {"heads": Sql(self._heads())}), *granting(asked)]
            texts += [statement("claim_count", asked), statement("claim_given", asked)]
        return texts + each("claim_told")

    def _heads(self) -> bytes:
        most = {"most": self._request.limit}
        heads = [
            statement("claim_head", most | {"place": place}) for place in range(len(self._queues))
        ]
        every = b" UNION ALL ".join(b"(%b)" % head for head in heads)
        return b"%b ORDER BY spot, place LIMIT %d" % (every, self._request.limit)

    def answer(self, results: Sequence[Result]) -> Granted | None:
        """What was granted, and when to look again."""
        request, number = self._request, len(self._queues)
        told = [result.rows[0] for result in results[-number:]]
        now, ready = told[0][:2]
        if not ready:
            return None
        several = number > 1
        rows = sorted(results[-number - 1].rows, key=_RANK) if several else results[FIRST].rows
        until = now + request.lease
        moments = [moment for _, _, closed, *found in told if not closed for moment in found]
        if rows:
            moments.append(until)
        return Granted(
            [row[:-1] for row in rows],
            request,
            now,
            None
            if len(rows) == request.limit
            else min((moment for moment in moments if moment is not None), default=None),
        )


FIRST: Final = 3
"""Where a claim of one queue reads its rows, among its statements."""
_RANK: Final = itemgetter(6, -1)
"""Priority and place, in the columns of a lease and the one after them."""


class Renewing(Shortcut[Renewed]):
    """Leases that are all held, of jobs of which none is asked to stop."""

    __slots__ = ("_request",)

    def __init__(self, request: Renew) -> None:
        self._request = request

    def statements(self) -> list[bytes]:
        """Lock and check, prolong, tell."""
        request = self._request
        items = sorted((i.id, i.token.attempt, stored_nonce(i.token.nonce)) for i in request.items)
        asked = {"items": json_text(items), "many": len(items)}
        ids = {"ids": json_text(item[0] for item in items), "lease": request.lease}
        return [
            statement("renew_check", asked),
            statement("renew_plain", ids),
            statement("renew_told", {}),
        ]

    def answer(self, results: Sequence[Result]) -> Renewed | None:
        """All are kept, if they could be."""
        ((ready, now),) = results[-1].rows
        if not ready:
            return None
        holds = (Hold.KEPT,) * len(self._request.items)
        return Renewed(holds=holds, now=now, until=now + self._request.lease)
