"""Inspecting on Redis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from oxmill.drivers.redis.events import events_beyond
from oxmill.drivers.redis.finding import find_page, positions_of
from oxmill.drivers.redis.listing import check_page, list_flows
from oxmill.drivers.redis.record import STATES, pack, pack_id, recorded, settings_in, unpack_id
from oxmill.drivers.redis.script import GET, QUEUES, WORKERS
from oxmill.drivers.redis.seeking import AT_ONCE
from oxmill.drivers.redis.space import Space
from oxmill.model.flow import Flows, ListFlows
from oxmill.model.info import (
    MANY,
    Event,
    EventsAfter,
    GateInfo,
    ListQueues,
    ListWorkers,
    Place,
    QueueInfo,
    Queues,
    WorkerInfo,
    Workers,
)
from oxmill.model.job import Job
from oxmill.model.query import Find, Get, Page
from oxmill.model.rule import Rule
from oxmill.model.settings import QueueSettings
from oxmill.store.plan import Plan, Steps, ask, plan

_rule: Final = msgspec.msgpack.Decoder(list[Any]).decode
_worker: Final = msgspec.msgpack.Decoder(tuple[int, int, str]).decode


class RedisInspecting:
    """Reads."""

    def __init__(self, space: Space) -> None:
        self._space = space

    @plan("get", writes=False)
    def get(self, request: Get) -> Steps[tuple[Job, ...]]:
        """These jobs in full, in the order asked; unknown ids are left out."""
        found: dict[str, Job] = {}
        for first in range(0, len(request.ids), AT_ONCE):
            some = map(pack_id, request.ids[first : first + AT_ONCE])
            replies = yield from self._space.everywhere(GET, *some)
            for job in (recorded(told, whole=True) for reply in replies for told in reply):
                found[job.id] = job
        return tuple(found[each] for each in request.ids if each in found)

    def find(self, request: Find) -> Plan[Page]:
        """A keyset page of matching jobs, newest arrival first."""
        positions_of(request, self._space.shards)
        return self._find(request)

    @plan("find", writes=False)
    def _find(self, request: Find) -> Steps[Page]:
        return (yield from find_page(self._space, request))

    @plan("queues", writes=False)
    def queues(self, request: ListQueues) -> Steps[Queues]:
        """Counts by state, totals, rules and settings."""
        names = sorted(set(request.queues))
        if not names:
            known = yield from self._space.members("queues")
            names = sorted({name.decode() for part in known for name in part})
        now, groups = 0, request.groups
        items: list[QueueInfo] = []
        scoped: dict[bytes, int] = {}
        place: Place | None = None
        targets = [f"{scope}:{target}" for scope, target in dict.fromkeys(request.targets)]
        wanted = len(groups), pack(targets), pack_id(request.place_of or "")
        for first in range(0, max(len(names), 1), AT_ONCE):
            some = names[first : first + AT_ONCE]
            replies = yield from self._space.everywhere(QUEUES, *wanted, *groups, *some)
            now = max(reply[0] for reply in replies)
            scoped.update(zip(replies[0][1][::2], replies[0][1][1::2], strict=True))
            place = next((_place(*reply[2]) for reply in replies if reply[2]), None)
            rows = zip(*(reply[3:] for reply in replies), strict=True)
            items += (
                _queue(name, row, groups)
                for name, row in zip(some, rows, strict=True)
                if request.queues or any(map(_worth_telling, row))
            )
        rules = sorted(((_rule_of(each), opens) for each, opens in scoped.items()), key=_in_order)
        return Queues(
            items=tuple(items),
            now=now,
            rules=tuple(rule for rule, _ in rules),
            opens=tuple(opens for _, opens in rules),
            place=place,
        )

    def flows(self, request: ListFlows) -> Plan[Flows]:
        """A keyset page of flows, newest first."""
        check_page(request, self._space.shards)
        return self._flows(request)

    @plan("flows", writes=False)
    def _flows(self, request: ListFlows) -> Steps[Flows]:
        return (yield from list_flows(self._space, request))

    @plan("workers", writes=False)
    def workers(self, request: ListWorkers) -> Steps[Workers]:  # noqa: ARG002
        """Workers whose last beat is fresh."""
        now, told = yield from ask(self._space.call(WORKERS))
        found = [_worker_info(packed) for packed in told if packed is not None]
        return Workers(items=tuple(sorted(found, key=lambda w: (w.started_at, w.id))), now=now)

    @plan("events_after", writes=False)
    def events_after(self, request: EventsAfter) -> Steps[tuple[Event, ...]]:
        """Events in order, without gaps or repeats."""
        return (yield from events_beyond(self._space, request.seq, request.limit))


def _queue(name: str, rows: Sequence[Sequence[Any]], groups: Sequence[str]) -> QueueInfo:
    """One queue, its shards put together."""
    sums = [sum(column) for column in zip(*(row[:10] for row in rows), strict=True)]
    heads = [row[10] for row in rows if row[10]]
    settings = rows[0][11]
    return QueueInfo(
        name=name,
        counts={state: n for state, n in zip(STATES[1:], sums, strict=False) if state and n},
        totals={state: n for state, n in zip(STATES[5:], sums[7:], strict=True) if state and n},
        oldest_waiting=min(heads, default=None),
        rules=tuple(map(_rule_of, rows[0][14:])),
        settings=settings_in(settings) if settings else QueueSettings(),
        gates=tuple(map(_gate, (None, *groups), rows[0][13])),
    )


def _gate(group: str | None, told: Sequence[int]) -> GateInfo:
    running, room, opens_at, waiting, paced_until, throttled_until, closed_until = told
    return GateInfo(
        group=group,
        running=running,
        room=None if room < 0 else room,
        opens_at=opens_at or None,
        paced_until=paced_until or None,
        throttled_until=throttled_until or None,
        closed_until=closed_until or None,
        waiting=None if group is None else waiting,
    )


def _place(first: bytes, ahead: int) -> Place:
    return Place(first=unpack_id(first), ahead=ahead if ahead <= MANY else None)


def _in_order(item: tuple[Rule, int]) -> tuple[str, str, str]:
    rule, _ = item
    return (rule.scope, rule.target, rule.kind)


def _worth_telling(row: Sequence[Any]) -> bool:
    """Whether the queue has or had jobs, or has settings or rules."""
    return any(row[:10]) or bool(row[11] or row[12])


def _rule_of(packed: bytes) -> Rule:
    _, set_at, text, *_ = _rule(packed)
    return msgspec.structs.replace(msgspec.json.decode(text, type=Rule), set_at=set_at)


def _worker_info(packed: bytes) -> WorkerInfo:
    started_at, beat_at, text = _worker(packed)
    info = msgspec.json.decode(text, type=WorkerInfo)
    return msgspec.structs.replace(info, started_at=started_at, beat_at=beat_at)
