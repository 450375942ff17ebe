"""Housekeeping in a SQL database."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any, Final

import msgspec

from oxmill.drivers.sql.changes import Changes, delete
from oxmill.drivers.sql.opening import rules_ended
from oxmill.drivers.sql.retiring import retire
from oxmill.drivers.sql.rippling import sweep_flows
from oxmill.drivers.sql.rows import json_text, standings
from oxmill.drivers.sql.rulebook import key_of
from oxmill.drivers.sql.steps import NOW, Look, Rows, Statement, operation
from oxmill.drivers.sql.tally import Tally
from oxmill.drivers.sql.tending import Due, Horizon, Tended, expire, fall_due, lapse, look_ahead
from oxmill.drivers.sql.uniques import Keys
from oxmill.drivers.sql.web import Web
from oxmill.model.bounds import Bounds
from oxmill.model.info import Beat, Beaten, Command, Order, Ordered, Prune, Pruned, Sweep, Swept
from oxmill.model.settings import DAY, SECOND
from oxmill.model.value import Micros
from oxmill.store.capabilities import Capability
from oxmill.store.plan import Steps, ask

KEEP_EVENTS: Final[Micros] = 30 * DAY
KEEP_METERS: Final[Micros] = 60 * SECOND
"""Kept for so long after they say nothing any more, should the clock be stepped back."""
STEP_TOLERANCE: Final[Micros] = SECOND


class SqlHousekeeping:
    """Bounded steps, safe when several run at once."""

    def __init__(
        self,
        bounds: Bounds,
        able: Capability,
        after_prune: Callable[[Any], None] | None = None,
        after_sweep: Statement | None = None,
    ) -> None:
        self._bounds = bounds
        self._able = able
        self._after_prune = after_prune
        """What the store does for itself, on the open connection, once rows are gone."""
        self._after_sweep = after_sweep
        """What else a store has swept from time to time."""

    @operation("sweep")
    def sweep(self, request: Sweep) -> Steps[Swept]:
        """Do for all queues what a claim does for its own."""
        now, limit = (yield from ask(NOW)), request.limit
        done = Tended()
        running = json_text((yield from _queues_with("running")))
        step = {"queues": running, "now": now, "tolerance": STEP_TOLERANCE}
        yield from ask(Statement("cut_leases", step | {"most": self._bounds.cleanup_jobs}))
        horizons = yield from _horizons(now)
        lapsed = yield from _gather("lapsed", _past(horizons, "lease_until", now), now, limit)
        yield from lapse(lapsed[:limit], now, done)
        due = yield from _due(_past(horizons, "due_at", now), now, limit)
        yield from fall_due(due, done)
        late = yield from _gather("expired", _past(horizons, "expires_at", now), now, limit)
        yield from expire(late[:limit], now, done)
        rules = yield from ask(Statement("drop_ended_rules", {"now": now}))
        opened = yield from rules_ended(key_of(row) for row in rules)
        web = Web(now)
        overdue = False
        if Capability.FLOWS in self._able:
            overdue = yield from sweep_flows(web, done.news, limit)
        done.ended += (job_id for job_id in web.ended if job_id not in done.ended)
        if self._after_sweep is not None:
            yield from ask(self._after_sweep)
        return Swept(
            lapsed=done.lapsed,
            poisoned=done.poisoned,
            due=done.due,
            expired=done.expired,
            more=len(lapsed) > limit or len(late) > limit or done.due == limit or overdue,
            queues=tuple(sorted({*done.gained, *web.gained, *opened})),
            ended=tuple(done.ended),
            news=web.told,
        )

    @operation("prune")
    def prune(self, request: Prune) -> Steps[Pruned]:
        """Delete ended jobs past their retention, with all that belongs to them."""
        now = yield from ask(NOW)
        asked = {"now": now, "most": request.limit + 1}
        jobs = standings((yield from ask(Statement("prunable", asked, locks=True))))
        gone = jobs[: request.limit]
        tally = Tally()
        for job in gone:
            tally.add(job.queue, job.state, -1)
        yield from delete(gone)
        yield from tally.write()
        retired, more = 0, False
        if Capability.FLOWS in self._able:
            room = request.limit - len(gone)
            retired, more = yield from retire(Web(now), room, self._bounds.cleanup_jobs)
        yield from ask(Statement("prune_keys", {"now": now, "most": request.limit}))
        idle = {"now": now - KEEP_METERS, "most": request.limit}
        yield from ask(Statement("prune_meters", idle))
        old = {"before": now - KEEP_EVENTS, "most": request.limit}
        yield from ask(Statement("prune_events", old))
        if self._after_prune is not None:
            yield from ask(Look(self._after_prune))
        return Pruned(jobs=len(gone) + retired, more=len(jobs) > request.limit or more)

    @operation("beat")
    def beat(self, request: Beat) -> Steps[Beaten]:
        """Record a worker, forget stale ones, and pass on what people ask of it."""
        now, worker = (yield from ask(NOW)), request.worker
        gone = worker.id if request.gone else None
        yield from ask(Statement("drop_workers", {"now": now, "id": gone}))
        if request.gone:
            return Beaten(now=now)
        rows = yield from ask(Statement("worker_by_id", {"id": worker.id}, locks=True))
        started_at, command = rows[0] if rows else (now, Command.NONE.value)
        info = msgspec.structs.replace(worker, started_at=started_at, beat_at=now)
        there = {
            "id": worker.id,
            "started_at": started_at,
            "stale_at": now + request.ttl,
            "command": command,
            "info": msgspec.json.encode(info).decode(),
        }
        yield from ask(Statement("put_worker", there))
        return Beaten(now=now, command=Command(command))

    @operation("order")
    def order(self, request: Order) -> Steps[Ordered]:
        """Workers that are there learn the command with their next beat."""
        now = yield from ask(NOW)
        asked = {"ids": json_text(request.workers), "command": request.command.value, "now": now}
        there = {worker for (worker,) in (yield from ask(Statement("order_workers", asked)))}
        changes = Changes(now, Keys(), {})
        ordered = [worker for worker in dict.fromkeys(request.workers) if worker in there]
        for worker in ordered:
            changes.tell("order", worker, author=request.author, detail=request.command.value)
        yield from changes.write()
        return Ordered(workers=tuple(ordered))


def _queues_with(state: str) -> Steps[list[str]]:
    rows = yield from ask(Statement("queues_with", {"state": state}, counts=True))
    return [queue for (queue,) in rows]


def _horizons(now: Micros) -> Steps[list[Horizon]]:
    """What comes next in every queue that has live jobs."""
    queues: dict[str, None] = {}
    for state in ("running", "scheduled", "waiting", "held"):
        queues.update(dict.fromkeys((yield from _queues_with(state))))
    return (yield from look_ahead(sorted(queues), now))


def _past(horizons: list[Horizon], moment: str, now: Micros) -> list[str]:
    """The queues where this moment has come."""
    return [
        each.queue
        for each in horizons
        if (when := getattr(each, moment)) is not None and when <= now
    ]


def _gather(name: str, queues: list[str], now: Micros, limit: int) -> Steps[Rows]:
    """What one statement finds in these queues, the earliest moments first; one more than the
    limit tells that there is more."""
    found: Rows = []
    for queue in queues:
        asked = {"queue": queue, "now": now, "most": limit + 1}
        found += yield from ask(Statement(name, asked, locks=True))
    return sorted(found, key=itemgetter(0, 1))[: limit + 1]


def _due(queues: list[str], now: Micros, limit: int) -> Steps[list[Due]]:
    """The due jobs of all queues, in the order of their due times."""
    heads: list[tuple[Any, ...]] = []
    for queue in queues:
        asked = {"queue": queue, "now": now, "most": limit}
        rows = yield from ask(Statement("due", asked, locks=True))
        heads += [(*row, queue) for row in rows]
    earliest = sorted(heads, key=itemgetter(0, 1))[:limit]
    return [(queue, seq, priority, group) for _, seq, priority, group, queue in earliest]
