"""Turns plans into batches of statements, without sending any.

A session is told what came back, so that the same code serves our own connections, those of a
caller, blocking and async ones. Writes wait until an answer is needed or the plan is done, so most
plans take as many round trips as they have questions, and one more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeVar, cast

import msgspec

from oxmill.drivers.mysql.arriving import BLOCK, Arriving
from oxmill.drivers.mysql.counts import changed, tallies, with_any
from oxmill.drivers.mysql.faults import Taken
from oxmill.drivers.mysql.fields import adapted, stored_rows
from oxmill.drivers.mysql.gates import GateTalk
from oxmill.drivers.mysql.knocking import Seen
from oxmill.drivers.mysql.literals import SERVER_TIME
from oxmill.drivers.mysql.shortcut import Ahead, HotStart, Last, Result, Shortcut
from oxmill.drivers.mysql.statements import many, statement
from oxmill.drivers.mysql.talk import Batch, Talk
from oxmill.drivers.sql.rows import json_text
from oxmill.drivers.sql.steps import (
    NOW,
    Draw,
    Enter,
    Fresh,
    Guard,
    Many,
    Now,
    Rows,
    Start,
    Statement,
    Tallied,
    Wave,
    Whole,
)
from oxmill.errors import BadInput
from oxmill.model.job import Enqueued, NewJob
from oxmill.model.value import Micros
from oxmill.store.plan import Plan, Step, Steps, Together

T = TypeVar("T")

_FIRST: Final = {
    "lift_rule": "rule_named",
    "drop_schedule": "schedule_named",
    "pause_schedule": "schedule_named",
    "drop_ended_rules": "ended_rules",
    "order_workers": "workers_named",
}
"""Writes that tell what they have changed: it is read, and locked, first."""
_SEARCHES: Final = frozenset({"match", "window_field", "window_ended", "window_all"})
_BEGINS: Final = statement("shortcut_begins", {"now": SERVER_TIME})
_NO_SOURCE: Final[dict[str, Any]] = {
    **dict.fromkeys(("ids", "waiting", "scheduled", "running", "held", "ended"), "[]"),
    "field_name": None,
    "field_value": None,
}
_ASKING: Final = frozenset({"ask_to_stop", "order_workers"})
"""Writes that workers are to learn of at once."""
_BY_MOMENT: Final = frozenset({"due", "lapsed", "expired"})
_MOMENT: Final = itemgetter(0, 1)
_FIELDS: Final = frozenset({"add_fields", "drop_fields"})
_NEWS: Final = frozenset({"join_lanes", "free_lanes"})
_OF_LANES: Final = frozenset(
    {"gates_ahead", "plain_lanes", "lane_heads", "plain_heads", "meters_by_key"}
)


class Frame(NamedTuple):
    """What a transaction begins and ends with, and what undoes it."""

    opening: Batch
    closing: Batch
    undo: Batch


class Session:
    """One plan under way, in one transaction."""

    def __init__(
        self,
        clock: Callable[[], Micros] | None,
        frame: Frame,
        done: list[list[Any]] | None = None,
        refused: Sequence[NewJob] | None = None,
    ) -> None:
        self._clock = clock
        self._frame = frame
        self._done: list[list[Any]] = [] if done is None else done
        """What shortcuts gave that were committed, also before the plan was started again: they
        are not taken a second time."""
        self._replayed = 0
        self._moment: Micros | None = None
        """When it happens, if that was told."""
        self._open = False
        """Whether the transaction has been begun, or will be with what is pending."""
        self._pending: Batch = [] if refused is None else [*frame.undo]
        self._refused = refused
        """New jobs of which an id was found to be taken: they are not simply stored."""
        self._sure = False
        """Whether jobs are among it of which the ids are sure to be free."""
        self._counts: dict[tuple[str, str], list[int]] = {}
        self._standing: Rows | None = None
        """All counts as they were read, as long as this plan has not changed any."""
        self._events: list[tuple[Any, ...]] = []
        self._asks = False
        """Whether something was asked of workers."""
        self._ending = False
        """Whether nothing is going to be written any more."""
        self._ahead: Ahead | None = None
        """What was read before it was asked for, as long as nothing is written."""
        self._gates = GateTalk(self._add, self._send, self._wrote)
        self._acts = self._ways()

    def _ways(self) -> dict[type[Step[Any]], Callable[[Any], Talk[Any]]]:
        return {
            Statement: self._told,
            Many: self._many,
            Fresh: self._fresh,
            Tallied: self._tallied,
            Now: self._now,
            Draw: self._draw,
            Guard: self._gates.guard,
            Enter: self._gates.enter,
            Whole: self._whole,
            Last: self._last,
            Together: self._together,
            Wave: self._wave,
        }

    def talk(self, plan: Plan[T]) -> Talk[T]:
        """All batches of a plan."""
        answer = yield from self._perform(plan)
        self._write_last()
        if self._open:
            self._pending += self._frame.closing
        if self._pending:
            yield from self._send()
        return answer

    def _perform(self, plan: Plan[T]) -> Talk[T]:
        start = plan.start
        if not isinstance(start, Start):
            steps: Steps[T] = start()
            return (yield from self._follow(steps))
        if start.shortcut is not None:
            answer = yield from self._reply(start.shortcut)
            if answer is not None and isinstance(start, HotStart):
                return cast("T", (yield from self._follow(start.completed(answer))))
            if answer is not None:
                return cast("T", answer)
        return (yield from self._follow(cast("Steps[T]", start.steps())))

    def _follow(self, steps: Steps[T]) -> Talk[T]:
        reply: Any = None
        while True:
            try:
                step = steps.send(reply)
            except StopIteration as end:
                return cast("T", end.value)
            reply = yield from self._reply(step)

    def _reply(self, step: Step[Any]) -> Talk[Any]:
        if isinstance(step, Shortcut):
            return (yield from self._cut_short([step]))[0]
        act = self._acts.get(type(step))
        if act is None:
            raise TypeError(f"{type(step).__name__} is not a step for MySQL")
        return (yield from act(step))

    def _add(self, *texts: bytes) -> None:
        if not self._open:
            self._pending += self._frame.opening
            self._open = True
        self._pending += texts

    def _wrote(self) -> None:
        self._ahead = None

    def _send(self) -> Talk[list[Result]]:
        batch, self._pending, self._sure = self._pending, [], False
        return (yield batch)

    def _ask(self, text: bytes) -> Talk[Result]:
        self._add(text)
        return (yield from self._send())[-1]

    # -- shortcuts -------------------------------------------------------------------------------

    def _cut_short(self, steps: Sequence[Shortcut[Any]]) -> Talk[list[Any]]:
        """Try to do whole operations in one round trip. Unless others come before or after them in
        this transaction, that includes its end; if they did nothing, there was nothing to commit."""
        goes_on = any(step.goes_on for step in steps)
        alone = not self._open and not goes_on
        if alone and self._replayed < len(self._done):
            self._replayed += 1
            return self._done[self._replayed - 1]
        self._wrote()
        if self._clock is None:
            self._add(_BEGINS)
        else:
            self._add(statement("shortcut_begins", {"now": self._clock()}))
        spans: list[slice] = []
        for step in steps:
            texts = step.statements()
            spans.append(slice(len(self._pending), len(self._pending) + len(texts)))
            self._pending += texts
        if alone:
            self._pending += self._frame.closing
            self._open = False
        results = yield from self._send()
        answers = [step.answer(results[span]) for step, span in zip(steps, spans, strict=True)]
        if goes_on:
            ((self._moment,),) = results[-1].rows
            self._look_ahead(steps[-1].ahead(results[spans[-1]]))
        if alone:
            self._done.append(answers)
            self._replayed += 1
        return answers

    def _look_ahead(self, ahead: Ahead | None) -> None:
        self._ahead = ahead
        if isinstance(ahead, Seen):
            self._gates.knocked(ahead)

    def _fresh(self, step: Fresh) -> Talk[tuple[Enqueued, ...] | None]:
        """Store new jobs. A refused id undoes what was stored beside it, and only that."""
        if step.jobs is self._refused:
            return None
        now = None
        if self._sure:
            yield from self._send()
        if any(job.run_at is not None for job in step.jobs):
            now = yield from self._now(NOW)
        within = self._open
        if within:
            self._pending.append(b"SAVEPOINT oxmill_fresh")
        try:
            (answers,) = yield from self._cut_short([Arriving(step.jobs, now)])
        except Taken:
            self._open, self._refused = within, step.jobs
            self._pending = (
                [b"ROLLBACK TO SAVEPOINT oxmill_fresh"] if within else [*self._frame.undo]
            )
            return None
        return cast("tuple[Enqueued, ...]", answers)

    # -- steps -----------------------------------------------------------------------------------

    def _told(self, step: Statement) -> Talk[Rows]:
        known = None if self._ahead is None else self._ahead.reply(step)
        if known is not None:
            return known
        return (yield from (self._end if self._ending and step.alone else self._statement)(step))

    def _end(self, step: Statement) -> Talk[Rows]:
        """The last question of all travels with the end of the transaction."""
        self._write_last()
        self._add(statement(step.name, step.parameters), *self._frame.closing)
        self._open = False
        results = yield from self._send()
        return results[-1 - len(self._frame.closing)].rows

    def _statement(self, step: Statement) -> Talk[Rows]:
        if step.counts:
            return (yield from self._counted(step))
        name, parameters = step.name, step.parameters
        if name in _SEARCHES:
            parameters = adapted(parameters)
        if name == "match" and step.locks:
            return (yield from self._match(parameters))
        if name == "prunable":
            return (yield from self._prunable(parameters))
        if name == "keys_by_key" and step.locks:
            self._hold_keys(parameters)
        if name in _OF_LANES:
            return (yield from self._lanes(step))
        if name == "cut_leases":
            parameters = dict(parameters) | {"seqs": (yield from self._leases_ahead(parameters))}
        rows: Rows = []
        if name in _FIRST:
            asked = {"paused": None} | dict(parameters)
            rows = (yield from self._ask(statement(_FIRST[name], asked))).rows
        locks = step.locks or name == "leases_by_seq"
        text = statement(name, parameters, locks=locks)
        if text.startswith(b"SELECT"):
            rows = (yield from self._ask(text)).rows
            return sorted(rows, key=_MOMENT) if name in _BY_MOMENT else rows
        self._wrote()
        self._asks = self._asks or name in _ASKING
        self._add(text)
        return rows

    def _lanes(self, step: Statement) -> Talk[Rows]:
        match step.name:
            case "gates_ahead":
                return (yield from self._gates.ahead(step.parameters))
            case "plain_lanes":
                return (yield from self._gates.plain_lanes(step.parameters))
            case "meters_by_key":
                # Meters of one queue are guarded by its gate, the others by a turn of their own.
                if step.locks and '[""' in step.parameters["keys"]:
                    self._add(statement("hold_throttles", {}))
                return (yield from self._ask(statement(step.name, step.parameters))).rows
            case _:
                return (yield from self._gates.heads(step.name, step.parameters))

    def _match(self, parameters: Mapping[str, Any]) -> Talk[Rows]:
        """Look first, without locks, then lock what was found if it still matches: a search that
        locks would lock whatever it looks at."""
        rows = (yield from self._ask(statement("match", parameters))).rows
        if not rows:
            return []
        found = dict(parameters) | _NO_SOURCE | {"seqs": json_text(row[0] for row in rows)}
        return (yield from self._ask(statement("match", found, locks=True))).rows

    def _prunable(self, parameters: Mapping[str, Any]) -> Talk[Rows]:
        """Lock all but the last, which only tells that there is more: who skipped it while it was
        locked would have left it to nobody."""
        wanted = dict(parameters) | {"most": parameters["most"] - 1}
        rows = (yield from self._ask(statement("prunable", wanted, locks=True))).rows
        if len(rows) < wanted["most"]:
            return rows
        seen = (yield from self._ask(statement("prunable", parameters))).rows
        return [*rows, *seen[wanted["most"] :]]

    def _hold_keys(self, parameters: Mapping[str, Any]) -> None:
        """Let nobody else decide about these keys, whether they are there or not."""
        names = sorted(msgspec.json.decode(parameters["keys"]))
        self._add(*many("hold_keys", [(name,) for name in names]))

    def _leases_ahead(self, parameters: Mapping[str, Any]) -> Talk[str]:
        """One look per queue: with several at once the server reads all leases of each."""
        ahead: list[int] = []
        for queue in msgspec.json.decode(parameters["queues"]):
            asked = dict(parameters) | {"queue": queue}
            rows = (yield from self._ask(statement("leases_ahead", asked))).rows
            ahead += [seq for (seq,) in rows]
        return json_text(ahead)

    def _counted(self, step: Statement) -> Talk[Rows]:
        """Read the counts, those that this very plan has changed included."""
        self._write_counts()
        if step.name == "tallies_of":
            return tallies((yield from self._ask(statement("counts_of", step.parameters))).rows)
        if self._standing is None:
            self._standing = (yield from self._ask(statement("counts_all", {}))).rows
        if step.name == "queues_with":
            return with_any(self._standing, step.parameters["state"])
        return tallies(self._standing)

    def _many(self, step: Many) -> Talk[int]:
        rows: Sequence[tuple[Any, ...]] = step.rows
        if step.name == "add_events":
            self._events += rows
            return len(rows)
        self._wrote()
        if step.name == "drop_lanes":
            self._add(statement("drop_lanes", {"lanes": json_text(rows)}))
            return len(rows)
        if step.name in _FIELDS:
            rows = stored_rows(rows)
        if step.name in _NEWS:
            self._gates.told()
        if step.name == "insert_job":
            return (yield from self._insert(step))
        texts = list(many(step.name, rows))
        self._add(*texts)
        if step.name == "add_flow":
            results = yield from self._send()
            return sum(result.affected for result in results[-len(texts) :])
        return len(rows)

    def _insert(self, step: Many) -> Talk[int]:
        """Store jobs; 0 if an id is taken. Where they are sure to be free and one is not, the plan is
        started again, by whom that was to be told to."""
        if self._sure:
            yield from self._send()
        self._add(*many(step.name, step.rows))
        if step.sure:
            self._sure = True
            return len(step.rows)
        try:
            yield from self._send()
        except Taken:
            return 0
        return len(step.rows)

    def _tallied(self, step: Tallied) -> Talk[None]:
        counts, self._standing = self._counts, None
        for key, (n, total) in step.changes.items():
            there = counts.setdefault(key, [0, 0])
            there[0] += n
            there[1] += total
        return
        yield

    def _now(self, _: Now) -> Talk[Micros]:
        if self._moment is not None:
            return self._moment
        if self._clock is not None:
            return self._clock()
        ((now,),) = (yield from self._ask(statement("now", {}))).rows
        return cast("Micros", now)

    def _draw(self, step: Draw) -> Talk[range]:
        if step.n > BLOCK:
            raise BadInput(f"{step.n} jobs are too many for one call; use at most {BLOCK}")
        drawn = None if self._ahead is None else self._ahead.drawn(step.n)
        if drawn is not None:
            return drawn
        first = (yield from self._ask(statement("draw", {}))).insert_id * BLOCK
        return range(first, first + step.n)

    def _whole(self, step: Whole[T]) -> Talk[T]:
        return (yield from self._follow(step.start()))

    def _last(self, step: Last[T]) -> Talk[T]:
        self._ending = True
        return (yield from self._whole(step))

    def _together(self, step: Together) -> Talk[tuple[Any, ...]]:
        shortcuts = [each for each in step.steps if isinstance(each, Shortcut)]
        if len(shortcuts) == len(step.steps):
            return tuple((yield from self._cut_short(shortcuts)))
        replies: list[Any] = []
        for each in step.steps:
            replies += [(yield from self._reply(each))]
        return tuple(replies)

    def _wave(self, step: Wave) -> Talk[tuple[Any, ...]]:
        """All steps in as many round trips as the longest of them takes. What follows the news of
        lanes sees what has come of them, so it waits until those are taken in."""
        replies: dict[int, Any] = {}
        talks: dict[int, Talk[Any]] = {}
        for number, each in enumerate(step.steps):
            talks[number] = self._reply(each)
            if isinstance(each, Enter):
                replies |= yield from _side_by_side(talks)
                talks = {}
        replies |= yield from _side_by_side(talks)
        return tuple(replies[number] for number in range(len(step.steps)))

    # -- what is written last ----------------------------------------------------------------------

    def _write_last(self) -> None:
        self._write_counts()
        self._write_events()
        self._call_control()

    def _call_control(self) -> None:
        if self._asks:
            self._add(statement("call_control", {}), statement("draw", {}))

    def _write_counts(self) -> None:
        rows = changed(self._counts)
        self._counts.clear()
        if rows:
            self._add(*many("add_changes", rows))

    def _write_events(self) -> None:
        """Number and write events: last of all, because others who have some wait for it."""
        events = self._events
        if not events:
            return
        self._add(statement("number_events", {"many": len(events)}))
        last = len(events) - 1
        rows = [(last - place, *event) for place, event in enumerate(events)]
        self._add(*many("add_events", rows))
        self._events = []


def _side_by_side(talks: Mapping[int, Talk[Any]]) -> Talk[dict[int, Any]]:
    """Say what several talks have to say, one batch of each at a time; what they give."""
    given: dict[int, Any] = {}
    results: dict[int, Any] = dict.fromkeys(talks)
    while results:
        batches: dict[int, Batch] = {}
        for number, found in results.items():
            try:
                batches[number] = talks[number].send(found)
            except StopIteration as end:
                given[number] = end.value
        results = {}
        if batches:
            answers = iter((yield [text for batch in batches.values() for text in batch]))
            results = {
                number: list(islice(answers, len(batch))) for number, batch in batches.items()
            }
    return given
