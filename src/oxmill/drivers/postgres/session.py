"""Turns a plan into queries, without performing any: every kind of connection can do that.

A session is a generator that yields queries and is sent their rows. So a plan runs the same on our
own connections and on the caller's, whatever the library, blocking or not.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar, cast

import msgspec

from oxmill.drivers.postgres.arriving import answers_of, batch_of, terms_of
from oxmill.drivers.postgres.statements import Text, statement
from oxmill.drivers.postgres.steps import Call
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
    Whole,
)
from oxmill.model.job import Enqueued, NewJob
from oxmill.model.value import Micros
from oxmill.store.plan import Plan, Step, Steps, Together

T = TypeVar("T")

_AGAIN: Final = 5
"""How often a search is repeated whose finds changed before they were locked."""
_SOURCES: Final = ("seqs", "ids", "waiting", "scheduled", "running", "held", "ended")
_KEY: Final = 21
"""Where the unique key stands among the columns of a standing."""


@dataclass(frozen=True, slots=True)
class Query:
    """One thing to send. `alone` if it needs no transaction of its own around it."""

    text: Text
    values: Sequence[Any]
    alone: bool = False
    conflicts: bool = False
    """Whether the reply to a taken id is `None`, with nothing changed."""


Queries = Generator[Query | Look[Any], Any, T]


def queries(plan: Plan[T], schema: str, clock: Callable[[], Micros] | None) -> Queries[T]:
    """The queries of a plan; the value returned is the plan's answer."""
    session = _Session(schema, clock)
    start = plan.start
    steps: Steps[T] = start.steps() if isinstance(start, Start) else start()
    answer = yield from session.follow(steps)
    yield from session.flush()
    return answer


class _Session:
    """One plan on its way. Counts are gathered and written once, at its end."""

    __slots__ = ("_clock", "_counts", "_schema")

    def __init__(self, schema: str, clock: Callable[[], Micros] | None) -> None:
        self._schema = schema
        self._clock = clock
        self._counts: dict[tuple[str, str], list[int]] = {}

    def follow(self, steps: Steps[T]) -> Queries[T]:
        """Perform steps one after the other."""
        reply: Any = None
        while True:
            try:
                step = steps.send(reply)
            except StopIteration as end:
                return cast("T", end.value)
            reply = yield from self._reply(step)

    def flush(self) -> Queries[None]:
        """Write down the counts that were changed so far."""
        rows = [(*key, n, total) for key, (n, total) in self._counts.items() if n or total]
        self._counts.clear()
        if rows:
            yield from self._many(Many("add_counts", rows))

    def _reply(self, step: Step[Any]) -> Queries[Any]:  # noqa: PLR0911 - one line per kind of step
        match step:
            case Call():
                return (yield self._call(step))
            case Fresh():
                return (yield from self._store(step.jobs))
            case Statement():
                return (yield from self._rows(step))
            case Many():
                return (yield from self._many(step))
            case Tallied():
                return self._add(step)
            case Guard() | Enter():
                return (yield from self._guard(step))
            case Now():
                return (yield from self._now())
            case Draw():
                rows = yield self._query("draw", {"n": step.n})
                return [number for (number,) in rows]
            case Whole():
                return (yield from self.follow(step.start()))
            case Together():
                return (yield from self._abreast(step.steps))
            case Look():
                return (yield step)
            case _:
                raise TypeError(f"{type(step).__name__} is not a step for PostgreSQL")

    def _query(self, name: str, parameters: Mapping[str, Any], *, locks: bool = False) -> Query:
        text = statement(self._schema, name, locks=locks)
        return Query(text, [parameters[word] for word in text.names])

    def _call(self, step: Call) -> Query:
        text = statement(self._schema, step.name)
        at = None if self._clock is None else self._clock()
        values = [at if word == "at" else step.parameters[word] for word in text.names]
        return Query(text, values, alone=step.alone, conflicts=step.conflicts)

    def _store(self, jobs: Sequence[NewJob]) -> Queries[tuple[Enqueued, ...] | None]:
        if len(jobs) == 1 and not (jobs[0].fields or jobs[0].tags):
            call = Call("enqueue_one", terms_of(jobs[0]), conflicts=True)
        else:
            call = Call("enqueue", batch_of(jobs), conflicts=True)
        rows = yield self._call(call)
        return None if rows is None else answers_of(jobs, rows[0][0])

    def _now(self) -> Queries[Micros]:
        if self._clock is not None:
            return self._clock()
        ((now,),) = yield self._query("now", {})
        return cast("Micros", now)

    def _rows(self, step: Statement) -> Queries[Rows]:
        if step.counts:
            yield from self.flush()
        if step.locks:
            return (yield from self._locked(step))
        return cast("Rows", (yield self._query(step.name, step.parameters)))

    def _locked(self, step: Statement) -> Queries[Rows]:
        """Locks on keys come before locks on jobs, for everybody. What was read before a lock was
        had does not count: the reading statement begins after it."""
        match step.name:
            case "keys_by_key":
                yield self._query("lock_keys", step.parameters)
            case "standings_by_id":
                yield self._query("lock_keys_of", step.parameters)
            case "match":
                return (yield from self._match(step.parameters))
            case "leases_by_seq":
                return cast("Rows", (yield self._query("leases_waiting", step.parameters)))
            case "meters_by_key" if b'[""' in step.parameters["keys"].encode():
                yield self._query("hold_throttles", {})
        return cast("Rows", (yield self._query(step.name, step.parameters, locks=True)))

    def _guard(self, step: Guard | Enter) -> Queries[None]:
        if step.queues is None:
            yield self._query("hold_rules", {})
        elif step.queues:
            name = "enter_gates" if isinstance(step, Enter) else "hold_gates"
            yield self._query(name, {"queues": _json(list(step.queues))})

    def _match(self, asked: Mapping[str, Any]) -> Queries[Rows]:
        """Find, lock the keys of what was found, then lock it if it still matches."""
        rows: Rows = []
        for _ in range(_AGAIN):
            found = yield self._query("match", asked)
            if not found:
                return []
            keys = {row[_KEY] for row in found if row[_KEY] is not None}
            if keys:
                yield self._query("lock_keys", {"keys": _json(sorted(keys))})
            named = dict(asked) | dict.fromkeys(_SOURCES, "[]") | {"field_name": None}
            named["seqs"] = _json([row[0] for row in found])
            rows = yield self._query("match", named, locks=True)
            if len(rows) == len(found):
                break
        return rows

    def _many(self, step: Many) -> Queries[int]:
        text = statement(self._schema, step.name)
        values: Sequence[Any]
        if text.names == ("rows",):
            values = [_json(step.rows)]
        else:
            values = list(zip(*step.rows, strict=True))
        return len((yield Query(text, values)))

    def _add(self, step: Tallied) -> None:
        for key, (n, total) in step.changes.items():
            there = self._counts.setdefault(key, [0, 0])
            there[0] += n
            there[1] += total

    def _abreast(self, steps: Sequence[Step[Any]]) -> Queries[tuple[Any, ...]]:
        """Steps of several plans, in this order; a batch of successes and the next claim travel as
        one query."""
        parts = [_Part(self._reply(step)) for step in steps]
        if [part.name for part in parts] == ["complete", "claim"]:
            yield from self._complete_and_claim(*parts)
        for part in parts:
            yield from part.finish()
        return tuple([part.answer for part in parts])

    def _complete_and_claim(self, settle: _Part, claim: _Part) -> Queries[None]:
        """The claim is made only if every success was plain; otherwise it comes after the rest."""
        text = statement(self._schema, "complete_and_claim")
        given = settle.given() | claim.given()
        rows = yield Query(text, [given[word] for word in text.names], alone=True)
        settle.tell([row[:4] for row in rows if row[0] is not None])
        granted = [row[4:] for row in rows if row[0] is None]
        if granted:
            claim.tell(granted)


class _Part:
    """One of several plans that are performed together, with its next query at hand."""

    __slots__ = ("_queries", "answer", "query")

    def __init__(self, queries: Queries[Any]) -> None:
        self._queries = queries
        self.query: Query | Look[Any] | None = None
        self.answer: Any = None
        self.tell(None)

    @property
    def name(self) -> str | None:
        """What it is about to call, if that is a call that may travel with others."""
        query = self.query
        return query.text.name if isinstance(query, Query) and query.alone else None

    def given(self) -> dict[str, Any]:
        """The parameters of the call."""
        assert isinstance(self.query, Query)  # noqa: S101 - it has a name
        return dict(zip(self.query.text.names, self.query.values, strict=True))

    def tell(self, reply: Any) -> None:
        """Go on to the next query, or to the answer."""
        try:
            self.query = self._queries.send(reply)
        except StopIteration as end:
            self.query, self.answer = None, end.value

    def finish(self) -> Queries[None]:
        """Perform what is left."""
        while self.query is not None:
            self.tell((yield self.query))


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
