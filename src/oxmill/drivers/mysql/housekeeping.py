"""Housekeeping in MariaDB or MySQL: as everywhere, and counts are added up."""

from __future__ import annotations

from typing import Final, cast

from oxmill.drivers.sql.housekeeping import SqlHousekeeping
from oxmill.drivers.sql.rows import json_text
from oxmill.drivers.sql.steps import Start, Statement, operation
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
    if not (yield from ask(Statement("fold_turn"))):
        return 0
    rows = yield from ask(Statement("fold_read", {"most": _AT_ONCE}))
    if rows:
        numbers = {"numbers": json_text(number for (number,) in rows)}
        yield from ask(Statement("fold_add", numbers))
        yield from ask(Statement("fold_drop", numbers))
    return len(rows)
