"""Counts as they are stored: a row has all counts of a queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from oxmill.drivers.sql.steps import Rows

_COLUMNS: Final[tuple[str, ...]] = (
    "held",
    "scheduled",
    "waiting",
    "running",
    "succeeded",
    "failed",
    "cancelled",
)
_EVER: Final[tuple[str, ...]] = ("succeeded", "failed", "cancelled")


def changed(changes: Mapping[tuple[str, str], Sequence[int]]) -> Rows:
    """Changes keyed by (queue, state), as one row per queue; what cancels out is left out."""
    queues: dict[str, list[Any]] = {}
    for (queue, state), (n, total) in changes.items():
        if n or total:
            row = queues.setdefault(queue, [0] * (len(_COLUMNS) + len(_EVER)))
            row[_COLUMNS.index(state)] += n
            if total:
                row[len(_COLUMNS) + _EVER.index(state)] += total
    return [(queue, *row) for queue, row in queues.items()]


def tallies(rows: Rows) -> Rows:
    """The counts as (queue, state, n, total), without those that are nothing."""
    found: Rows = []
    for queue, *row in rows:
        numbers = [int(number) for number in row]
        totals: dict[str, int] = dict(zip(_EVER, numbers[len(_COLUMNS) :], strict=True))
        for state, n in zip(_COLUMNS, numbers, strict=False):
            total = totals.get(state, 0)
            if n or total:
                found.append((queue, state, n, total))
    return found


def with_any(rows: Rows, state: str) -> Rows:
    """The queues that have any job in this state."""
    place = 1 + _COLUMNS.index(state)
    return [(row[0],) for row in rows if row[place] > 0]
