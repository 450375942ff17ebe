"""New jobs as columns: what the function `enqueue` takes, and what the caller is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from oxmill.drivers.sql.arriving import due_of
from oxmill.drivers.sql.flow_rows import IN_FLOW
from oxmill.drivers.sql.rows import TAG, extras_in_flow, extras_of
from oxmill.model.fields import pairs_of
from oxmill.model.job import Enqueued, NewJob, Verdict
from oxmill.model.state import State
from oxmill.model.value import Micros

_TERMS: Final = (
    "queues",
    "tasks",
    "priorities",
    "delays",
    "moments",
    "expiries",
    "attempts",
    "crashes",
    "keeps",
    "groups",
)
_CREATED, _SCHEDULED, _WAITING = Verdict.CREATED, State.SCHEDULED, State.WAITING


def batch_of(jobs: Sequence[NewJob]) -> dict[str, Any]:
    """The parameters of `enqueue`. What jobs have in common is sent once."""
    return _columns(jobs, [_term(job, job.keep) for job in jobs], [extras_of(job) for job in jobs])


def steps_batch_of(jobs: Sequence[NewJob]) -> dict[str, Any]:
    """The same for next steps of flows, each of which names its own: they are kept as long as that."""
    terms = [_term(job, IN_FLOW) for job in jobs]
    return _columns(jobs, terms, [extras_in_flow(job, job.flow or "") for job in jobs])


def _term(job: NewJob, keep: Micros | None) -> tuple[Any, ...]:
    return (
        job.queue,
        job.task,
        job.priority,
        job.delay,
        job.run_at,
        job.expires_in,
        job.max_attempts,
        job.crash_limit,
        keep,
        job.group,
    )


def _columns(
    jobs: Sequence[NewJob], terms: Sequence[tuple[Any, ...]], extras: Sequence[str | None]
) -> dict[str, Any]:
    sizes = Counter(terms)
    numbers = {term: number for number, term in enumerate(sizes, 1)}
    labels = _labels(jobs) if any(extras) else []
    found = list(zip(*labels, strict=True)) if labels else (None, None, None)
    return {
        "ids": [job.id for job in jobs],
        "payloads": [job.payload for job in jobs],
        "terms": [numbers[term] for term in terms],
        "extras": extras if any(extras) else None,
        "sizes": list(sizes.values()),
        "label_jobs": found[0],
        "label_names": found[1],
        "label_values": found[2],
        **dict(zip(_TERMS, zip(*sizes, strict=True), strict=True)),
    }


def terms_of(job: NewJob) -> dict[str, Any]:
    """The parameters of `enqueue_one`."""
    return {
        "id": job.id,
        "payload": job.payload,
        "extras": extras_of(job),
        "queue": job.queue,
        "task": job.task,
        "priority": job.priority,
        "delay": job.delay,
        "run_at": job.run_at,
        "expiry": job.expires_in,
        "attempts": job.max_attempts,
        "crashes": job.crash_limit,
        "keep": job.keep,
        "group_name": job.group,
    }


def _labels(jobs: Sequence[NewJob]) -> list[tuple[int, str, str]]:
    """Fields, and tags under the empty name, as (number of the job, name, value as JSON)."""
    found: list[tuple[int, str, str]] = []
    for number, job in enumerate(jobs, 1):
        if job.fields or job.tags:
            found += [(number, name, _json(value)) for name, value in pairs_of(job.fields)]
            found += [(number, TAG, _json(tag)) for tag in job.tags]
    return found


def answers_of(jobs: Sequence[NewJob], now: Micros) -> tuple[Enqueued, ...]:
    """What the caller is told about jobs stored at this moment."""
    return tuple(
        [
            Enqueued(
                id=job.id,
                verdict=_CREATED,
                state=_SCHEDULED if due_of(job, now) > now else _WAITING,
            )
            for job in jobs
        ]
    )


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
