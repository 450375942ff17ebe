"""Performs a plan on one connection, as one atomic step."""

from __future__ import annotations

from typing import Any, Final, TypeVar, cast

import psycopg

from oxmill.drivers.postgres.connection import Link
from oxmill.drivers.postgres.session import Queries, Query
from oxmill.drivers.sql.steps import Look, Rows
from oxmill.store.plan import Plan

T = TypeVar("T")

_WRITING: Final = "BEGIN ISOLATION LEVEL READ COMMITTED"
_READING: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
"""Several reads of one plan see one moment."""


class Performance:
    """One attempt at a plan. A transaction is opened when the first query needs one."""

    __slots__ = ("_done", "_link", "_open", "_plan", "unsure")

    def __init__(self, link: Link, plan: Plan[Any], done: list[Rows]) -> None:
        self._link = link
        self._plan = plan
        self._done = done
        """What earlier attempts have committed, which is not asked again: the replies in order."""
        self._open = False
        self.unsure = False
        """Whether something may have been committed that the caller has not been told."""

    def run(self, work: Queries[T]) -> T:
        """Perform all queries and commit."""
        reply: Any = None
        known = list(self._done)
        self.unsure = bool(known)
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

    def _reply(self, asked: Query | Look[Any]) -> Any:
        if isinstance(asked, Look):
            return asked.act(self._link.connection)
        if asked.alone and not self._open:
            return self._alone(asked)
        self._begin()
        return self._savepoint(asked) if asked.conflicts else self._link.ask(asked)

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

    def _begin(self) -> None:
        if not self._open:
            self._link.say(_WRITING if self._plan.writes else _READING)
            self._open = True

    def _commit(self) -> None:
        if self._open:
            self.unsure = self._plan.writes
            self._link.say("COMMIT")
            self._open = False
