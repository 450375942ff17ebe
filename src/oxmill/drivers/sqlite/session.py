"""Performs plans on a connection, and remembers within a transaction what is written at its end.

Numbers and counts are asked for by nearly every plan. A group of a hundred plans in one transaction
reads the counter at most once and writes all counts once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any, Final, TypeVar, cast

import msgspec

from oxmill.drivers.sql.arriving import arrivals, labels_of
from oxmill.drivers.sql.rows import json_text
from oxmill.drivers.sql.steps import (
    Draw,
    Enter,
    Fresh,
    Guard,
    Look,
    Many,
    Now,
    Rows,
    Start,
    Statement,
    Tallied,
    Wave,
    Whole,
)
from oxmill.drivers.sqlite.binding import bindable, is_plain, plain_insert
from oxmill.drivers.sqlite.mold import Cast
from oxmill.drivers.sqlite.statements import (
    SEVERAL,
    SOME,
    gives_all,
    positional_text,
    several_text,
    statement_text,
    takes_all,
)
from oxmill.model.job import Enqueued, Verdict
from oxmill.model.state import State
from oxmill.model.value import Micros
from oxmill.store.plan import Plan, Step, Steps, Together

T = TypeVar("T")

_SEQ = ("", "seq")
_CREATED, _WAITING, _WAITING_TEXT = Verdict.CREATED, State.WAITING, State.WAITING.value
_COUNT = positional_text("add_counts")
_LAST = statement_text("last_number")
_UNDO = positional_text("undo_drawn")
_rows_in: Final = msgspec.json.Decoder(list[tuple[Any, ...]]).decode


class Session:
    """One connection, used by one thread at a time."""

    __slots__ = (
        "_clock",
        "_counts",
        "_cursor",
        "_last",
        "_sure",
        "_version",
        "begun",
        "committing",
        "connection",
    )

    def __init__(self, connection: sqlite3.Connection, clock: Callable[[], Micros]) -> None:
        self.connection = connection
        self._cursor = connection.cursor()
        """Used for everything: to make one per statement costs as much as a small statement."""
        self._clock = clock
        self._counts: dict[tuple[str, str], list[Any]] = {}
        """(queue, state) → the parameters of `add_counts`."""
        self._last = 0
        """The number drawn last, by this connection."""
        self._version: int | None = None
        """What the database looked like then; another connection's commit changes it."""
        self._sure = False
        """Whether `_last` is known to be right in this transaction."""
        self.begun = False
        """Whether the transaction that was asked for last was begun."""
        self.committing = False
        """Whether its end was asked for, too."""

    @property
    def committed(self) -> bool:
        """Whether the transaction begun last was committed."""
        return self.committing and not self.connection.in_transaction

    def begin(self) -> None:
        """Open a transaction that no other writer can get in between of."""
        self._sure = self.begun = self.committing = False
        self._cursor.execute("BEGIN IMMEDIATE")
        self.begun = True

    def commit(self) -> None:
        """Write down the counts and make everything last."""
        if self._counts:
            self.flush()
        self.committing = True
        self._cursor.execute("COMMIT")

    def rollback(self) -> None:
        """Forget everything since `begin`."""
        self._counts.clear()
        self._version = None
        self._sure = self.committing = False
        self.connection.rollback()

    def flush(self) -> None:
        """Write down the counts that plans of this transaction have changed."""
        rows = [row for row in self._counts.values() if row[2] or row[3]]
        self._counts.clear()
        if rows:
            self._cursor.executemany(_COUNT, rows)

    def transact(self, plan: Plan[T]) -> T:
        """Perform a plan in a transaction of its own."""
        one: Any = plan.start
        if type(one) is not Cast:
            self.begin()
            answer = self.perform(plan)
            self.commit()
            return answer
        # What these three do, written out for the usual job.
        cursor, clock, mold = self._cursor, self._clock, one.mold
        execute = cursor.execute
        self._sure = self.begun = self.committing = False
        execute("BEGIN IMMEDIATE")
        self.begun = True
        (version,) = execute("PRAGMA data_version").fetchone()
        if version != self._version:
            self._look_up(version)
        seq, now = self._last + 1, clock()
        values = seq, one.id, seq, now, *mold.where, now, *mold.terms, bytearray(one.payload)
        if execute(mold.insert, values).rowcount < 1:
            answer = self.perform(plan)
            self.commit()
            return answer
        self._last = seq
        cursor.executemany(_COUNT, mold.counts)
        self.committing = True
        execute("COMMIT")
        return (Enqueued(id=one.id, verdict=_CREATED, state=_WAITING),)  # type: ignore[return-value]

    def perform(self, plan: Plan[T]) -> T:
        """Perform a plan, inside whatever transaction is open."""
        start = plan.start
        if not isinstance(start, Start):
            if isinstance(start, Cast):
                return self.perform(start.usual())  # type: ignore[return-value]
            return self._follow(start())
        shortcut: Any = start.shortcut
        if shortcut is not None:
            if type(shortcut) is not Fresh:
                answer = self._reply(shortcut)
            elif len(shortcut.jobs) == 1:
                answer = self._store_one(shortcut)
            else:
                answer = self._store(shortcut)
            if answer is not None:
                return answer  # type: ignore[no-any-return]
        steps: Steps[T] = start.steps()
        return self._follow(steps)

    def _follow(self, steps: Steps[T]) -> T:
        reply: Any = None
        while True:
            try:
                step = steps.send(reply)
            except StopIteration as end:
                return cast("T", end.value)
            reply = self._reply(step)

    def _reply(self, step: Step[Any]) -> Any:
        reply: Any = None
        match step:
            case Fresh():
                reply = self._store(step)
            case Statement():
                reply = self._rows(step)
            case Many():
                reply = self._many(step)
            case Tallied():
                self._add(step.changes)
            case Now():
                reply = self._clock()
            case Draw():
                first = self._draw(step.n)
                reply = range(first, first + step.n)
            case Whole():
                reply = self._follow(step.start())
            case Together() | Wave():
                reply = tuple([self._reply(each) for each in step.steps])
            case Guard() | Enter():
                pass  # there is one writer
            case Look():
                reply = step.act(self.connection)
            case _:
                raise TypeError(f"{type(step).__name__} is not a step for SQLite")
        return reply

    def _rows(self, step: Statement) -> Rows:
        if step.counts:
            self.flush()
        # Always fetch everything: a statement left half-read would keep its locks.
        rows = self._cursor.execute(statement_text(step.name), step.parameters).fetchall()
        return _rows_in(rows[0][0]) if gives_all(step.name) else rows

    def _many(self, step: Many) -> int:
        if takes_all(step.name):
            rows = {"rows": json_text(step.rows)}
            return self._cursor.execute(statement_text(step.name), rows).rowcount
        return self._run(step.name, step.rows)

    def _run(self, name: str, rows: Sequence[Sequence[Any]]) -> int:
        without, rows = bindable(name, rows)
        if len(rows) == 1:
            return self._cursor.execute(positional_text(name, without), rows[0]).rowcount
        changed, done = 0, 0
        for many in (SEVERAL, SOME):
            text = several_text(name, without, many)
            if text is None:
                break
            while done + many <= len(rows):
                values = list(chain.from_iterable(rows[done : done + many]))
                changed += self._cursor.execute(text, values).rowcount
                done += many
        if done < len(rows):
            left = rows[done:] if done else rows
            changed += self._cursor.executemany(positional_text(name, without), left).rowcount
        return changed

    def _store(self, step: Fresh) -> tuple[Enqueued, ...] | None:
        jobs = step.jobs
        first = self._draw(len(jobs))
        new = arrivals(jobs, first, self._clock())
        if self._run("insert_job", new.rows) < len(jobs):
            self._cursor.execute(_UNDO, (first, first + len(jobs) - 1))
            return None
        if new.labelled and (found := labels_of(new.rows)):
            self._run("add_fields", found)
        if new.lanes:
            self._run("join_lanes", new.lanes)
        self._add(new.counts)
        return new.answers

    def _store_one(self, step: Fresh) -> tuple[Enqueued, ...] | None:
        """The same for one job, by a shorter way if there is nothing unusual about it: every single
        async enqueue comes through here."""
        job = step.jobs[0]
        if not is_plain(job):
            return self._store(step)
        cursor, counts, seq = self._cursor, self._counts, self._draw(1)
        if cursor.execute(*plain_insert(job, seq, self._clock())).rowcount < 1:
            cursor.execute(_UNDO, (seq, seq))
            return None
        key = queue, _ = job.queue, _WAITING_TEXT
        if key in counts:
            counts[key][2] += 1
        else:
            counts[key] = [queue, _WAITING_TEXT, 1, 0]
        return (Enqueued(id=job.id, verdict=_CREATED, state=_WAITING),)

    def _add(self, changes: Mapping[tuple[str, str], Sequence[int]]) -> None:
        counts = self._counts
        for key, (n, total) in changes.items():
            there = counts.get(key)
            if there is None:
                counts[key] = [*key, n, total]
            else:
                there[2] += n
                there[3] += total

    def _draw(self, n: int) -> int:
        """The first of so many numbers that were never drawn before. The counter is read, unless
        nobody else can have changed it since the last time."""
        if not self._sure:
            (version,) = self._cursor.execute("PRAGMA data_version").fetchone()
            if version != self._version:
                self._look_up(version)
            self._sure = True
        last = self._last
        self._last = last + n
        there = self._counts.get(_SEQ)
        if there is None:
            self._counts[_SEQ] = [*_SEQ, n, 0]
        else:
            there[2] += n
        return last + 1

    def _look_up(self, version: int) -> None:
        """Read the number drawn last, since another connection may have changed it."""
        ((self._last,),) = self._cursor.execute(_LAST).fetchall()
        self._version = version


def perform(connection: sqlite3.Connection, clock: Callable[[], Micros], plan: Plan[T]) -> T:
    """Perform a plan in a transaction that the caller has opened and will commit."""
    session = Session(connection, clock)
    answer = session.perform(plan)
    session.flush()
    return answer
