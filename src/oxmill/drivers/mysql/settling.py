"""Settling in MariaDB or MySQL: plain successes in one round trip, the rest as everywhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from oxmill.drivers.mysql.literals import Sql, listed
from oxmill.drivers.mysql.shortcut import HotStart, Result, Shortcut
from oxmill.drivers.mysql.statements import statement
from oxmill.drivers.mysql.stepping import Stepping
from oxmill.drivers.sql.handing_over import next_steps
from oxmill.drivers.sql.limits import frees
from oxmill.drivers.sql.rows import json_text, stored_nonce
from oxmill.drivers.sql.settling import SqlSettling
from oxmill.drivers.sql.steps import Start
from oxmill.model.bounds import Bounds
from oxmill.model.settings import QueueSettings
from oxmill.model.settlement import Outcome, Ruling, Settle, Settled, Settlement
from oxmill.model.state import State
from oxmill.store.capabilities import Capability
from oxmill.store.plan import Plan, Steps, ask

_JUDGING: Final = ("complete_check", "complete_terms", "complete_fate", "complete_ready")
_FREEING: Final = ("complete_limits", "complete_free")
_LISTED: Final = 100
"""So many results at most are in one statement, in which each is looked up in a list."""
_LISTED_BYTES: Final = 1 << 20
_USUAL: Final = QueueSettings().keep_succeeded


class MysqlSettling(SqlSettling):
    """Records how leases ended."""

    def __init__(self, bounds: Bounds, able: Capability) -> None:
        super().__init__(bounds, able)
        self._habit = Habit()

    def settle(self, request: Settle) -> Plan[tuple[Settled, ...]]:
        """One answer per settlement, in order; each is judged by its token alone."""
        plan = super().settle(request)
        if not _plain(request.items):
            made = next_steps(request.items) if request.items else None
            ahead = None if made is None else Stepping(request.items, made)
            return plan if ahead is None else Plan(plan.name, request, Start(_steps, plan, ahead))
        start = HotStart(_long_way, plan, request, Completing(request.items, self._habit))
        return Plan(plan.name, request, start)


def _steps(plan: Plan[tuple[Settled, ...]], ahead: Stepping) -> Steps[tuple[Settled, ...]]:
    yield from ask(ahead)
    start = cast("Start[tuple[Settled, ...]]", plan.start)
    return (yield from start.steps())


@dataclass(slots=True)
class Habit:
    """What was true of the last successes and is tried first with the next."""

    gone: bool = False
    """They were not to be kept."""
    grouped: bool = False
    """They had groups."""


def _long_way(plan: Plan[tuple[Settled, ...]], _: Settle) -> Steps[tuple[Settled, ...]]:
    return plan.start()


def _plain(items: Sequence[Settlement]) -> bool:
    """Whether these may be plain successes, no job coming twice."""
    return len({item.id for item in items}) == len(items) > 0 and all(
        item.outcome is Outcome.COMPLETE and item.error is None and item.flow is None
        for item in items
    )


class Completing(Shortcut[tuple[Settled, ...]]):
    """Plain successes of one queue, all to be kept or none: all are recorded, or none."""

    __slots__ = ("_habit", "_items")

    def __init__(self, items: Sequence[Settlement], habit: Habit) -> None:
        self._items = items
        self._habit = habit

    def statements(self) -> list[bytes]:
        """Lock and check, record, count, tell."""
        # In the order of their ids, so that two who settle the same jobs wait for each other.
        items = sorted(self._items, key=_id)
        gone, grouped = self._habit.gone, self._habit.grouped
        asked = {
            "items": json_text(map(_row, items)),
            "many": len(items),
            "kept": 0 if gone else len(items),
            "gone": int(gone),
            "grouped": int(grouped),
            "ids": json_text(map(_id, items)) if grouped else "",
            "usual": _USUAL,
        }
        return [
            *[statement(name, asked) for name in _JUDGING],
            *([statement(name, asked) for name in _FREEING] if grouped else []),
            *(_gone(items) if gone else _kept(items)),
            statement("complete_count", asked),
            statement("complete_told", {}),
        ]

    def answer(self, results: Sequence[Result]) -> tuple[Settled, ...] | None:
        """All won, if they were plain."""
        ((ready, queue, gone, grouped, limits),) = results[-1].rows
        self._habit.gone, self._habit.grouped = bool(gone), bool(grouped)
        if not ready:
            return None
        state = State.SUCCEEDED
        gained = (queue,) if limits and frees(limits, "any" if grouped else None) else ()
        return tuple(
            [
                Settled(id=item.id, ruling=Ruling.WON, state=state, queue=queue, gained=gained)
                for item in self._items
            ]
        )


def _id(item: Settlement) -> str:
    return item.id


def _row(item: Settlement) -> tuple[Any, ...]:
    return (item.id, item.token.attempt, stored_nonce(item.token.nonce))


def _gone(items: Sequence[Settlement]) -> Iterator[bytes]:
    yield statement("complete_gone", {"ids": Sql(listed(map(_id, items)))})


def _kept(items: Sequence[Settlement]) -> Iterator[bytes]:
    plain = [item.id for item in items if item.result is None]
    if plain:
        yield statement("complete_plain", {"ids": json_text(plain)})
    for part in _parts([item for item in items if item.result is not None]):
        ids, results = listed(map(_id, part)), listed([item.result for item in part])
        yield statement("complete_results", {"ids": Sql(ids), "results": Sql(results)})


def _parts(items: Sequence[Settlement]) -> Iterator[list[Settlement]]:
    """Cut so that a statement stays short, and the server does not look through long lists."""
    part: list[Settlement] = []
    size = 0
    for item in items:
        length = len(item.result or b"")
        if part and (len(part) == _LISTED or size + length > _LISTED_BYTES):
            yield part
            part, size = [], 0
        part.append(item)
        size += length
    if part:
        yield part
