"""Settling in MariaDB or MySQL: plain successes in one round trip, the rest as everywhere."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from typing import Any, Final

from oxmill.drivers.mysql.shortcut import HotStart, Result, Shortcut
from oxmill.drivers.mysql.statements import statement
from oxmill.drivers.sql.rows import json_text, stored_nonce
from oxmill.drivers.sql.settling import SqlSettling
from oxmill.model.settings import QueueSettings
from oxmill.model.settlement import Outcome, Ruling, Settle, Settled, Settlement
from oxmill.model.state import State
from oxmill.store.plan import Plan, Steps

_USUAL: Final = QueueSettings().keep_succeeded


class MysqlSettling(SqlSettling):
    """Records how leases ended."""

    def settle(self, request: Settle) -> Plan[tuple[Settled, ...]]:
        """One answer per settlement, in order; each is judged by its token alone."""
        plan = super().settle(request)
        if not _plain(request.items):
            return plan
        start = HotStart(_long_way, plan, request, Completing(request.items))
        return Plan(plan.name, request, start)


def _long_way(plan: Plan[tuple[Settled, ...]], _: Settle) -> Steps[tuple[Settled, ...]]:
    return plan.start()


def _plain(items: Sequence[Settlement]) -> bool:
    """Whether these may be plain successes, no job coming twice."""
    return len({item.id for item in items}) == len(items) > 0 and all(
        item.outcome is Outcome.COMPLETE and item.error is None for item in items
    )


class Completing(Shortcut[tuple[Settled, ...]]):
    """Plain successes of one queue: all, or none."""

    __slots__ = ("_items",)

    def __init__(self, items: Sequence[Settlement]) -> None:
        self._items = items

    def statements(self) -> list[bytes]:
        """Lock and check, record, count, tell."""
        # In the order of their ids, so that two who settle the same jobs wait for each other.
        items = sorted(self._items, key=_id)
        asked = {"items": json_text(map(_row, items)), "many": len(items), "usual": _USUAL}
        if any(item.result is not None for item in items):
            record = statement("complete_results", asked)
        else:
            record = statement("complete_plain", {"ids": json_text(map(_id, items))})
        return [
            statement("complete_check", asked),
            record,
            statement("complete_count", asked),
            statement("complete_told", {}),
        ]

    def answer(self, results: Sequence[Result]) -> tuple[Settled, ...] | None:
        """All won, if they were plain."""
        ((ready, queue),) = results[-1].rows
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
