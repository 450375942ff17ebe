"""A plan under way inside a transaction of the caller's, whose isolation is the caller's choice.

Most callers are at REPEATABLE READ, where two things differ from our own transactions. To lock a
row that is not there locks the gap it would be in, and new jobs all go into the same gap: whoever
did that would keep everybody else from enqueueing until the caller commits. And a plain read sees
what was there when the transaction began.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec

from oxmill.drivers.mysql.session import Frame, Session
from oxmill.drivers.mysql.shortcut import Shortcut
from oxmill.drivers.mysql.statements import statement
from oxmill.drivers.mysql.talk import Talk
from oxmill.drivers.sql.rows import json_text
from oxmill.drivers.sql.steps import Fresh, Rows, Start, Statement
from oxmill.model.job import Enqueue
from oxmill.model.value import Micros
from oxmill.store.plan import Plan, Steps

T = TypeVar("T")

UNDO: Final = b"ROLLBACK TO SAVEPOINT oxmill"
_FRAME: Final = Frame([], [], [UNDO])
_ID: Final = 1
"""Where the id stands among the columns of a standing."""


class CallerSession(Session):
    """Looks for the ids of new jobs without locks, and locks what it finds.

    A job that got such an id since the caller's transaction began is not seen; then the insert
    fails, and the caller is told to start again.
    """

    def __init__(self, clock: Callable[[], Micros] | None, plan: Plan[Any]) -> None:
        super().__init__(clock, _FRAME)
        request = plan.request
        self._new = {job.id for job in request.jobs} if isinstance(request, Enqueue) else set()
        self._known: list[str] = []

    def _perform(self, plan: Plan[T]) -> Talk[T]:
        """New jobs by the short way; it locks nothing but what it stores. Other short ways lock by
        joins, which may go through a whole table, so those operations go the long way."""
        start = plan.start
        if not isinstance(start, Start) or isinstance(start.shortcut, Fresh):
            return (yield from super()._perform(plan))
        steps: Steps[T] = start.steps()
        return (yield from self._follow(steps))

    def _cut_short(self, steps: Sequence[Shortcut[Any]]) -> Talk[list[Any]]:
        """What only reads ahead would lock by joins."""
        if any(step.goes_on for step in steps):
            return [None for _ in steps]
        return (yield from super()._cut_short(steps))

    def _call_control(self) -> None:
        """Everybody else who asks something of workers would wait for the caller's commit. They learn
        it with their next renewal."""

    def _statement(self, step: Statement) -> Talk[Rows]:
        match step.name:
            case "plain_leases":
                return []  # they are judged one by one
            case "keys_by_key" if step.locks:
                self._hold_keys(step.parameters)
                text = statement("keys_here", step.parameters, locks=True)
            case "standings_by_id" if step.locks:
                return (yield from self._standings(step.parameters))
            case "contents_by_id":
                text = statement(step.name, {"ids": json_text(self._known)})
                text += b" LOCK IN SHARE MODE"
            case _:
                return (yield from super()._statement(step))
        return (yield from self._ask(text)).rows

    def _standings(self, asked: Mapping[str, Any]) -> Talk[Rows]:
        if self._new.issuperset(msgspec.json.decode(asked["ids"])):
            seen = yield from self._ask(statement("standings_here", asked))
            self._known = [row[_ID] for row in seen.rows]
            if not self._known:
                return []
            asked = {"ids": json_text(self._known)}
        return (yield from self._ask(statement("standings_here", asked, locks=True))).rows
