"""Claiming in a SQL database."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import merge
from itertools import islice

from oxmill.drivers.sql.flow_reading import leased_in_flows
from oxmill.drivers.sql.flow_rows import Ripple
from oxmill.drivers.sql.granting import grant
from oxmill.drivers.sql.resuming import room_for
from oxmill.drivers.sql.rippling import spread
from oxmill.drivers.sql.rows import Standing, json_text, standings
from oxmill.drivers.sql.steps import NOW, Guard, Many, Rows, Statement, abreast, operation
from oxmill.drivers.sql.tally import Tally
from oxmill.drivers.sql.tending import LAPSE, Ahead, Horizon, look_ahead, tend
from oxmill.drivers.sql.web import Web
from oxmill.errors import BadInput
from oxmill.model.bounds import Bounds
from oxmill.model.claim import Claim, Claimed, ClaimIds, Hold, Renew, Renewed
from oxmill.model.state import State
from oxmill.model.value import Micros
from oxmill.store.admission import check_claim
from oxmill.store.plan import Plan, Steps, ask


class SqlClaiming:
    """Grants and prolongs leases."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds

    def claim(self, request: Claim) -> Plan[Claimed]:
        """At most `limit` jobs, each to this holder only, best rank first."""
        check_claim(request, self._bounds)
        return self._claim(request)

    @operation("claim")
    def _claim(self, request: Claim) -> Steps[Claimed]:
        now = yield from ask(NOW)
        queues = list(dict.fromkeys(request.queues))
        ahead = yield from self._entered(queues, now)
        if any(each.gated for each in ahead.horizons):
            return (yield from self._behind_gates(request, ahead, now))
        opened = [each for each in ahead.horizons if not each.closed]
        lines = [each.queue for each in opened if each.waiting]
        rows = yield from _line(lines, now, request.limit)
        yield from grant(rows, request, now)
        return (yield from claimed(request, ahead, now, rows, []))

    def _behind_gates(self, request: Claim, ahead: Ahead, now: Micros) -> Steps[Claimed]:
        """A claim on queues of which at least one may be gated."""
        from oxmill.drivers.sql.gating import GatedClaim  # noqa: PLC0415 - idle workers do without

        opened = [each for each in ahead.horizons if not each.closed]
        names = [each.queue for each in opened]
        gated = [each.queue for each in opened if each.gated]
        rows, moments = yield from GatedClaim(request, names, gated, now, self._bounds).grant()
        return (yield from claimed(request, ahead, now, rows, moments))

    def claim_ids(self, request: ClaimIds) -> Plan[Claimed]:
        """Those of the named jobs that `claim` could grant now, in the order named."""
        self._check_lease(request.lease)
        return self._claim_ids(request)

    @operation("claim_ids")
    def _claim_ids(self, request: ClaimIds) -> Steps[Claimed]:
        now = yield from ask(NOW)
        ids = {"ids": json_text(dict.fromkeys(request.ids))}
        named = standings((yield from ask(Statement("standings_by_id", ids))))
        queues = list(dict.fromkeys(job.queue for job in named))
        ahead = yield from self._entered(queues, now)
        opened = {each.queue for each in ahead.horizons if not each.closed}
        found = standings((yield from ask(Statement("standings_by_id", ids, locks=True))))
        by_id = {job.id: job for job in found}
        chosen = [
            job
            for job in (by_id[name] for name in dict.fromkeys(request.ids) if name in by_id)
            if job.state is State.WAITING
            and job.queue in opened
            and (job.attempt > 0 or job.expires_at is None or job.expires_at > now)
        ]
        seqs = json_text(job.seq for job in chosen)
        rows = yield from ask(Statement("leases_by_seq", {"seqs": seqs}))
        gated = {each.queue for each in ahead.horizons if each.gated}
        if any(job.queue in gated for job in chosen):
            from oxmill.drivers.sql.naming import through_gates  # noqa: PLC0415 - idle workers do without

            rows = yield from through_gates(rows, chosen, now)
        yield from grant(rows, request, now)
        jobs = yield from leased_in_flows(rows, request.nonce)
        until = now + request.lease
        return Claimed(jobs=jobs, now=now, until=until, gained=ahead.gained, news=ahead.news)

    def renew(self, request: Renew) -> Plan[Renewed]:
        """Prolong leases whose token is still the newest."""
        self._check_lease(request.lease)
        return self._renew(request)

    @operation("renew")
    def _renew(self, request: Renew) -> Steps[Renewed]:
        now = yield from ask(NOW)
        holds = yield from renewed(request, now + request.lease)
        return Renewed(holds=holds, now=now, until=now + request.lease)

    def _entered(self, queues: list[str], now: Micros) -> Steps[Ahead]:
        """The same; nobody else decides by the gates that these queues may have."""
        return (yield from self._holding((), queues, now))

    def _holding(self, held: Sequence[str], queues: list[str], now: Micros) -> Steps[Ahead]:
        """The same, where some gates are held in any case: if there are no others, one look does."""
        if held:
            ahead = yield from _guarded(held, queues, now)
        else:
            ahead = yield from look_ahead(queues, now)
        gated = [each.queue for each in ahead if each.gated and not each.closed]
        if not set(gated).issubset(held):
            ahead = yield from _guarded(gated, queues, now)
        return (yield from self._tended(queues, now, ahead))

    def _tended(self, queues: list[str], now: Micros, horizons: list[Horizon]) -> Steps[Ahead]:
        """What comes next in these queues, once everything due there is seen to."""
        reached = [each for each in horizons if each.reached(now)]
        if not reached:
            return Ahead(horizons)
        bound = self._bounds.cleanup_jobs
        news: list[Standing | Ripple] = []
        for each in reached:
            news += (yield from tend(each, now, bound)).news
        web = Web(now)
        if news:
            yield from spread(web, news, bound)
        return Ahead((yield from look_ahead(queues, now)), tuple(sorted(web.gained)), web.told)

    def _check_lease(self, lease: Micros) -> None:
        if not 0 < lease <= self._bounds.lease:
            raise BadInput(
                f"a lease of {lease / 1e6:g} s is out of range; use more than 0 seconds and at "
                f"most a day, and renew it"
            )


def _guarded(held: Sequence[str], queues: list[str], now: Micros) -> Steps[list[Horizon]]:
    """What comes next in these queues, once the gates of some are guarded."""
    _, ahead = yield from abreast(ask(Guard(held)), look_ahead(queues, now))
    found: list[Horizon] = ahead
    return found


def _line(queues: list[str], now: Micros, limit: int) -> Steps[Rows]:
    """The best jobs in line over all these queues, in the order of their rank."""
    if len(queues) == 1:
        asked = {"queue": queues[0], "now": now, "most": limit}
        return (yield from ask(Statement("line_of_one", asked, locks=True)))
    chosen = yield from _best(queues, now, limit)
    if not chosen:
        return []
    return (yield from ask(Statement("leases_by_seq", {"seqs": json_text(chosen)})))


def _best(queues: list[str], now: Micros, limit: int) -> Steps[list[int]]:
    """The seqs of the best jobs over several lines. From each line a little more than its share is
    read, and more only where all of that is among the best."""
    heads: dict[str, Rows] = {}
    sizes = dict.fromkeys(queues, min(limit, 2 * limit // max(len(queues), 1) + 1))
    unsure = queues
    ranked: Rows = []
    while unsure:
        for queue in unsure:
            asked = {"queue": queue, "now": now, "most": sizes[queue]}
            heads[queue] = yield from ask(Statement("line_heads", asked))
        ranked = list(islice(merge(*heads.values()), limit))
        last = ranked[-1] if len(ranked) == limit else None
        unsure = [
            queue
            for queue, head in heads.items()
            if len(head) == sizes[queue] < limit and (last is None or head[-1] <= last)
        ]
        sizes |= {queue: min(limit, 4 * sizes[queue]) for queue in unsure}
    return [seq for _, _, seq in ranked]


def claimed(
    request: Claim, ahead: Ahead, now: Micros, rows: Rows, gates: list[Micros]
) -> Steps[Claimed]:
    """The answer to a claim: the jobs granted, and when to look again if there were not enough."""
    until = now + request.lease
    full = len(rows) == request.limit
    opened = [each for each in ahead.horizons if not each.closed]
    return Claimed(
        jobs=(yield from leased_in_flows(rows, request.nonce)),
        now=now,
        until=until,
        next_due=None if full else _next_due(opened, rows, until, gates),
        gained=ahead.gained,
        news=ahead.news,
    )


def _next_due(
    opened: Sequence[Horizon], rows: Rows, until: Micros, gates: Sequence[Micros]
) -> Micros | None:
    moments = [moment for each in opened for moment in (each.due_at, each.lease_until)]
    moments += gates
    if rows:
        moments.append(until)
    return min((moment for moment in moments if moment is not None), default=None)


def renewed(request: Renew, until: Micros) -> Steps[tuple[Hold, ...]]:
    """Judge each renewal by its token, then prolong what is held."""
    ids = {"ids": json_text(dict.fromkeys(item.id for item in request.items))}
    rows: Rows = []
    if request.items:
        rows = yield from ask(Statement("standings_by_id", ids, locks=True))
    jobs = {job.id: job for job in standings(rows)}
    tally = Tally()
    room = yield from room_for(job for job in jobs.values() if _lapsed(job))
    kept: dict[int, None] = {}
    back: list[tuple[int, int]] = []
    progress: list[tuple[bytes, int]] = []
    holds: list[Hold] = []
    for item in request.items:
        job = jobs.get(item.id)
        if (
            job is None
            or not job.held_under(item.token)
            or not (job.state is State.RUNNING or (_lapsed(job) and room.enter(job)))
        ):
            holds.append(Hold.LOST)
            continue
        if job.state is not State.RUNNING:
            tally.move(job.queue, State.WAITING, State.RUNNING)
            job.state = State.RUNNING
            back.append((job.seq, job.attempt))
        kept[job.seq] = None
        if item.progress is not None:
            progress.append((item.progress, job.seq))
        holds.append(Hold.CANCEL if job.cancel_requested else Hold.KEPT)
    if kept:
        asked = {"seqs": json_text(kept), "lease": request.lease, "until": until}
        yield from ask(Statement("prolong", asked))
    if progress:
        yield from ask(Many("save_progress", progress))
    if back:
        yield from ask(Many("drop_attempt", back))
    yield from tally.write()
    return tuple(holds)


def _lapsed(job: Standing) -> bool:
    return job.state is State.WAITING and job.last_outcome == LAPSE
