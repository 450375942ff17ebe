"""Enqueueing in a SQL database."""

from __future__ import annotations

from collections.abc import Sequence

from oxmill.drivers.sql.arriving import Row, content_of, labels_of, row_of
from oxmill.drivers.sql.flow_intake import take_in_flow
from oxmill.drivers.sql.intake import REFUSED, Intake, Replacement
from oxmill.drivers.sql.lanes import free_lanes, join_lanes
from oxmill.drivers.sql.meters import reopen
from oxmill.drivers.sql.rows import extras_in, json_text, labels, standings
from oxmill.drivers.sql.steps import NOW, Draw, Fresh, Many, Overtaken, Start, Statement
from oxmill.drivers.sql.uniques import load_keys
from oxmill.model.bounds import Bounds
from oxmill.model.job import Enqueue, Enqueued, NewJob
from oxmill.model.value import Micros
from oxmill.store.admission import check_new_job, check_new_jobs
from oxmill.store.capabilities import Capability
from oxmill.store.flow_admission import check_enqueue
from oxmill.store.plan import Plan, Steps, ask
from oxmill.store.prepared import BatchOfOne
from oxmill.store.roles.enqueueing import Prepared


class SqlEnqueueing:
    """Takes jobs in."""

    def __init__(self, bounds: Bounds, able: Capability) -> None:
        self._bounds = bounds
        self._able = able

    def enqueue(self, request: Enqueue) -> Plan[tuple[Enqueued, ...]]:
        """All jobs of the batch are stored, or none."""
        jobs = request.jobs
        if request.flow is not None or request.stage is not None or request.publish is not None:
            check_enqueue(request, self._bounds, self._able)
            bound = self._bounds.cleanup_jobs
            return Plan("enqueue", request, Start(take_in_flow, bound, request))
        if len(jobs) == 1:
            job = jobs[0]
            check_new_job(job, self._bounds, self._able)
            fresh = Fresh(jobs) if job.unique is None else None
        else:
            check_new_jobs(jobs, self._bounds, self._able)
            fresh = _shortcut(jobs)
        return Plan("enqueue", request, Start(_take_in, None, jobs, fresh))

    def prepare(self, like: NewJob) -> Prepared:
        """What stores jobs like this one."""
        return BatchOfOne(self.enqueue, like)


def _shortcut(jobs: Sequence[NewJob]) -> Fresh | None:
    for job in jobs:
        if job.unique is not None:
            return None
    return Fresh(jobs) if jobs else None


def _take_in(_: object, jobs: Sequence[NewJob]) -> Steps[tuple[Enqueued, ...]]:
    return take_in(jobs)


def take_in(jobs: Sequence[NewJob]) -> Steps[tuple[Enqueued, ...]]:
    """Store a batch, or nothing of it if any of its jobs is refused."""
    if not jobs:
        return ()
    fresh = _shortcut(jobs)
    if fresh is not None:
        answers = yield from ask(fresh)
        if answers is not None:
            return answers
    return (yield from _judge_and_store(jobs, (yield from ask(NOW))))


def _judge_and_store(jobs: Sequence[NewJob], now: Micros) -> Steps[tuple[Enqueued, ...]]:
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
        row_of(job, made.seq, intake.now, (made.state, made.due_at, made.reason))
        for job, made in intake.created
    ]
    if rows:
        if (yield from ask(Many("insert_job", rows))) < len(rows):
            raise Overtaken
        if found := labels_of(rows):
            yield from ask(Many("add_fields", found))
    if intake.replaced:
        yield from _replace(list(intake.replaced.values()))
    yield from free_lanes(intake.leaving)
    yield from reopen(intake.reopened)
    yield from join_lanes(intake.joining)
    yield from intake.keys.write()
    yield from intake.tally.write()


def _replace(changes: list[Replacement]) -> Steps[None]:
    rows: list[Row] = []
    old: list[Row] = []
    new: list[Row] = []
    for change in changes:
        job = change.job
        content = content_of(change.content, job.state, job.due_at, job.expires_at)
        rows.append((*content, job.place, job.seq))
        old += labels(extras_in(change.extras_before), job.seq)
        new += labels(extras_in(job.extras), job.seq)
    if old:
        yield from ask(Many("drop_fields", old))
    yield from ask(Many("replace_content", rows))
    if new:
        yield from ask(Many("add_fields", new))
