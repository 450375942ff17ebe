"""What must be true of a store at any time, judged from a dump of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from oxmill.model.job import Job
from oxmill.model.state import LIVE, TERMINAL, State
from oxmill.testing.dump import Dump


def breaches(dump: Dump) -> list[str]:
    """Every law that this store breaks, with the job or queue that breaks it."""
    return [*_counts(dump), *_keys(dump), *(said for job in dump.jobs for said in _job(job))]


def _counts(dump: Dump) -> Iterator[str]:
    recount: Counter[tuple[str, State]] = Counter((job.queue, job.state) for job in dump.jobs)
    told = Counter(
        {(queue.name, state): n for queue in dump.queues for state, n in queue.counts.items()}
    )
    for key in sorted({*recount, *told}):
        if recount[key] != told[key]:
            yield f"{key}: {told[key]} counted, {recount[key]} there"


def _keys(dump: Dump) -> Iterator[str]:
    """At most one job follows per key, and only while another is live.

    How many live jobs may share a key depends on its `until`, which a job does not tell.
    """
    held = Counter(job.unique for job in dump.jobs if job.unique and job.state is State.HELD)
    live = {job.unique for job in dump.jobs if job.state in LIVE - {State.HELD}}
    for key, n in held.items():
        if n > 1:
            yield f"key {key}: {n} jobs are held behind it"
        if key not in live:
            yield f"key {key}: a job is held behind nobody"


def _job(job: Job) -> Iterator[str]:
    attempts = [past.attempt for past in job.history]
    if attempts != list(range(1, job.attempt + 1)):
        yield f"{job.id}: attempts {attempts} of {job.attempt}"
    running = job.state is State.RUNNING
    if running != (job.lease_until is not None):
        yield f"{job.id}: {job.state} with a lease until {job.lease_until}"
    if (job.state in TERMINAL) != (job.ended_at is not None):
        yield f"{job.id}: {job.state} with an end at {job.ended_at}"
    open_ends = [past.attempt for past in job.history if past.outcome is None]
    if open_ends != ([job.attempt] if running else []):
        yield f"{job.id}: {job.state} with open attempts {open_ends}"
