"""Settling in MariaDB or MySQL: plain successes in one round trip, the rest as everywhere."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from oxmill.drivers.mysql.shortcut import HotStart, Result, Shortcut
from oxmill.drivers.mysql.statements import statement
from oxmill.drivers.sql.rows import json_text, stored_nonce
from oxmill.drivers.sql.settling import SqlSettling
from oxmill.model.bounds import Bounds
from oxmill.model.settings import QueueSettings
from oxmill.model.settlement import Outcome, Ruling, Settle, Settled, Settlement
from oxmill.model.state import State
from oxmill.store.capabilities import Capability
from oxmill.store.plan import Plan, Steps

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
            return plan
        start = HotStart(_long_way, plan, request, Completing(request.items, self._habit))
        return Plan(plan.name, request, start)


@dataclass(slots=True)
class Habit:
    """What was true of the last successes and is tried first with the next."""

    gone: bool = False
    """They were not to be kept."""


def _long_way(plan: Plan[tuple[Settled, ...]], _: Settle) -> Steps[tuple[Settled, ...]]:
    return plan.start()


def _plain(items: Sequence[Settlement]) -> bool:
    """Whether these may be plain successes, no job coming twice."""
    return len({item.id for item in items}) == len(items) > 0 and all(
        item.outcome is Outcome.COMPLETE and item.error is None for item in items
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
        gone = self._habit.gone
        asked = {
            "items": json_text(map(_row, items)),
            "ids": json_text(map(_id, items)),
            "many": len(items),
            "kept": 0 if gone else len(items),
            "gone": int(gone),
            "usual": _USUAL,
        }
        with_results = any(item.result is not None for item in items)
        kept = "complete_results" if with_results else "complete_plain"
        names = ("complete_check", "complete_gone" if gone else kept, "complete_count")
        return [*(statement(name, asked) for name in names), statement("complete_told", {})]

    def answer(self, results: Sequence[Result]) -> tuple[Settled, ...] | None:
        """All won, if they were plain."""
        ((ready, queue, gone),) = results[-1].rows
        self._habit.gone = bool(gone)
        if not ready:
            return None
        return tuple(
            [
                Settled(id=item.id, ruling=Ruling.WON, state=State.SUCCEEDED, queue=queue)
                for item in self._items
            ]
        )


def _id(item: Settlement) -> str:
    return item.id


def _row(item: Settlement) -> tuple[Any, ...]:
    token, result = item.token, item.result
    text = None if result is None else b64encode(result).decode()
    return (item.id, token.attempt, stored_nonce(token.nonce), text)
