"""New jobs in one round trip: their numbers and the moment are filled in by the server."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from oxmill.drivers.mysql.counts import changed
from oxmill.drivers.mysql.fields import stored
from oxmill.drivers.mysql.literals import literal
from oxmill.drivers.mysql.shortcut import Result, Shortcut
from oxmill.drivers.mysql.statements import joined, many, rows_of
from oxmill.drivers.sql.rows import extras_in, extras_of, labels
from oxmill.model.job import Enqueued, NewJob, Verdict
from oxmill.model.state import State
from oxmill.model.value import Micros

_MOMENT: Final = b"@oxmill_now"
_ROW: Final = b"(%b, %b, %b, %b, NULL, %b, NULL, %b, %b, %b, REPEAT('.', 80))"
"""A row of `insert_job`: seq, id, place, the moment, what `_alike` gives, extras and payload."""
BLOCK: Final = 65_536
"""Numbers that one row of oxmill_changes stands for."""


class Arriving(Shortcut[tuple[Enqueued, ...]]):
    """New jobs without unique keys. `now` is needed only for jobs with a due time of their own."""

    __slots__ = ("_jobs", "_now", "_states")

    def __init__(self, jobs: Sequence[NewJob], now: Micros | None = None) -> None:
        self._jobs = jobs
        self._now = now
        self._states = [self._state(job) for job in jobs]

    def _state(self, job: NewJob) -> State:
        if job.run_at is None:
            return State.SCHEDULED if job.delay > 0 else State.WAITING
        return State.SCHEDULED if job.run_at > (self._now or 0) else State.WAITING

    def statements(self) -> list[bytes]:
        """Counts first: their row gives the numbers."""
        counts: dict[tuple[str, str], list[int]] = {}
        for job, state in zip(self._jobs, self._states, strict=True):
            counts.setdefault((job.queue, state._value_), [0, 0])[0] += 1
        shape = rows_of("insert_job")
        assert shape is not None  # noqa: S101 - it is an INSERT
        rows, found = self._rows()
        counted = [(queue, state, n) for (queue, state), (n, _) in counts.items()]
        texts = [*_counting(tuple(counted)), *joined(shape, rows)]
        if found:
            fields = rows_of("add_fields")
            assert fields is not None  # noqa: S101 - it is an INSERT
            texts += joined(fields, found)
        return texts + self._lanes()

    def _lanes(self) -> list[bytes]:
        """The next claim is told of the lanes that these jobs join. This comes last: it draws
        numbers of its own."""
        first: dict[tuple[str, str, int], int] = {}
        for number, (job, state) in enumerate(zip(self._jobs, self._states, strict=True)):
            if job.group is not None and state is State.WAITING:
                first.setdefault((job.group, job.queue, job.priority), number)
        if not first:
            return []
        shape = rows_of("join_lanes")
        assert shape is not None  # noqa: S101 - it is an INSERT
        rows = [
            b"(%b, %b, %b, @oxmill_number * %d + %d)"
            % (literal(group), literal(queue), literal(priority), BLOCK, number)
            for (group, queue, priority), number in first.items()
        ]
        return [b"SET @oxmill_number = LAST_INSERT_ID()", *joined(shape, rows)]

    def _rows(self) -> tuple[list[bytes], list[bytes]]:
        """The rows of the jobs, and those by which they are found."""
        rows: list[bytes] = []
        found: list[bytes] = []
        for number, (job, state) in enumerate(zip(self._jobs, self._states, strict=True)):
            before, after = _alike(_key(job, state), _MOMENT)
            extras = extras_of(job)
            seq = _seq(number)
            values = seq, literal(job.id), seq, _MOMENT, before, after
            rows.append(_ROW % (*values, literal(extras), literal(job.payload)))
            if extras is not None:
                found += [
                    b"(%b, %b, %b)" % (literal(name), literal(stored(value)), _seq(number))
                    for name, value, _ in labels(extras_in(extras), 0)
                ]
        return rows, found

    def answer(self, results: Sequence[Result]) -> tuple[Enqueued, ...]:  # noqa: ARG002 - no news
        """All of them are stored; otherwise the server has refused an id."""
        return tuple(
            [
                Enqueued(id=job.id, verdict=Verdict.CREATED, state=state)
                for job, state in zip(self._jobs, self._states, strict=True)
            ]
        )


@lru_cache(maxsize=256)
def _counting(counted: tuple[tuple[str, str, int], ...]) -> tuple[bytes, ...]:
    """The statements that count so many new jobs of these queues and states."""
    return tuple(many("add_changes", changed({(q, state): (n, 0) for q, state, n in counted})))


def _seq(number: int) -> bytes:
    """The number of arrival of a job, by its place in the batch."""
    return b"LAST_INSERT_ID() * %d + %d" % (BLOCK, number)


def _key(job: NewJob, state: State) -> tuple[Any, ...]:
    """What jobs often have in common."""
    return (
        job.queue,
        job.task,
        state._value_,
        job.priority,
        job.delay,
        job.run_at,
        job.expires_in,
        job.max_attempts,
        job.crash_limit,
        job.keep,
        job.group,
    )


@lru_cache(maxsize=512)
def _alike(key: tuple[Any, ...], moment: bytes) -> tuple[bytes, bytes]:
    """The columns before and after the unique key."""
    queue, task, state, priority, delay, run_at, expires_in, *counts, keep, group = key
    due_at = b"%b + %d" % (moment, delay) if run_at is None else literal(run_at)
    expires_at = b"NULL" if expires_in is None else b"%b + %d" % (moment, expires_in)
    words = [literal(queue), literal(task), literal(state), literal(priority), due_at, expires_at]
    words += [literal(count) for count in counts]
    return b", ".join([*words, literal(keep)]), literal(group)


def texts_of_one(job: NewJob, moment: bytes) -> tuple[State, list[bytes]]:
    """The state of a plain job without a due time of its own, and what stores it at such a moment."""
    state = State.SCHEDULED if job.delay > 0 else State.WAITING
    counting, storing = _of_one(_key(job, state), moment)
    return state, [counting, storing % (literal(job.id), literal(job.payload))]


@lru_cache(maxsize=512)
def _of_one(key: tuple[Any, ...], moment: bytes) -> tuple[bytes, bytes]:
    """Both statements; in the second, the id and the payload are left out."""
    queue, _, state, *_ = key
    shape = rows_of("insert_job")
    assert shape is not None  # noqa: S101 - it is an INSERT
    seq = _seq(0)
    columns = *_alike(key, moment), literal(None)
    words = seq, b"%b", seq, moment, *columns, b"%b"
    marked = [word if word == b"%b" else word.replace(b"%", b"%%") for word in words]
    (counting,) = _counting(((queue, state, 1),))
    return counting, shape.before + _ROW % tuple(marked) + shape.after
