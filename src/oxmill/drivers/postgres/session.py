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
    Wave,
    Whole,
)
from oxmill.model.job import Enqueued, NewJob
from oxmill.model.value import Micros
from oxmill.store.plan import Plan, Step, Steps, Together

T = TypeVar("T")

_COUNTED: Final = frozenset({"insert_job", "add_flow"})
"""Of which it matters how many rows they have changed."""
_TOGETHER: Final[dict[tuple[str | None, ...], tuple[str, int]]] = {
    ("complete", "claim"): ("complete_and_claim", 0),
    ("complete", "claim_gated"): ("complete_and_claim_gated", 4),
    ("hand_over", "claim"): ("hand_over_and_claim", 0),
}
"""Calls of two plans that are one query, and how many of its columns tell of what was settled; 0 if those
of a lease do."""
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


@dataclass(frozen=True, slots=True)
class Volley:
    """Several queries to send at once, in a transaction; they are performed in this order, each after
    the one before. The reply is the rows of each."""

    queries: tuple[Query, ...]
    last: bool = False
    """Whether nothing comes after them but the end of the transaction."""


Queries = Generator[Query | Volley | Look[Any], Any, T]


def queries(plan: Plan[T], schema: str, clock: Callable[[], Micros] | None) -> Queries[T]:
    """The queries of a plan; the value returned is the plan's answer. Those that tell nothing are sent
    with the next that does."""
    session = _Session(schema, clock)
    start = plan.start
    steps: Steps[T] = start.steps() if isinstance(start, Start) else start()
    work = session.follow(steps)
    reply: Any = None
    while True:
        try:
            asked = work.send(reply)
        except StopIteration as end:
            session.flush()
            rest = session.unsent()
            if rest:
                yield Volley(rest, last=True)
            return cast("T", end.value)
        before = session.unsent()
        reply = (yield from _after(before, asked)) if before else (yield asked)


def fresh_of(plan: Plan[Any]) -> Sequence[NewJob] | None:
    """The jobs that a plan is to store, if one call may do all of it."""
    start = plan.start
    shortcut = start.shortcut if isinstance(start, Start) else None
    return shortcut.jobs if isinstance(shortcut, Fresh) else None


def storing(jobs: Sequence[NewJob], schema: str, clock: Callable[[], Micros] | None) -> Query:
    """What stores new jobs without unique keys. Its reply is the time, for `answers_of`."""
    if len(jobs) == 1 and not (jobs[0].fields or jobs[0].tags):
        call = Call("enqueue_one", terms_of(jobs[0]), conflicts=True)
    else:
        call = Call("enqueue", batch_of(jobs), conflicts=True)
    return _query_of(call, schema, clock)


def _query_of(step: Call, schema: str, clock: Callable[[], Micros] | None) -> Query:
    text = statement(schema, step.name)
    at = None if clock is None else clock()
    values = [at if word == "at" else step.parameters[word] for word in text.names]
    return Query(text, values, alone=step.alone, conflicts=step.conflicts)


def _after(before: tuple[Query, ...], asked: Query | Volley | Look[Any]) -> Queries[Any]:
    """The reply to a query that comes after others."""
    if isinstance(asked, Volley):
        return (yield Volley((*before, *asked.queries)))[len(before) :]
    if isinstance(asked, Query) and not asked.conflicts:
        return (yield Volley((*before, asked)))[-1]
    yield Volley(before)
    return (yield asked)


class _Session:
    """One plan on its way. Counts are gathered and written once, at its end."""

    __slots__ = ("_clock", "_counts", "_schema", "_unsent")

    def __init__(self, schema: str, clock: Callable[[], Micros] | None) -> None:
        self._schema = schema
        self._clock = clock
        self._counts: dict[tuple[str, str], list[int]] = {}
        self._unsent: list[Query] = []
        """What comes before the next query, and tells nothing."""

    def follow(self, steps: Steps[T]) -> Queries[T]:
        """Perform steps one after the other."""
        reply: Any = None
        while True:
            try:
                step = steps.send(reply)
            except StopIteration as end:
                return cast("T", end.value)
            reply = yield from self._reply(step)

    def flush(self) -> None:
        """Write down the counts that were changed so far."""
        rows = [(*key, n, total) for key, (n, total) in self._counts.items() if n or total]
        self._counts.clear()
        if rows:
            self._unsent.append(self._of_many(Many("add_counts", rows)))

    def unsent(self) -> tuple[Query, ...]:
        """What is to be sent before anything else; it is the caller's from now on."""
        found = tuple(self._unsent)
        self._unsent.clear()
        return found

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
                return self._guard(step)
            case Now():
                return (yield from self._now())
            case Draw():
                rows = yield self._query("draw", {"n": step.n})
                return [number for (number,) in rows]
            case Whole():
                return (yield from self.follow(step.start()))
            case Together() | Wave():
                whole = isinstance(step, Together)
                return (yield from (self._abreast if whole else self._wave)(step.steps))
            case Look():
                return (yield step)
            case _:
                raise TypeError(f"{type(step).__name__} is not a step for PostgreSQL")

    def _query(
        self, name: str, parameters: Mapping[str, Any], *, locks: bool = False, alone: bool = False
    ) -> Query:
        text = statement(self._schema, name, locks=locks)
        return Query(text, [parameters[word] for word in text.names], alone=alone)

    def _call(self, step: Call) -> Query:
        return _query_of(step, self._schema, self._clock)

    def _store(self, jobs: Sequence[NewJob]) -> Queries[tuple[Enqueued, ...] | None]:
        rows = yield storing(jobs, self._schema, self._clock)
        return None if rows is None else answers_of(jobs, rows[0][0])

    def _now(self) -> Queries[Micros]:
        if self._clock is not None:
            return self._clock()
        ((now,),) = yield self._query("now", {})
        return cast("Micros", now)

    def _rows(self, step: Statement) -> Queries[Rows]:
        if step.counts:
            self.flush()
        if step.locks:
            return (yield from self._locked(step))
        query = self._query(step.name, step.parameters, alone=step.alone)
        if query.text.tells:
            return cast("Rows", (yield query))
        self._unsent.append(query)
        return []

    def _locked(self, step: Statement) -> Queries[Rows]:
        """Locks on keys come before locks on jobs, for everybody. What was read before a lock was
        had does not count: the reading statement begins after it."""
        match step.name:
            case "keys_by_key":
                self._unsent.append(self._query("lock_keys", step.parameters))
            case "standings_by_id":
                self._unsent.append(self._query("lock_keys_of", step.parameters))
            case "match":
                return (yield from self._match(step.parameters))
            case "leases_by_seq":
                return cast("Rows", (yield self._query("leases_waiting", step.parameters)))
            case "meters_by_key" if b'[""' in step.parameters["keys"].encode():
                self._unsent.append(self._query("hold_throttles", {}))
        return cast("Rows", (yield self._query(step.name, step.parameters, locks=True)))

    def _guard(self, step: Guard | Enter) -> None:
        if step.queues is None:
            self._unsent.append(self._query("hold_rules", {}))
        elif step.queues:
            name = "enter_gates" if isinstance(step, Enter) else "hold_gates"
            self._unsent.append(self._query(name, {"queues": _json(list(step.queues))}))

    def _match(self, asked: Mapping[str, Any]) -> Queries[Rows]:
        """Find, lock the keys of what was found, then lock it if it still matches."""
        rows: Rows = []
        for _ in range(_AGAIN):
            found = yield self._query("match", asked)
            if not found:
                return []
            keys = {row[_KEY] for row in found if row[_KEY] is not None}
            if keys:
                self._unsent.append(self._query("lock_keys", {"keys": _json(sorted(keys))}))
            named = dict(asked) | dict.fromkeys(_SOURCES, "[]") | {"field_name": None}
            named["seqs"] = _json([row[0] for row in found])
            rows = yield self._query("match", named, locks=True)
            if len(rows) == len(found):
                break
        return rows

    def _many(self, step: Many) -> Queries[int]:
        query = self._of_many(step)
        if step.name in _COUNTED:
            return len((yield query))
        self._unsent.append(query)
        return len(step.rows)

    def _of_many(self, step: Many) -> Query:
        text = statement(self._schema, step.name)
        if text.names == ("rows",):
            return Query(text, [_json(step.rows)])
        return Query(text, list(zip(*step.rows, strict=True)))

    def _add(self, step: Tallied) -> None:
        for key, (n, total) in step.changes.items():
            there = self._counts.setdefault(key, [0, 0])
            there[0] += n
            there[1] += total

    def _wave(self, steps: Sequence[Step[Any]]) -> Queries[tuple[Any, ...]]:
        """Steps of one plan: what each has to send next goes out together."""
        parts: list[_Part] = []
        sending: list[tuple[Query, _Part | None]] = []
        for step in steps:
            parts.append(_Part(self._reply(step)))
            sending += self._of_part(parts[-1])
        while any(part is not None for _, part in sending):
            replies = yield Volley(tuple([query for query, _ in sending]))
            heard, sending = zip(sending, replies, strict=True), []
            for (_, part), rows in heard:
                if part is not None:
                    part.tell(rows)
                    sending += self._of_part(part)
        self._unsent += [query for query, _ in sending]
        return tuple([part.answer for part in parts])

    def _of_part(self, part: _Part) -> list[tuple[Query, _Part | None]]:
        """What a part has to send: what comes before its query, then this."""
        sending: list[tuple[Query, _Part | None]] = [(query, None) for query in self.unsent()]
        if isinstance(part.query, Query):
            sending.append((part.query, part))
        return sending

    def _abreast(self, steps: Sequence[Step[Any]]) -> Queries[tuple[Any, ...]]:
        """Steps of several plans, in this order; a batch of successes, or of steps, and the next claim
        travel as one query."""
        parts = [_Part(self._reply(step)) for step in steps]
        one = _TOGETHER.get(tuple([part.name for part in parts]))
        if one is not None:
            yield from self._settle_and_claim(*one, *parts)
        for part in parts:
            yield from part.finish()
        return tuple([part.answer for part in parts])

    def _settle_and_claim(
        self, name: str, width: int, settle: _Part, claim: _Part
    ) -> Queries[None]:
        """The claim is made only if everything was settled; otherwise it comes after the rest."""
        text = statement(self._schema, name)
        given = settle.given() | claim.given()
        rows = yield Query(text, [given[word] for word in text.names], alone=True)
        settled, granted = _beside(rows, width) if width else _before(rows)
        settle.tell(settled)
        if granted:
            claim.tell(granted)


class _Part:
    """One of several plans that are performed together, with its next query at hand."""

    __slots__ = ("_queries", "answer", "query")

    def __init__(self, queries: Queries[Any]) -> None:
        self._queries = queries
        self.query: Query | Volley | Look[Any] | None = None
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


def _beside(rows: Rows, width: int) -> tuple[Rows, Rows]:
    """What was settled and what was granted, where each has columns of its own."""
    settled = [row[:width] for row in rows if row[0] is not None]
    return settled, [row[width:] for row in rows if row[0] is None]


def _before(rows: Rows) -> tuple[Rows, Rows]:
    """The same where they share columns. What was settled comes first: a few rows, with a queue and no job."""
    settled: Rows = []
    for row in rows:
        if row[_SEQ] is not None or row[_QUEUE] is None:
            break
        first, frees, *items = row[_TOLD]
        settled.append((row[_QUEUE], first, bool(frees), items, row[_EXTRAS]))
    return settled, rows[len(settled) :]


_SEQ, _QUEUE, _EXTRAS, _TOLD = 0, 2, 12, 16


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
