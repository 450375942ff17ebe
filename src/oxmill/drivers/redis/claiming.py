"""Claiming on Redis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, Final

from oxmill.drivers.redis.record import leased, pack_id
from oxmill.drivers.redis.script import CLAIM, CLAIM_IDS, RENEW, Call
from oxmill.drivers.redis.seeking import AT_ONCE, seek
from oxmill.drivers.redis.space import Space
from oxmill.errors import BadInput
from oxmill.model.claim import Claim, Claimed, ClaimIds, Hold, Renew, Renewed
from oxmill.model.job import LeasedJob
from oxmill.model.value import Micros
from oxmill.store.admission import check_claim
from oxmill.store.plan import Plan, Steps, Together, ask, plan

_HOLDS: Final = (Hold.LOST, Hold.KEPT, Hold.CANCEL)
_AT_ONCE: Final = 250
"""Jobs that one script grants at most."""
_MORE: Final = -1
"""There is more to give. Below it: so many queues were seen to, and the rest comes first."""


class RedisClaiming:
    """Grants and prolongs leases."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._turns: Callable[[], int] = count().__next__

    def claim(self, request: Claim) -> Plan[Claimed]:
        """At most `limit` jobs, each to this holder only, best rank first within a shard."""
        check_claim(request, self._space.bounds)
        return self._claim(request)

    @plan("claim")
    def _claim(self, request: Claim) -> Steps[Claimed]:
        """The shards are asked in turn, each claim starting with the next one; who wants many is
        given them by several short scripts. So is what has to be seen to first, if that is much. A queue with gates
        says if it has more to give."""
        space, first = self._space, self._turns()
        queues = tuple(dict.fromkeys(request.queues))
        jobs: list[LeasedJob] = []
        now, next_due, turn, seen = 0, 0, 0, 0
        while turn < space.shards and len(jobs) < request.limit:
            wanted = min(request.limit - len(jobs), _AT_ONCE)
            call = space.call(
                CLAIM,
                *_terms(request),
                wanted,
                space.bounds.cleanup_jobs,
                seen,
                *queues,
                shard=(first + turn) % space.shards,
            )
            reply = yield from ask(call)
            now = now or reply[0]
            seen = max(_MORE - reply[1], 0)
            if seen:
                continue
            before = len(jobs)
            jobs += leased(reply[2:], request.nonce)
            if reply[1] == _MORE:
                continue
            next_due = min(reply[1] or next_due, next_due or reply[1])
            if len(jobs) - before < wanted:
                turn += 1
        full = len(jobs) == request.limit
        return Claimed(
            jobs=tuple(jobs),
            now=now,
            until=now + request.lease,
            next_due=None if full else next_due or None,
        )

    def claim_ids(self, request: ClaimIds) -> Plan[Claimed]:
        """Those of the named jobs that `claim` could grant now, in the order named."""
        _check_lease(request.lease, self._space)
        return self._claim_ids(request)

    @plan("claim_ids")
    def _claim_ids(self, request: ClaimIds) -> Steps[Claimed]:
        ids = tuple(dict.fromkeys(request.ids))
        granted: dict[str, LeasedJob] = {}
        now = 0
        for first in range(0, max(len(ids), 1), AT_ONCE):
            some = tuple(map(pack_id, ids[first : first + AT_ONCE]))
            for reply in (yield from self._claim_some(request, some)):
                granted.update((job.id, job) for job in leased(reply[2:], request.nonce))
                now = min(now or reply[0], reply[0])
        return Claimed(
            jobs=tuple(granted[each] for each in ids if each in granted),
            now=now,
            until=now + request.lease,
        )

    def _claim_some(self, request: ClaimIds, ids: Sequence[bytes]) -> Steps[list[Any]]:
        """The replies of all shards; one that has to see to many queues first is asked again."""
        space, seen = self._space, dict.fromkeys(range(self._space.shards), 0)
        done: list[Any] = []
        while seen:
            calls = tuple(
                space.call(
                    CLAIM_IDS, *_terms(request), space.bounds.cleanup_jobs, count, *ids, shard=shard
                )
                for shard, count in seen.items()
            )
            replies = dict(zip(seen, (yield from ask(Together(calls))), strict=True))
            done += (reply for reply in replies.values() if not reply[1])
            seen = {shard: reply[1] for shard, reply in replies.items() if reply[1]}
        return done

    def renew(self, request: Renew) -> Plan[Renewed]:
        """Prolong leases whose token is still the newest."""
        _check_lease(request.lease, self._space)
        return self._renew(request)

    @plan("renew")
    def _renew(self, request: Renew) -> Steps[Renewed]:
        items, nows = request.items, [0]

        def call(shard: int, places: Sequence[int]) -> Call:
            args: list[Any] = [request.lease]
            for item in (items[place] for place in places):
                args += (pack_id(item.id), item.token.attempt, nonce_text(item.token.nonce))
                args += (0, b"") if item.progress is None else (1, item.progress)
            return self._space.call(RENEW, *args, shard=shard)

        def read(reply: Sequence[int]) -> Sequence[int]:
            nows.append(reply[0])
            return reply[1:]

        codes = yield from seek(self._space, [item.id for item in items], call, read)
        holds = tuple(_HOLDS[code or 0] for code in codes)
        return Renewed(holds=holds, now=min(nows[1:]), until=min(nows[1:]) + request.lease)


def nonce_text(nonce: int) -> str:
    """A nonce as the scripts compare it: as text, since it may be beyond their numbers."""
    return f"{nonce:x}"


def _terms(request: Claim | ClaimIds) -> tuple[Any, ...]:
    return (request.lease, request.worker, nonce_text(request.nonce))


def _check_lease(lease: Micros, space: Space) -> None:
    if not 0 < lease <= space.bounds.lease:
        raise BadInput("a lease must last longer than 0 seconds and at most a day")
