"""Performs a plan on one connection, as one atomic step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar, cast

import psycopg

from oxmill.drivers.postgres.arriving import answers_of
from oxmill.drivers.postgres.connection import Link
from oxmill.drivers.postgres.session import Queries, Query, Volley, fresh_of, queries, storing
from oxmill.drivers.sql.steps import Look, Rows
from oxmill.model.value import Micros
from oxmill.store.plan import Plan

T = TypeVar("T")

_WRITING: Final = "BEGIN ISOLATION LEVEL READ COMMITTED"
_READING: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
"""Several reads of one plan see one moment."""
_COMMIT: Final = "COMMIT"


class Performance(Generic[T]):
    """One attempt at a plan. A transaction is opened when the first query needs one."""

    __slots__ = ("_done", "_link", "_open", "_plan", "unsure")

    def __init__(self, link: Link, plan: Plan[T], done: list[Rows]) -> None:
        self._link = link
        self._plan = plan
        self._done = done
        """What earlier attempts have committed, which is not asked again: the replies in order."""
        self._open = False
        self.unsure = False
        """Whether something may have been committed that the caller has not been told."""

    def run(self, schema: str, clock: Callable[[], Micros] | None) -> T:
        """Perform all queries and commit. One call may do what most enqueues ask for."""
        known: list[Rows | None] = list(self._done)
        self.unsure = bool(known)
        fresh = fresh_of(self._plan)
        if fresh is not None and not known:
            rows = self._alone(storing(fresh, schema, clock))
            if rows is not None:
                return cast("T", answers_of(fresh, rows[0][0]))
            known.append(None)
        return self._follow(queries(self._plan, schema, clock), known)

    def _follow(self, work: Queries[T], known: list[Rows | None]) -> T:
        reply: Any = None
        while True:
            try:
                asked = work.send(reply)
            except StopIteration as end:
                self._commit()
                return cast("T", end.value)
            reply = known.pop(0) if known else self._reply(asked)

    def roll_back(self) -> None:
        """Leave no trace of what was not committed."""
        if self._open:
            self._open = False
            self._link.say("ROLLBACK")

    def _reply(self, asked: Query | Volley | Look[Any]) -> Any:
        if isinstance(asked, Look):
            return asked.act(self._link.connection)
        if isinstance(asked, Volley):
            return self._volley(asked)
        if asked.alone and not self._open:
            return self._alone(asked)
        if asked.conflicts:
            self._link.send(self._opening())
            return self._savepoint(asked)
        return self._link.send([*self._opening(), asked])[-1]

    def _alone(self, asked: Query) -> Any:
        """What is committed by itself."""
        before, self.unsure = self.unsure, self._plan.writes
        try:
            rows = self._link.ask(asked)
        except psycopg.errors.UniqueViolation:
            if not asked.conflicts:
                raise
            self.unsure = before
            return None
        self._done.append(rows)
        return rows

    def _savepoint(self, asked: Query) -> Any:
        self._link.say("SAVEPOINT oxmill")
        try:
            reply = self._link.ask(asked)
        except psycopg.errors.UniqueViolation:
            self._link.say("ROLLBACK TO SAVEPOINT oxmill")
            reply = None
        self._link.say("RELEASE SAVEPOINT oxmill")
        return reply

    def _volley(self, asked: Volley) -> list[Rows]:
        """Several at once; with the last ones goes the end of the transaction."""
        opening = self._opening()
        if not asked.last:
            return self._link.send([*opening, *asked.queries])[len(opening) :]
        self.unsure = self._plan.writes
        replies = self._link.send([*opening, *asked.queries, _COMMIT])
        self._open = False
        return replies[len(opening) : -1]

    def _opening(self) -> list[str | Query]:
        """What opens a transaction, unless one is open."""
        if self._open:
            return []
        self._open = True
        return [_WRITING if self._plan.writes else _READING]

    def _commit(self) -> None:
        if self._open:
            self.unsure = self._plan.writes
            self._link.say(_COMMIT)
            self._open = False
