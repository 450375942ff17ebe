"""Enqueueing in PostgreSQL: plain batches in one call, the rest in a transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oxmill.drivers.postgres.steps import Call
from oxmill.drivers.sql.enqueueing import SqlEnqueueing, judge_and_store
from oxmill.drivers.sql.rows import extras_of
from oxmill.drivers.sql.steps import NOW, operation
from oxmill.model.job import Enqueue, Enqueued, NewJob, Verdict
from oxmill.model.state import State
from oxmill.store.plan import Steps, ask


class PostgresEnqueueing(SqlEnqueueing):
    """Takes jobs in."""

    @operation("enqueue")
    def _enqueue(self, request: Enqueue) -> Steps[tuple[Enqueued, ...]]:
        jobs = request.jobs
        if not jobs:
            return ()
        if all(map(_plain, jobs)):
            called = yield from ask(Call("enqueue", _batch(jobs), conflicts=True))
            if called is not None:
                return tuple(
                    [
                        Enqueued(id=job.id, verdict=Verdict.CREATED, state=_state(job))
                        for job in jobs
                    ]
                )
        return (yield from judge_and_store(jobs, (yield from ask(NOW))))


def _plain(job: NewJob) -> bool:
    """Whether nothing but the job's own row is to be written, in a state that is known here."""
    return job.unique is None and job.run_at is None and not job.fields and not job.tags


def _state(job: NewJob) -> State:
    return State.SCHEDULED if job.delay else State.WAITING


def _batch(jobs: Sequence[NewJob]) -> dict[str, Any]:
    """The parameters of `enqueue`."""
    terms: dict[tuple[Any, ...], int] = {}
    sizes: list[int] = []
    numbers: list[int] = []
    for job in jobs:
        term = (
            job.queue,
            job.task,
            "scheduled" if job.delay else "waiting",
            job.priority,
            job.delay,
            job.expires_in,
            job.max_attempts,
            job.crash_limit,
            job.keep,
            job.group,
        )
        number = terms.get(term)
        if number is None:
            number = terms[term] = len(terms) + 1
            sizes.append(0)
        sizes[number - 1] += 1
        numbers.append(number)
    extras = [extras_of(job) for job in jobs]
    columns = dict(zip(_TERMS, zip(*terms, strict=True), strict=True))
    return {
        "ids": [job.id for job in jobs],
        "payloads": [job.payload for job in jobs],
        "terms": numbers,
        "extras": extras if any(extras) else None,
        "sizes": sizes,
        **columns,
    }


_TERMS = (
    "queues",
    "tasks",
    "states",
    "priorities",
    "delays",
    "expiries",
    "attempts",
    "crashes",
    "keeps",
    "groups",
)
