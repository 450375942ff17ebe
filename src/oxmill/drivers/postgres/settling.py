"""Settling in PostgreSQL: batches of plain successes in one call, the rest in a transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oxmill.drivers.postgres.handing_over import steps_of
from oxmill.drivers.postgres.steps import Call
from oxmill.drivers.sql.arriving import due_of
from oxmill.drivers.sql.flow_rows import names_in
from oxmill.drivers.sql.handing_over import next_steps
from oxmill.drivers.sql.rows import stored_nonce
from oxmill.drivers.sql.settling import SqlSettling, rounds
from oxmill.drivers.sql.stepping import InFlows
from oxmill.drivers.sql.steps import NOW, Rows, operation
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
            asked = _leases(plain) | {"usual": _USUAL, "gone_first": self._gone_first}
            rows = (yield from ask(Call("complete", asked, alone=whole))) or []
            self._gone_first = bool(rows) and not rows[0][_KEPT]
            answers = _won(plain, rows)
        rest = [item for item in items if item.id not in answers]
        others = [item for item in rest if item.flow is None]
        if others:
            answers |= yield from self.judge_all(others, (yield from ask(NOW)), flows)
        steps = [item for item in rest if item.flow is not None]
        if steps:
            whole = alone and len(steps) == len(items)
            answers |= yield from self._settle_steps(steps, flows, alone=whole)
        return [answers[item.id] for item in items]

    def _settle_steps(
        self, items: list[Settlement], flows: InFlows, *, alone: bool
    ) -> Steps[dict[str, Settled]]:
        """Where all steps are of the usual kind, one call does it."""
        made = None if flows.busy else next_steps(items)
        rows: Rows = []
        if made is not None and all(job.flow is not None for job in made):
            asked = _leases(items) | steps_of(items)
            rows = (yield from ask(Call("hand_over", asked, alone=alone))) or []
        if made is None or not rows:
            return (yield from self.judge_all(items, (yield from ask(NOW)), flows))
        now, ended = rows[0][_MOMENT], names_in(rows[0][_ENDED])
        ripe = {job.queue for job in made if due_of(job, now) <= now}
        flows.handed_over(ripe, dict.fromkeys(ended))
        return _won(items, rows)


_KEPT = _MOMENT = 1
_ENDED = 4
_USUAL = QueueSettings().keep_succeeded


def _leases(items: Sequence[Settlement]) -> dict[str, Any]:
    """What tells the leases that end, and their results."""
    tokens = [item.token for item in items]
    # Most of a batch were granted by one claim or two.
    stored = {nonce: stored_nonce(nonce) for nonce in {token.nonce for token in tokens}}
    return {
        "ids": [item.id for item in items],
        "attempts": [token.attempt for token in tokens],
        "nonces": [stored[token.nonce] for token in tokens],
        "results": [item.result for item in items],
    }


def _won(items: Sequence[Settlement], rows: Rows) -> dict[str, Settled]:
    """The answers to those items that the rows tell of, by their numbers."""
    answers: dict[str, Settled] = {}
    for queue, _, frees, numbers, *_ in rows:
        gained = (queue,) if frees else ()
        for number in numbers:
            job = items[number - 1].id
            answers[job] = Settled(
                id=job, ruling=Ruling.WON, state=State.SUCCEEDED, queue=queue, gained=gained
            )
    return answers
