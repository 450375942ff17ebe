"""Housekeeping in MariaDB or MySQL: as everywhere, and counts are added up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from oxmill.drivers.mysql.shortcut import Result, Shortcut
from oxmill.drivers.mysql.statements import statement
from oxmill.drivers.sql.housekeeping import SqlHousekeeping
from oxmill.drivers.sql.steps import Start, operation
from oxmill.model.info import Sweep, Swept
from oxmill.store.plan import Plan, Steps, ask

_AT_ONCE: Final = 2_000


class MysqlHousekeeping(SqlHousekeeping):
    """Bounded steps, safe when several run at once."""

    @operation("sweep")
    def sweep(self, request: Sweep) -> Steps[Swept]:
        """Do for all queues what a claim does for its own, and add counts up."""
        start = cast("Start[Swept]", super().sweep(request).start)
        swept = yield from start.steps()
        yield from fold()
        return swept


def folding() -> Plan[int]:
    """The plan that adds changes of counts up."""
    return Plan("fold", None, fold)


def fold() -> Steps[int]:
    """Add changes of counts up, unless another process does just that; how many."""
    return (yield from ask(_FOLDING)) or 0


class Folding(Shortcut[int]):
    """Changes of which the transactions are done become part of the counts."""

    __slots__ = ()

    def statements(self) -> list[bytes]:
        """Take the turn, lock, add, delete."""
        asked = {"most": _AT_ONCE}
        return [
            statement(name, asked) for name in ("fold_turn", "fold_read", "fold_add", "fold_drop")
        ]

    def answer(self, results: Sequence[Result]) -> int:
        """How many."""
        return results[-1].affected


_FOLDING: Final = Folding()
