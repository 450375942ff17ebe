"""The usual claim behind the gates of one queue, in one round trip: as many lanes as jobs are asked for take
turns of one job, and the limits of the queue have room for all of them.

Where anything else is at hand nothing is done, and the claim goes the way of `knocking.py`. Both do the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from oxmill.drivers.mysql.arriving import BLOCK
from oxmill.drivers.mysql.granted import NEVER, Granted, granting
from oxmill.drivers.mysql.manner import Manner, Terms
from oxmill.drivers.mysql.shortcut import Result, Shortcut
from oxmill.drivers.mysql.statements import statement
from oxmill.drivers.sql.rows import json_text, stored_nonce
from oxmill.model.claim import Claim

_CHOICE: Final = (
    "guard_rules",
    "hold_gates",
    "turn_look",
    "turn_choose",
    "turn_lock",
    "turn_chosen",
)
_COUNTED: Final = ("claim_count_one", "turn_first", "turn_lanes", "turn_drop")


class TakingTurns(Shortcut[Any]):
    """Jobs from the heads of the lanes whose turn it is."""

    __slots__ = ("_manner", "_queue", "_request", "_terms")

    def __init__(self, request: Claim, manner: Manner, terms: Terms) -> None:
        self._request = request
        self._queue = request.queues[0]
        self._manner = manner
        self._terms = terms

    def statements(self) -> list[bytes]:
        """Look, choose, lock, take, count, move the lanes, spend the rate, tell."""
        request = self._request
        asked = {
            **self._terms._asdict(),
            "queue": self._queue,
            "most": request.limit,
            "never": NEVER,
            "block": BLOCK,
            "nonce": stored_nonce(request.nonce),
            "worker": request.worker,
            "lease": request.lease,
            "shelves": json_text([f"running {self._queue}"]),
        }
        spending = () if self._terms.interval is None else ("turn_spend",)
        return [
            *(statement(name, asked) for name in _CHOICE),
            *granting(asked),
            *(statement(name, asked) for name in (*_COUNTED, *spending)),
            *(statement(name, asked) for name in ("claim_given", "turn_told")),
        ]

    def answer(self, results: Sequence[Result]) -> Granted | None:
        """All that were asked for, in the order of serving."""
        ((now, ready, chosen),) = results[-1].rows
        if not ready:
            self._manner.terms = None
            return None
        by_seq = {row[0]: row[:-1] for row in results[-2].rows}
        rows = [by_seq[int(seq)] for seq in chosen.split(",")]
        return Granted(rows, self._request, now, None)
