"""Performs a plan on one connection, as one atomic step."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
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

Sending = Sequence[str | Query]
"""What goes out in one round trip."""
Work = Generator[Sending, list[Rows], T]


class Performance(Generic[T]):
    """One attempt at a plan, round trip by round trip. A transaction is opened when the first query needs
    one."""

    __slots__ = (
        *("_clock", "_open", "_schema", "_work", "answer", "done", "link", "next", "plan"),
        "unsure",
    )

    def __init__(
        self,
        link: Link,
        plan: Plan[T],
        done: list[Rows],
        schema: str,
        clock: Callable[[], Micros] | None,
    ) -> None:
        self.link = link
        self.plan = plan
        self.done = done
        """What earlier attempts have committed, which is not asked again: the replies in order."""
        self._schema = schema
        self._clock = clock
        self._open = False
        self.unsure = False
        """Whether something may have been committed that the caller has not been told."""
        self._work = self._perform()
        self.next: Sending | None = None
        """What is to be sent next; nothing before the beginning and after the end."""
        self.answer: T | None = None

    @property
    def plain(self) -> bool:
        """Whether what is to be sent next is committed by itself: no lock outlasts the answer."""
        return self.next is not None and len(self.next) == 1 and not self._open

    def begin(self) -> None:
        """Find out what is to be sent first."""
        self._follow_up(self._work.__next__)

    def go_on(self, replies: list[Rows]) -> None:
        """The server has answered."""
        self._follow_up(self._work.send, replies)

    def fail(self, error: BaseException) -> None:
        """The server has refused, or was not reached; raises unless the plan knows what to do then."""
        self._follow_up(self._work.throw, error)

    def run(self) -> T:
        """Perform all of it, waiting for each answer."""
        self.begin()
        return self.finish()

    def finish(self, *, sent: bool = False) -> T:
        """Perform what is left; `sent` if the next was sent already."""
        while self.next is not None:
            wire = self.link.wire
            try:
                replies = wire.wait() if sent else wire.send(self.next)
            except BaseException as error:  # noqa: BLE001 - the plan's own business, or raised again
                self.fail(error)
            else:
                self.go_on(replies)
            sent = False
        return cast("T", self.answer)

    def roll_back(self) -> None:
        """Leave no trace of what was not committed."""
        if self._open:
            self._open = False
            self.link.say("ROLLBACK")

    def _follow_up(self, step: Callable[..., Sending], *told: Any) -> None:
        try:
            self.next = step(*told)
        except StopIteration as end:
            self.next, self.answer = None, end.value

    def _perform(self) -> Work[T]:
        """Perform all queries and commit. One call may do what most enqueues ask for."""
        known: list[Rows | None] = list(self.done)
        self.unsure = bool(known)
        fresh = fresh_of(self.plan)
        if fresh is not None and not known:
            rows = yield from self._alone(storing(fresh, self._schema, self._clock))
            if rows is not None:
                return cast("T", answers_of(fresh, rows[0][0]))
            known.append(None)
        return (yield from self._follow(queries(self.plan, self._schema, self._clock), known))

    def _follow(self, work: Queries[T], known: list[Rows | None]) -> Work[T]:
        reply: Any = None
        while True:
            try:
                asked = work.send(reply)
            except StopIteration as end:
                yield from self._commit()
                return cast("T", end.value)
            reply = known.pop(0) if known else (yield from self._reply(asked))

    def _reply(self, asked: Query | Volley | Look[Any]) -> Work[Any]:
        if isinstance(asked, Look):
            return asked.act(self.link.connection)
        if isinstance(asked, Volley):
            return (yield from self._volley(asked))
        if asked.alone and not self._open:
            return (yield from self._alone(asked))
        if asked.conflicts:
            if opening := self._opening():
                yield opening
            return (yield from self._savepoint(asked))
        return (yield [*self._opening(), asked])[-1]

    def _alone(self, asked: Query) -> Work[Any]:
        """What is committed by itself."""
        before, self.unsure = self.unsure, self.plan.writes
        try:
            (rows,) = yield (asked,)
        except psycopg.errors.UniqueViolation:
            if not asked.conflicts:
                raise
            self.unsure = before
            return None
        self.done.append(rows)
        return rows

    def _savepoint(self, asked: Query) -> Work[Any]:
        yield ("SAVEPOINT oxmill",)
        try:
            (reply,) = yield (asked,)
        except psycopg.errors.UniqueViolation:
            yield ("ROLLBACK TO SAVEPOINT oxmill",)
            reply = None
        yield ("RELEASE SAVEPOINT oxmill",)
        return reply

    def _volley(self, asked: Volley) -> Work[list[Rows]]:
        """Several at once; with the last ones goes the end of the transaction."""
        opening = self._opening()
        if not asked.last:
            return (yield [*opening, *asked.queries])[len(opening) :]
        self.unsure = self.plan.writes
        replies = yield [*opening, *asked.queries, _COMMIT]
        self._open = False
        return replies[len(opening) : -1]

    def _opening(self) -> list[str | Query]:
        """What opens a transaction, unless one is open."""
        if self._open:
            return []
        self._open = True
        return [_WRITING if self.plan.writes else _READING, *self.link.bounds]

    def _commit(self) -> Work[None]:
        if self._open:
            self.unsure = self.plan.writes
            yield (_COMMIT,)
            self._open = False
