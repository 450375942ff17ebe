"""Settling in SQLite: next steps are made by one statement, and flows are left by one."""

from __future__ import annotations

from collections.abc import Sequence

from oxmill.drivers.sql.ledger import KEEP_FAILED, KEEP_SUCCEEDED
from oxmill.drivers.sql.rows import json_text
from oxmill.drivers.sql.settling import SqlSettling
from oxmill.drivers.sql.steps import Statement
from oxmill.drivers.sqlite.handing_over import AlikeHandedOver
from oxmill.model.value import Micros
from oxmill.store.plan import Steps, ask


def _leave(flows: Sequence[str], now: Micros) -> Steps[list[str]]:
    asked = {
        "ids": json_text(flows),
        "now": now,
        "keep_succeeded": KEEP_SUCCEEDED,
        "keep_failed": KEEP_FAILED,
    }
    rows = yield from ask(Statement("leave_flows", asked))
    return sorted([flow for flow, ended in rows if ended])


class SqliteSettling(SqlSettling):
    """Records how leases ended."""

    leave = staticmethod(_leave)
    steps_way = AlikeHandedOver
