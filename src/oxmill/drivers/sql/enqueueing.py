"""Enqueueing in a SQL database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oxmill.drivers.sql.intake import REFUSED, Intake, Replacement, due_of
from oxmill.drivers.sql.rows import extras_in, extras_of, json_text, labels, standings
from oxmill.drivers.sql.steps import NOW, Draw, Many, Overtaken, Statement, operation
from oxmill.drivers.sql.tally import Tally
from oxmill.drivers.sql.uniques import load_keys
from oxmill.model.bounds import Bounds
from oxmill.model.job import Enqueue, Enqueued, NewJob, Verdict
from oxmill.model.state import State
from oxmill.model.value import Micros
from oxmill.store.admission import check_new_jobs
from oxmill.store.capabilities import Capability
from oxmill.store.plan import Plan, Steps, ask

Row = tuple[Any, ...]


class SqlEnqueueing:
    """Takes jobs in."""

    def __init__(self, bounds: Bounds, able: Capability) -> None:
        self._bounds = bounds
        self._able = able

    def enqueue(self, request: Enqueue) -> Plan[tuple[Enqueued, ...]]:
        """All jobs of the batch are stored, or none."""
        check_new_jobs(request.jobs, self._bounds, self._able)
        return self._enqueue(request)

    @operation("enqueue")
    def _enqueue(self, request: Enqueue) -> Steps[tuple[Enqueued, ...]]:
        return (yield from take_in(request.jobs, (yield from ask(NOW))))


def take_in(jobs: Sequence[NewJob], now: Micros) -> Steps[tuple[Enqueued, ...]]:
    """Store a batch, or nothing of it if any of its jobs is refused."""
    if not jobs:
        return ()
    if not any(job.unique for job in jobs):
        answers = yield from _store_fresh(jobs, now)
        if answers is not None:
            return answers
    return (yield from judge_and_store(jobs, now))


def _store_fresh(jobs: Sequence[NewJob], now: Micros) -> Steps[tuple[Enqueued, ...] | None]:
    """The usual case: none of the ids is taken. Otherwise nothing is stored, and there is no
    answer."""
    numbers: Sequence[int] = yield Draw(len(jobs))
    tally = Tally()
    rows: list[Row] = []
    answers: list[Enqueued] = []
    for job, seq in zip(jobs, numbers, strict=True):
        due_at = due_of(job, now)
        state = State.SCHEDULED if due_at > now else State.WAITING
        rows.append(_row(job, seq, now, (state, due_at, None)))
        answers.append(Enqueued(id=job.id, verdict=Verdict.CREATED, state=state))
        tally.add(job.queue, state, 1)
    if (yield Many("insert_job", rows)) < len(rows):
        yield from ask(Statement("delete_jobs", {"seqs": json_text(numbers)}))
        return None
    if any(row[-2] is not None for row in rows):
        yield from _add_labels(rows)
    yield tally.written()
    return tuple(answers)


def _row(job: NewJob, seq: int, now: Micros, standing: tuple[State, Micros, str | None]) -> Row:
    """The parameters of `insert_job`."""
    state, due_at, reason = standing
    expires_at = None if job.expires_in is None else now + job.expires_in
    return (seq, job.id, seq, now, reason, *_content(job, state, due_at, expires_at))


def _content(job: NewJob, state: State, due_at: Micros, expires_at: Micros | None) -> Row:
    """What a new job says, in the order in which both statements take it."""
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
        None if job.unique is None else job.unique.key,
        job.group,
        extras_of(job),
        job.payload,
    )


# Plain strings are bound several times as fast as members of an enumeration.
_PLAIN = {state: state.value for state in State}


def _add_labels(rows: Sequence[Row]) -> Steps[None]:
    """Make new jobs findable by their fields and tags."""
    unusual = [row for row in rows if row[-2] is not None]
    found = [label for row in unusual for label in labels(extras_in(row[-2]), row[0])]
    if found:
        yield from ask(Many("add_fields", found))


def judge_and_store(jobs: Sequence[NewJob], now: Micros) -> Steps[tuple[Enqueued, ...]]:
    """Judge each job of a batch by what is there, and store it unless any is refused."""
    ids = {"ids": json_text(dict.fromkeys(job.id for job in jobs))}
    there = standings((yield from ask(Statement("standings_by_id", ids, locks=True))))
    contents = yield from ask(Statement("contents_by_id", ids))
    keys = yield from load_keys((job.unique.key for job in jobs if job.unique), there)
    numbers = yield from ask(Draw(len(jobs)))
    intake = Intake(
        now=now,
        numbers=iter(numbers),
        keys=keys,
        contents={job_id: (queue, task, payload) for job_id, queue, task, payload in contents},
        jobs={job.id: job for job in there},
    )
    answers = intake.judge_all(jobs)
    if not any(answer.verdict in REFUSED for answer in answers):
        yield from _store(intake)
    return answers


def _store(intake: Intake) -> Steps[None]:
    """Write down what was judged."""
    rows = [
        _row(job, made.seq, intake.now, (made.state, made.due_at, made.reason))
        for job, made in intake.created
    ]
    if rows:
        if (yield from ask(Many("insert_job", rows))) < len(rows):
            raise Overtaken
        yield from _add_labels(rows)
    if intake.replaced:
        yield from _replace(list(intake.replaced.values()))
    yield from intake.keys.write()
    yield from intake.tally.write()


def _replace(changes: list[Replacement]) -> Steps[None]:
    rows: list[Row] = []
    old: list[Row] = []
    new: list[Row] = []
    for change in changes:
        job = change.job
        content = _content(change.content, job.state, job.due_at, job.expires_at)
        rows.append((*content, job.place, job.seq))
        old += labels(extras_in(change.extras_before), job.seq)
        new += labels(extras_in(job.extras), job.seq)
    if old:
        yield from ask(Many("drop_fields", old))
    yield from ask(Many("replace_content", rows))
    if new:
        yield from ask(Many("add_fields", new))
