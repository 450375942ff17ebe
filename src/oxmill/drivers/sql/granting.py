"""Granting: waiting jobs go out under a lease, and free the keys they held until they started."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from oxmill.drivers.sql.rows import extras_in, json_text, stored_nonce
from oxmill.drivers.sql.steps import Rows, Statement
from oxmill.drivers.sql.tally import Tally
from oxmill.drivers.sql.uniques import load_keys
from oxmill.model.claim import Claim, ClaimIds
from oxmill.model.state import State
from oxmill.model.unique import Until
from oxmill.model.value import Micros
from oxmill.store.plan import Steps, ask


def grant(rows: Rows, request: Claim | ClaimIds, now: Micros) -> Steps[None]:
    """Put these waiting jobs under a lease."""
    if not rows:
        return
    yield from ask(
        Statement(
            "grant",
            {
                "seqs": json_text(row[0] for row in rows),
                "nonce": stored_nonce(request.nonce),
                "worker": request.worker,
                "now": now,
                "lease": request.lease,
                "until": now + request.lease,
            },
        )
    )
    tally = Tally()
    for queue, n in Counter([row[2] for row in rows]).items():
        tally.move(queue, State.WAITING, State.RUNNING, n)
    yield from tally.write()
    if any(row[-1] is not None for row in rows):
        yield from _free_keys(rows, now)


def _free_keys(rows: Sequence[Sequence[Any]], now: Micros) -> Steps[None]:
    """Keys held only until their job has started are free."""
    started = [
        row for row in rows if row[-1] is not None and extras_in(row[-3]).until is Until.STARTED
    ]
    keys = yield from load_keys(row[-1] for row in started)
    for row in started:
        job = keys.job(row[-1], row[1])
        if job is not None:
            keys.let_go(job, now)
    yield from keys.write()
