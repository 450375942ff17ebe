"""New jobs as rows: what is written for each, and what the caller is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from oxmill.drivers.sql.flow_rows import IN_FLOW
from oxmill.drivers.sql.lanes import Newcomer, newcomers
from oxmill.drivers.sql.rows import extras_in, extras_in_flow, extras_of, labels
from oxmill.model.job import JSON, Enqueued, NewJob, Verdict
from oxmill.model.state import State
from oxmill.model.value import Micros

Row = tuple[Any, ...]

_SCHEDULED, _WAITING, _CREATED = State.SCHEDULED, State.WAITING, Verdict.CREATED
# Plain strings are bound and looked up several times as fast as members of an enumeration.
_SCHEDULED_TEXT, _WAITING_TEXT = State.SCHEDULED.value, State.WAITING.value
_PLAIN = {state: state.value for state in State}


STATE_OF_ROW: Final = 7
"""Where the state stands among the parameters of `insert_job`."""


class Arrivals(msgspec.Struct, frozen=True, gc=False):
    """A batch of jobs of which none was there."""

    rows: list[Row]
    """The parameters of `insert_job`."""
    answers: tuple[Enqueued, ...]
    counts: dict[tuple[str, str], list[int]]
    """By how much (queue, state) changes, as the tally has it."""
    labelled: bool
    """Whether any of them may have fields or tags."""
    lanes: list[Newcomer]
    """The lanes that they join."""


def arrivals(jobs: Sequence[NewJob], first: int, now: Micros) -> Arrivals:
    """These jobs with their numbers of arrival, which are their places in line too."""
    rows: list[Row] = []
    answers: list[Enqueued] = []
    counts: dict[tuple[str, str], list[int]] = {}
    labelled = False
    grouped: list[Newcomer] = []
    for seq, job in enumerate(jobs, first):
        row, state = arrival(job, seq, now)
        rows.append(row)
        labelled = labelled or row[-2] is not None
        if job.group is not None and state is _WAITING:
            grouped.append((job.group, job.queue, job.priority, seq))
        answers.append(Enqueued(id=job.id, verdict=_CREATED, state=state))
        key = (job.queue, row[STATE_OF_ROW])
        count = counts.get(key)
        if count is None:
            counts[key] = [1, 0]
        else:
            count[0] += 1
    lanes = newcomers(grouped) if grouped else []
    return Arrivals(rows, tuple(answers), counts, labelled, lanes)


def arrival(job: NewJob, seq: int, now: Micros) -> tuple[Row, State]:
    """The parameters of `insert_job` for a job without a unique key, and its state. Every enqueue
    comes through here, so what `row_of` does is written out."""
    run_at, expires_in = job.run_at, job.expires_in
    due_at = now + job.delay if run_at is None else run_at
    late = due_at > now
    plain = (
        job.content_type == JSON
        and job.timeout is None
        and job.flow is None
        and not (job.headers or job.fields or job.tags)
    )
    row = (
        seq,
        job.id,
        seq,
        now,
        None,
        job.queue,
        job.task,
        _SCHEDULED_TEXT if late else _WAITING_TEXT,
        job.priority,
        due_at,
        None if expires_in is None else now + expires_in,
        job.max_attempts,
        job.crash_limit,
        job.keep,
        None,
        job.group,
        None if plain else extras_of(job),
        job.payload,
    )
    return row, _SCHEDULED if late else _WAITING


def due_of(job: NewJob, now: Micros) -> Micros:
    """When a new job falls due."""
    return now + job.delay if job.run_at is None else job.run_at


def row_of(job: NewJob, seq: int, now: Micros, standing: tuple[State, Micros, str | None]) -> Row:
    """The parameters of `insert_job`."""
    state, due_at, reason = standing
    expires_at = None if job.expires_in is None else now + job.expires_in
    return (seq, job.id, seq, now, reason, *content_of(job, state, due_at, expires_at))


def step_row(job: NewJob, flow: str, seq: int, now: Micros) -> Row:
    """The same for a next step of this flow, kept as long as that. Every usual step comes through
    here, so what `row_of` does is written out."""
    due_at = now + job.delay if job.run_at is None else job.run_at
    return (
        seq,
        job.id,
        seq,
        now,
        None,
        job.queue,
        job.task,
        _SCHEDULED_TEXT if due_at > now else _WAITING_TEXT,
        job.priority,
        due_at,
        None if job.expires_in is None else now + job.expires_in,
        job.max_attempts,
        job.crash_limit,
        IN_FLOW,
        None,
        job.group,
        extras_in_flow(job, flow),
        job.payload,
    )


def content_of(job: NewJob, state: State, due_at: Micros, expires_at: Micros | None) -> Row:
    """What a new job says, in the order in which `insert_job` and `replace_content` take it."""
    unique = job.unique
    return (
        job.queue,
        job.task,
        _PLAIN[state],
        job.priority,
        due_at,
        expires_at,
        job.max_attempts,
        job.crash_limit,
        job.keep,
        None if unique is None else unique.key,
        job.group,
        extras_of(job),
        job.payload,
    )


def labels_of(rows: Sequence[Row]) -> list[Row]:
    """By what new jobs are found: the parameters of `add_fields`."""
    return [
        label
        for row in rows
        if (text := row[-2]) is not None
        for label in labels(extras_in(text), row[0])
    ]
