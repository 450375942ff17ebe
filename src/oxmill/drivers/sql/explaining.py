"""The numbers of gates, for people who ask why a job does not start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from oxmill.drivers.sql.gates import Book, Gate, Pace, Shut, meter_of, open_book, shut_until
from oxmill.drivers.sql.meters import MeterKey, group_key, queue_key
from oxmill.drivers.sql.rows import json_text
from oxmill.drivers.sql.rulebook import rule_of
from oxmill.drivers.sql.steps import Statement
from oxmill.model.info import MANY, GateInfo, ListQueues, Place, QueueInfo, Queues
from oxmill.model.rule import Rule, RuleKind, Scope
from oxmill.model.value import Micros
from oxmill.store.plan import Steps, ask

_MOST_RULES: Final = 1_000


def with_gates(infos: Sequence[QueueInfo], request: ListQueues, now: Micros) -> Steps[Queues]:
    """These queues with their gates and those of some groups, and rules on anything else."""
    groups = request.groups
    book = yield from open_book([info.name for info in infos], now, locks=False)
    yield from book.look_up((Scope.GROUP.value, group) for group in groups)
    rules = yield from _scoped(request.targets, now)
    yield from book.meters.load(
        meter_of(rule.key) for rule in rules if rule.kind is RuleKind.THROTTLE
    )
    items: list[QueueInfo] = []
    for info in infos:
        gates = yield from _gates(book, info.name, groups)
        items.append(msgspec.structs.replace(info, gates=gates))
    opens = tuple([_opening(book, rule) for rule in rules])
    return Queues(items=tuple(items), now=now, rules=tuple(rules), opens=opens)


def place_of(job_id: str) -> Steps[Place | None]:
    """Where a job stands in line."""
    asked = {"id": job_id, "most": MANY + 1}
    rows = yield from ask(Statement("place_in_line", asked))
    return next((Place(first=first, ahead=n if n <= MANY else None) for first, n in rows), None)


def _gates(book: Book, queue: str, groups: tuple[str, ...]) -> Steps[tuple[GateInfo, ...]]:
    yield from book.meters.load(group_key(queue, group) for group in groups)
    asked = {"queues": json_text([queue])}
    ((_, running),) = yield from ask(Statement("running_of_queues", asked))
    whole = GateInfo(group=None, running=running)
    infos = [_numbered(book, queue_key(queue), book.of_queue(queue, running), whole)]
    listed = {"queue": queue, "groups": json_text(groups)}
    by_group: dict[str, int] = dict((yield from ask(Statement("running_of_groups", listed))))
    counts = yield from ask(Statement("waiting_of_groups", listed | {"most": MANY + 1}))
    waiting: dict[str, int] = dict(counts)
    for group in groups:
        gates = book.of_group(queue, group, by_group[group])
        n = waiting[group] if waiting[group] <= MANY else None
        info = GateInfo(group=group, running=by_group[group], waiting=n)
        infos.append(_numbered(book, group_key(queue, group), gates, info))
    return tuple(infos)


def _numbered(book: Book, key: MeterKey, gates: Sequence[Gate], info: GateInfo) -> GateInfo:
    """Rates, throttles and `RateLimited` count here; slots and pauses have words of their own."""
    paces = [gate for gate in gates if isinstance(gate, Pace)]
    # A pause is shut too, so what a job has closed is looked up where that is written.
    closing = Shut(book.meters.at(key).closed_until)
    closed_until = closing.shut_until(book.now)
    room = min((pace.room(book.now) for pace in paces), default=None)
    ours = [pace.shut_until(book.now) for pace in paces if not pace.ruled]
    theirs = [pace.shut_until(book.now) for pace in paces if pace.ruled]
    return msgspec.structs.replace(
        info,
        room=0 if room is not None and closed_until else room,
        opens_at=shut_until([*paces, closing], book.now) or None,
        paced_until=max(ours, default=0) or None,
        throttled_until=max(theirs, default=0) or None,
        closed_until=closed_until or None,
    )


def _scoped(targets: Sequence[tuple[Scope, str]], now: Micros) -> Steps[list[Rule]]:
    """Rules in force on these tasks, groups and fields, or on any; by scope, target and kind."""
    if targets:
        wanted = {"targets": json_text(dict.fromkeys(targets)), "now": now}
        rows = yield from ask(Statement("rules_on", wanted))
    else:
        rows = yield from ask(Statement("rules_listed", {"now": now, "most": _MOST_RULES}))
    # What is on a queue is told with the queue.
    found = [rule for row in rows if (rule := rule_of(row)).scope is not Scope.QUEUE]
    return sorted(found, key=lambda rule: (rule.scope, rule.target, rule.kind))


def _opening(book: Book, rule: Rule) -> Micros:
    """When a throttle lets the next job start; 0 for now, and for other rules."""
    if rule.kind is not RuleKind.THROTTLE:
        return 0
    return book.of_rule(rule).shut_until(book.now)
