"""What must be true of a store at any time, judged from a dump of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from oxmill.model.flow import FlowStatus
from oxmill.model.job import Job, Reason
from oxmill.model.state import LIVE, TERMINAL, State
from oxmill.testing.dump import Dump


def breaches(dump: Dump) -> list[str]:
    """Every law that this store breaks, with the job or queue that breaks it."""
    jobs = (said for job in dump.jobs for said in _job(job))
    return [*_counts(dump), *_flows(dump), *_keys(dump), *jobs]


def _counts(dump: Dump) -> Iterator[str]:
    recount: Counter[tuple[str, State]] = Counter((job.queue, job.state) for job in dump.jobs)
    told = Counter(
        {(queue.name, state): n for queue in dump.queues for state, n in queue.counts.items()}
    )
    for key in sorted({*recount, *told}):
        if recount[key] != told[key]:
            yield f"{key}: {told[key]} counted, {recount[key]} there"


def _flows(dump: Dump) -> Iterator[str]:
    """A flow counts its jobs right, and runs exactly while one of them is live."""
    recount: Counter[tuple[str | None, State]] = Counter((j.flow, j.state) for j in dump.jobs)
    staged = Counter(job.flow for job in dump.jobs if job.reason == Reason.STAGED)
    for flow in dump.flows:
        there = {state: n for state in State if (n := recount[flow.id, state])}
        if there != flow.counts:
            yield f"flow {flow.id}: {flow.counts} counted, {there} there"
        live = sum(n for state, n in there.items() if state in LIVE)
        ended = flow.status is not FlowStatus.RUNNING
        if ended != (flow.ended_at is not None):
            yield f"flow {flow.id}: {flow.status} with an end at {flow.ended_at}"
        if ended and live > staged[flow.id]:
            yield f"flow {flow.id}: {flow.status} with {live} live jobs"
        if not ended and not live:
            yield f"flow {flow.id}: running without a live job"


def _keys(dump: Dump) -> Iterator[str]:
    """At most one job follows per key, and only while another is live.

    How many live jobs may share a key depends on its `until`, which a job does not tell.
    """
    held = Counter(job.unique for job in dump.jobs if job.unique and _follows(job))
    live = {job.unique for job in dump.jobs if job.state in LIVE and not _follows(job)}
    for key, n in held.items():
        if n > 1:
            yield f"key {key}: {n} jobs are held behind it"
        if key not in live:
            yield f"key {key}: a job is held behind nobody"


def _follows(job: Job) -> bool:
    """Whether a job is held behind another of its key, not for its children."""
    return job.state is State.HELD and job.reason != Reason.CHILDREN


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
