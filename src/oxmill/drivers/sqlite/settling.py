"""Settling in SQLite: what is alike is written by one statement, next steps as well as ends of flows."""

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
    """There is one writer, so what is found stays true: those that end alike are written together."""
    rows = yield from ask(Statement("leaving_flows", {"ids": json_text(flows)}))
    ended: list[str] = []
    ending: dict[tuple[Micros, int], list[int]] = {}
    going_on: list[int] = []
    for flow, seq, keep, ends, failed in rows:
        if not ends:
            going_on.append(seq)
            continue
        usual = KEEP_FAILED if failed else KEEP_SUCCEEDED
        ending.setdefault((usual if keep is None else keep, failed), []).append(seq)
        ended.append(flow)
    for (keep, failed), seqs in ending.items():
        how = {"now": now, "prune_at": now + keep, "failed": failed}
        yield from ask(Statement("end_left_flows", {"seqs": json_text(seqs), **how}))
    if going_on:
        yield from ask(Statement("leave_flows", {"seqs": json_text(going_on)}))
    return sorted(ended)


class SqliteSettling(SqlSettling):
    """Records how leases ended."""

    leave = staticmethod(_leave)
    steps_way = AlikeHandedOver
