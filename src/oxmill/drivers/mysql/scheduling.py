"""Scheduling in MariaDB or MySQL: every scheduler looks for due schedules once a second."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from oxmill.drivers.mysql.literals import Sql
from oxmill.drivers.mysql.shortcut import Result, Shortcut
from oxmill.drivers.mysql.statements import statement
from oxmill.drivers.sql.scheduling import SqlScheduling, info_of
from oxmill.drivers.sql.steps import Start
from oxmill.model.schedule import ListSchedules, Schedules
from oxmill.store.plan import Plan, Steps

_NOW: Final = Sql(b"@oxmill_now")


class MysqlScheduling(SqlScheduling):
    """Keeps schedules and fires their ticks, however many schedulers run."""

    def schedules(self, request: ListSchedules) -> Plan[Schedules]:
        """Schedules by name, or those that need a scheduler now."""
        plan = super().schedules(request)
        start = Start(_long_way, plan, request, Listing(request))
        return Plan(plan.name, request, start, writes=False)


def _long_way(plan: Plan[Schedules], _: ListSchedules) -> Steps[Schedules]:
    return plan.start()


class Listing(Shortcut[Schedules]):
    """The schedules and the moment of the look, in one round trip."""

    __slots__ = ("_request",)

    def __init__(self, request: ListSchedules) -> None:
        self._request = request

    def statements(self) -> list[bytes]:
        """Look, tell the moment."""
        request = self._request
        asked = {"due_only": int(request.due_only), "now": _NOW, "most": request.limit}
        return [statement("schedules_all", asked), statement("moment", {})]

    def answer(self, results: Sequence[Result]) -> Schedules:
        """What was found."""
        ((now,),) = results[-1].rows
        return Schedules(items=tuple([info_of(row) for row in results[0].rows]), now=now)
