"""Inspecting in a SQL database."""

from __future__ import annotations

from typing import Any

import msgspec

from oxmill.drivers.sql.flow_reading import list_flows, told_in_flows
from oxmill.drivers.sql.limits import load_settings
from oxmill.drivers.sql.rows import attempt_of, job_of, json_text
from oxmill.drivers.sql.rulebook import rule_of
from oxmill.drivers.sql.steps import NOW, Rows, Statement, abreast, operation
from oxmill.model.bounds import Bounds
from oxmill.model.flow import Flows, ListFlows
from oxmill.model.info import (
    Event,
    EventsAfter,
    ListQueues,
    ListWorkers,
    QueueInfo,
    Queues,
    WorkerInfo,
    Workers,
)
from oxmill.model.job import Attempt, Job
from oxmill.model.query import Find, Get, Page
from oxmill.model.rule import Rule, Scope
from oxmill.model.settings import QueueSettings
from oxmill.model.settlement import Outcome
from oxmill.model.state import State
from oxmill.model.value import Micros
from oxmill.store.admission import check_find, need
from oxmill.store.capabilities import Capability
from oxmill.store.flow_admission import check_list_flows
from oxmill.store.plan import Plan, Steps, ask


class SqlInspecting:
    """Reads, each on one snapshot."""

    def __init__(self, bounds: Bounds, able: Capability) -> None:
        self._bounds = bounds
        self._able = able

    @operation("get", writes=False)
    def get(self, request: Get) -> Steps[tuple[Job, ...]]:
        """These jobs in full, in the order asked; unknown ids are left out."""
        rows = yield from ask(Statement("jobs_by_id", {"ids": json_text(request.ids)}))
        seqs = json_text(dict.fromkeys(row[0] for row in rows))
        past: dict[int, list[Attempt]] = {}
        for row in (yield from ask(Statement("attempts_of", {"jobs": seqs}))):
            past.setdefault(row[0], []).append(attempt_of(row))
        jobs = [_with_history(row, past.get(row[0], [])) for row in rows]
        return (yield from told_in_flows(jobs, whole=True))

    def find(self, request: Find) -> Plan[Page]:
        """A keyset page of matching jobs, newest arrival first."""
        check_find(request)
        return self._find(request)

    @operation("find", writes=False)
    def _find(self, request: Find) -> Steps[Page]:
        from oxmill.drivers.sql.searching import BEGINNING, page_of  # noqa: PLC0415 - idle workers do without

        limit = min(request.limit, self._bounds.page_jobs)
        below = check_find(request)
        below = BEGINNING if below is None else min(below, BEGINNING)
        seqs, after = yield from page_of(request.filter, below, limit)
        rows = yield from ask(Statement("jobs_by_seq", {"seqs": json_text(seqs)}))
        jobs = yield from told_in_flows([job_of(row) for row in rows], whole=False)
        return Page(jobs=jobs, next=None if after is None else str(after))

    @operation("queues", writes=False)
    def queues(self, request: ListQueues) -> Steps[Queues]:
        """Counts by state, totals, rules and settings."""
        now, found, settings, tallies = yield from abreast(
            ask(NOW),
            ask(Statement("rules_all")),
            _settings(request.queues),
            _tallies(request.queues),
        )
        rules = [rule_of(row) for row in found]
        names = set(request.queues) or {
            *(queue for queue, *_ in tallies),
            *settings,
            *(rule.target for rule in rules if rule.scope is Scope.QUEUE),
        }
        asked = {"queues": json_text(sorted(names))}
        heads: dict[str, Micros | None] = dict((yield from ask(Statement("heads_of", asked))))
        infos = {
            name: QueueInfo(
                name=name,
                counts={},
                totals={},
                oldest_waiting=heads[name],
                rules=_open_rules(rules, name, now),
                settings=settings.get(name, QueueSettings()),
            )
            for name in sorted(names)
        }
        items = _counted(infos, tallies)
        told = Queues(items=tuple(items), now=now)
        if request.groups or request.place_of is not None:
            return (yield from _explained(told, request))
        return told

    def flows(self, request: ListFlows) -> Plan[Flows]:
        """A keyset page of flows, newest first."""
        need(self._able, Capability.FLOWS, "flows")
        check_list_flows(request)
        return self._flows(request)

    @operation("flows", writes=False)
    def _flows(self, request: ListFlows) -> Steps[Flows]:
        return (yield from list_flows(self._bounds, request))

    @operation("workers", writes=False)
    def workers(self, request: ListWorkers) -> Steps[Workers]:  # noqa: ARG002 - it asks for all
        """Workers whose last beat is fresh."""
        now = yield from ask(NOW)
        rows = yield from ask(Statement("workers_fresh", {"now": now}))
        items = tuple([msgspec.json.decode(text, type=WorkerInfo) for (text,) in rows])
        return Workers(items=items, now=now)

    @operation("events_after", writes=False)
    def events_after(self, request: EventsAfter) -> Steps[tuple[Event, ...]]:
        """Events in order, without gaps or repeats."""
        asked = {"seq": request.seq, "most": request.limit}
        rows = yield from ask(Statement("events_after", asked))
        return tuple(
            [
                Event(seq=seq, at=at, kind=kind, target=target, author=author, detail=detail)
                for seq, at, kind, target, author, detail in rows
            ]
        )


def _explained(told: Queues, request: ListQueues) -> Steps[Queues]:
    """The same with what was asked for beyond the queues themselves."""
    from oxmill.drivers.sql.explaining import (  # noqa: PLC0415 - idle workers do without
        place_of,
        with_gates,
    )

    if request.groups:
        told = yield from with_gates(told.items, request, told.now)
    if request.place_of is None:
        return told
    place = yield from place_of(request.place_of)
    return msgspec.structs.replace(told, place=place)


def _with_history(row: tuple[Any, ...], past: list[Attempt]) -> Job:
    """A job with every attempt; the newest is known from the job itself unless it is recorded."""
    job = job_of(row)
    outcome = row[4]
    recorded = bool(past) and past[-1].attempt == job.attempt
    if not recorded and (job.state is State.RUNNING or outcome == Outcome.COMPLETE):
        newest = Attempt(
            attempt=job.attempt,
            worker=job.worker or "",
            claimed_at=job.claimed_at or 0,
            ended_at=job.ended_at,
            outcome=outcome,
        )
        past = [*past, newest]
    return msgspec.structs.replace(job, history=tuple(past)) if past else job


def _settings(queues: tuple[str, ...]) -> Steps[dict[str, QueueSettings]]:
    if queues:
        return (yield from load_settings(set(queues)))
    rows = yield from ask(Statement("settings_all"))
    return {queue: msgspec.json.decode(text, type=QueueSettings) for queue, text in rows}


def _tallies(queues: tuple[str, ...]) -> Steps[Rows]:
    if queues:
        return (
            yield from ask(Statement("tallies_of", {"queues": json_text(set(queues))}, counts=True))
        )
    return (yield from ask(Statement("tallies_all", counts=True)))


def _open_rules(rules: list[Rule], queue: str, now: Micros) -> tuple[Rule, ...]:
    return tuple(
        [
            rule
            for rule in rules
            if rule.scope is Scope.QUEUE
            and rule.target == queue
            and (rule.expires_at is None or rule.expires_at > now)
        ]
    )


def _counted(infos: dict[str, QueueInfo], tallies: Rows) -> list[QueueInfo]:
    """The queues with their counts; states with none are left out."""
    counts: dict[str, dict[State, int]] = {name: {} for name in infos}
    totals: dict[str, dict[State, int]] = {name: {} for name in infos}
    for queue, state, n, total in tallies:
        if n:
            counts[queue][State(state)] = n
        if total:
            totals[queue][State(state)] = total
    return [
        msgspec.structs.replace(info, counts=counts[name], totals=totals[name])
        for name, info in infos.items()
    ]
