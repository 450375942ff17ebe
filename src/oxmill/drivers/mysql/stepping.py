"""Steps of flows of the usual kind: what the plan that settles them asks first, in one round trip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from oxmill.drivers.mysql.arriving import BLOCK
from oxmill.drivers.mysql.shortcut import Ahead, Result, Shortcut
from oxmill.drivers.mysql.statements import statement
from oxmill.drivers.sql.rows import json_text
from oxmill.drivers.sql.steps import Rows, Statement
from oxmill.model.job import NewJob
from oxmill.model.settlement import Settlement

_LOCKED: Final = "step_leases"


class Stepping(Shortcut[Any]):
    """No shortcut: leases are locked, and numbers are drawn for next steps, before the long way."""

    __slots__ = ("_asked", "_made")

    goes_on = True

    def __init__(self, items: Sequence[Settlement], made: Sequence[NewJob]) -> None:
        ids = json_text([item.id for item in items])
        self._made = len(made)
        self._asked = [(_LOCKED, ids), ("awaited", ids)]
        if made:
            self._asked.append(("jobs_there", json_text([job.id for job in made])))

    def statements(self) -> list[bytes]:
        """Lock and look, draw, tell the moment."""
        looks = [statement(name, {"ids": ids}, locks=name == _LOCKED) for name, ids in self._asked]
        drawn = [statement("draw", {})] if self._made else []
        return [*looks, *drawn, statement("moment", {})]

    def answer(self, results: Sequence[Result]) -> None:
        """Nothing was done."""

    def ahead(self, results: Sequence[Result]) -> Ahead:
        """What was seen."""
        looks = zip(self._asked, results, strict=False)
        first = results[-2].insert_id * BLOCK
        numbers = range(first, first + self._made)
        return _Seen({asked: result.rows for asked, result in looks}, numbers)


class _Seen(Ahead):
    """Replies by the names of statements and the ids that they ask about."""

    def __init__(self, rows: dict[tuple[str, str], Rows], numbers: range) -> None:
        self._rows = rows
        self._numbers = numbers

    def reply(self, step: Statement) -> Rows | None:
        """The rows of a statement, or `None` if they are not known."""
        ids: str = step.parameters.get("ids", "")
        return self._rows.get((step.name, ids))

    def drawn(self, n: int) -> range | None:
        """So many numbers, unless they were given away."""
        numbers, self._numbers = self._numbers, range(0)
        return numbers if len(numbers) == n else None
