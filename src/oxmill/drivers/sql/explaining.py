"""The numbers of gates, for people who ask why a job does not start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from oxmill.drivers.sql.gates import Book, Gate, Pace, Shut, meter_of, open_book, shut_until
from oxmill.drivers.sql.meters import group_key
from oxmill.drivers.sql.rows import json_text
from oxmill.drivers.sql.rulebook import rule_of
from oxmill.drivers.sql.steps import Statement
from oxmill.model.info import GateInfo, QueueInfo, Queues
from oxmill.model.rule import Rule, RuleKind, Scope
from oxmill.model.value import Micros
from oxmill.store.plan import Steps, ask

_MOST_RULES: Final = 1_000
_MANY: Final = 10_000
"""More waiting jobs of a group than this are not counted."""


def with_gates(infos: Sequence[QueueInfo], groups: tuple[str, ...], now: Micros) -> Steps[Queues]:
    """These queues with their gates and those of some groups, and all rules on anything else."""
    book = yield from open_book([info.name for info in infos], now, locks=False)
    yield from book.look_up((Scope.GROUP.value, group) for group in groups)
    rules = yield from _scoped(now)
    yield from book.meters.load(
        meter_of(rule.key) for rule in rules if rule.kind is RuleKind.THROTTLE
    )
    items: list[QueueInfo] = []
    for info in infos:
        gates = yield from _gates(book, info.name, groups)
        items.append(msgspec.structs.replace(info, gates=gates))
    opens = tuple([_opening(book, rule) for rule in rules])
    return Queues(items=tuple(items), now=now, rules=tuple(rules), opens=opens)


def _gates(book: Book, queue: str, groups: tuple[str, ...]) -> Steps[tuple[GateInfo, ...]]:
    yield from book.meters.load(group_key(queue, group) for group in groups)
    asked = {"queues": json_text([queue])}
    ((_, running),) = yield from ask(Statement("running_of_queues", asked))
    infos = [_info(book, None, running, book.of_queue(queue, running), None)]
    listed = {"queue": queue, "groups": json_text(groups)}
    by_group: dict[str, int] = dict((yield from ask(Statement("running_of_groups", listed))))
    counts = yield from ask(Statement("waiting_of_groups", listed | {"most": _MANY + 1}))
    waiting: dict[str, int] = dict(counts)
    for group in groups:
        gates = book.of_group(queue, group, by_group[group])
        n = waiting[group]
        infos.append(_info(book, group, by_group[group], gates, n if n <= _MANY else None))
    return tuple(infos)


def _info(
    book: Book, group: str | None, running: int, gates: Sequence[Gate], waiting: int | None
) -> GateInfo:
    """Rates, throttles and `RateLimited` count here; slots and pauses have words of their own."""
    paces = [gate for gate in gates if isinstance(gate, Pace)]
    timed: list[Gate] = [*paces, *(gate for gate in gates if gate is _closing(gates))]
    until = shut_until(timed, book.now)
    shut = any(isinstance(gate, Shut) and gate.shut_until(book.now) for gate in timed)
    room = None if not paces else 0 if shut else min(pace.room(book.now) for pace in paces)
    return GateInfo(
        group=group, running=running, room=room, opens_at=until or None, waiting=waiting
    )


def _closing(gates: Sequence[Gate]) -> Gate | None:
    """`RateLimited`: the first of the gates that are simply shut."""
    return next((gate for gate in gates if isinstance(gate, Shut)), None)


def _scoped(now: Micros) -> Steps[list[Rule]]:
    """Rules in force on tasks, groups and fields, by scope, target and kind."""
    asked = {"now": now, "most": _MOST_RULES}
    return [rule_of(row) for row in (yield from ask(Statement("rules_listed", asked)))]


def _opening(book: Book, rule: Rule) -> Micros:
    """When a throttle lets the next job start; 0 for now, and for other rules."""
    if rule.kind is not RuleKind.THROTTLE:
        return 0
    return book.of_rule(rule).shut_until(book.now)
