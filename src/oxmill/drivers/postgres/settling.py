"""Settling in PostgreSQL: batches of plain successes in one call, the rest in a transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oxmill.drivers.postgres.steps import Call
from oxmill.drivers.sql.rows import stored_nonce
from oxmill.drivers.sql.settling import SqlSettling, rounds
from oxmill.drivers.sql.stepping import InFlows
from oxmill.drivers.sql.steps import NOW, operation
from oxmill.model.bounds import Bounds
from oxmill.model.settings import QueueSettings
from oxmill.model.settlement import Outcome, Ruling, Settle, Settled, Settlement
from oxmill.model.state import State
from oxmill.store.capabilities import Capability
from oxmill.store.plan import Steps, ask


class PostgresSettling(SqlSettling):
    """Records how leases ended."""

    def __init__(self, bounds: Bounds, able: Capability) -> None:
        super().__init__(bounds, able)
        self._gone_first = False
        """Whether the jobs of the last batch were deleted: then those of the next will be, too."""

    @operation("settle")
    def _settle(self, request: Settle) -> Steps[tuple[Settled, ...]]:
        answers: list[Settled] = []
        flows = InFlows()
        several = list(rounds(request.items))
        for items in several:
            answers += yield from self._settle_batch(items, flows, alone=len(several) == 1)
        return (yield from flows.told(answers, self._bounds.cleanup_jobs))

    def _settle_batch(
        self, items: list[Settlement], flows: InFlows, *, alone: bool
    ) -> Steps[list[Settled]]:
        """No job comes twice. Where everything is a plain success, one call does it."""
        plain = [
            item
            for item in items
            if item.outcome is Outcome.COMPLETE and item.error is None and item.flow is None
        ]
        answers: dict[str, Settled] = {}
        if plain:
            whole = alone and len(plain) == len(items)
            asked = _batch(plain) | {"gone_first": self._gone_first}
            rows = (yield from ask(Call("complete", asked, alone=whole))) or []
            self._gone_first = bool(rows) and not rows[0][_KEPT]
            for number, queue, _, frees in rows:
                job, gained = plain[number - 1].id, (queue,) if frees else ()
                answers[job] = Settled(
                    id=job, ruling=Ruling.WON, state=State.SUCCEEDED, queue=queue, gained=gained
                )
        rest = [item for item in items if item.id not in answers]
        if rest:
            answers |= yield from self.judge_all(rest, (yield from ask(NOW)), flows)
        return [answers[item.id] for item in items]


_KEPT = 2
_USUAL = QueueSettings().keep_succeeded


def _batch(items: Sequence[Settlement]) -> dict[str, Any]:
    """The parameters of `complete`."""
    return {
        "ids": [item.id for item in items],
        "attempts": [item.token.attempt for item in items],
        "nonces": [stored_nonce(item.token.nonce) for item in items],
        "results": [item.result for item in items],
        "usual": _USUAL,
    }
