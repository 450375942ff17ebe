"""Inspecting in memory."""

from __future__ import annotations

from itertools import islice

from oxmill.drivers.memory.gates import gate_info, opening, scoped_rules
from oxmill.drivers.memory.listing import list_flows
from oxmill.drivers.memory.matching import matching
from oxmill.drivers.memory.transport import Call
from oxmill.drivers.memory.world import World, rank
from oxmill.model.flow import Flows, ListFlows
from oxmill.model.info import (
    MANY,
    Event,
    EventsAfter,
    ListQueues,
    ListWorkers,
    Place,
    QueueInfo,
    Queues,
    Workers,
)
from oxmill.model.job import Job
from oxmill.model.query import Find, Get, Page
from oxmill.model.rule import Scope
from oxmill.model.settings import QueueSettings
from oxmill.model.state import State
from oxmill.store.admission import check_find
from oxmill.store.flow_admission import check_list_flows
from oxmill.store.plan import Plan, Steps, ask, plan


class MemoryInspecting:
    """Reads."""

    def __init__(self, world: World) -> None:
        self._world = world

    @plan("get", writes=False)
    def get(self, request: Get) -> Steps[tuple[Job, ...]]:
        """These jobs in full, in the order asked; unknown ids are left out."""

        def act() -> tuple[Job, ...]:
            jobs = self._world.jobs
            return tuple(jobs[i].job(history=True) for i in request.ids if i in jobs)

        return (yield from ask(Call(act)))

    def find(self, request: Find) -> Plan[Page]:
        """A keyset page of matching jobs, newest arrival first."""
        check_find(request)
        return self._find(request)

    @plan("find", writes=False)
    def _find(self, request: Find) -> Steps[Page]:
        return (yield from ask(Call(lambda: _find(self._world, request))))

    @plan("queues", writes=False)
    def queues(self, request: ListQueues) -> Steps[Queues]:
        """Counts by state, totals, rules and settings."""
        return (yield from ask(Call(lambda: _queues(self._world, request))))

    def flows(self, request: ListFlows) -> Plan[Flows]:
        """A keyset page of flows, newest first."""
        check_list_flows(request)
        return self._flows(request)

    @plan("flows", writes=False)
    def _flows(self, request: ListFlows) -> Steps[Flows]:
        return (yield from ask(Call(lambda: list_flows(self._world, request))))

    @plan("workers", writes=False)
    def workers(self, request: ListWorkers) -> Steps[Workers]:  # noqa: ARG002
        """Workers whose last beat is fresh."""
        return (yield from ask(Call(lambda: _workers(self._world))))

    @plan("events_after", writes=False)
    def events_after(self, request: EventsAfter) -> Steps[tuple[Event, ...]]:
        """Events in order, without gaps or repeats."""

        def act() -> tuple[Event, ...]:
            newer = (event for event in self._world.events if event.seq > request.seq)
            return tuple(islice(newer, request.limit))

        return (yield from ask(Call(act)))


def _find(world: World, request: Find) -> Page:
    below = check_find(request)
    limit = min(request.limit, world.bounds.page_jobs)
    found = [r for r in matching(world, request.filter) if below is None or r.seq < below]
    page = found[::-1][:limit]
    return Page(
        jobs=tuple(record.job(history=False) for record in page),
        next=str(page[-1].seq) if len(found) > limit else None,
    )


def _queues(world: World, request: ListQueues) -> Queues:
    now = world.clock()
    names = set(request.queues) or {
        *(queue for (queue, _), n in world.counts.items() if n),
        *(queue for queue, _ in world.totals),
        *world.settings,
        *(rule.target for rule in world.rules.values() if rule.scope is Scope.QUEUE),
    }
    scoped = scoped_rules(world, request.targets, now) if request.groups else []
    return Queues(
        items=tuple(_queue(world, name, request.groups, now) for name in sorted(names)),
        now=now,
        rules=tuple(scoped),
        opens=tuple(opening(world, rule, now) for rule in scoped),
        place=None if request.place_of is None else _place(world, request.place_of),
    )


def _place(world: World, job_id: str) -> Place | None:
    record = world.jobs.get(job_id)
    if record is None or record.state is not State.WAITING or record.aside is not None:
        return None
    in_line = (world.jobs[each] for _, _, each in world.lines[record.queue])
    line = [each.id for each in in_line if each.group == record.group]
    ahead = line.index(job_id)
    return Place(first=line[0], ahead=ahead if ahead <= MANY else None)


def _queue(world: World, name: str, groups: tuple[str, ...], now: int) -> QueueInfo:
    in_line = [world.jobs[job_id] for _, _, job_id in islice(world.lines[name], 1)]
    head = min([*in_line, *world.set_aside(name)], key=rank, default=None)
    rules = [
        rule
        for rule in sorted(world.rules_in_force(now), key=lambda rule: rule.kind)
        if rule.scope is Scope.QUEUE and rule.target == name
    ]
    asked = (None, *groups) if groups else ()
    return QueueInfo(
        name=name,
        counts={state: n for state in State if (n := world.counts[name, state])},
        totals={state: n for state in State if (n := world.totals[name, state])},
        oldest_waiting=None if head is None else head.enqueued_at,
        rules=tuple(rules),
        settings=world.settings.get(name, QueueSettings()),
        gates=tuple(gate_info(world, name, group, now) for group in asked),
    )


def _workers(world: World) -> Workers:
    now = world.clock()
    fresh = [presence.info for presence in world.workers.values() if presence.stale_at > now]
    return Workers(items=tuple(sorted(fresh, key=lambda w: (w.started_at, w.id))), now=now)
