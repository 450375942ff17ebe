"""Asking the store for all that an explanation of a job needs."""

from __future__ import annotations

from oxmill.errors import JobNotFound
from oxmill.model.info import ListQueues, ListWorkers, QueueInfo, Queues, Workers
from oxmill.model.job import Job, Reason
from oxmill.model.query import Filter, Find, Get, Page
from oxmill.model.state import IDLE, LIVE, State
from oxmill.queue.talk import Talk
from oxmill.rules.situation import Situation
from oxmill.store.driver import Driver

_HOLDERS = 10
_LIVE = tuple(state for state in State if state in LIVE)


def situation_of(driver: Driver, job_id: str) -> Talk[Situation]:
    """A job and its surroundings, by a few cheap questions; else `JobNotFound`."""
    look = driver.inspecting
    found: tuple[Job, ...] = yield look.get(Get(ids=(job_id,)))
    if not found:
        raise JobNotFound(
            job_id,
            f"there is no job {job_id}; it was never enqueued here, or is already removed. "
            f"Look with: oxmill jobs list",
        )
    job = found[0]
    # The gates of the queue itself are told only along with those of some group.
    queues: Queues = yield look.queues(ListQueues(queues=(job.queue,), groups=(job.group or "",)))
    workers: Workers = yield look.workers(ListWorkers())
    queue = next((info for info in queues.items if info.name == job.queue), None)
    return Situation(
        job=job,
        now=queues.now,
        queue=queue,
        workers=workers.items,
        holder=(yield from _key_holder(driver, job)),
        rules=queues.rules,
        opens=queues.opens,
        running=(yield from _running(driver, job, queue)),
    )


def _key_holder(driver: Driver, job: Job) -> Talk[Job | None]:
    """The live job of the same unique key, among the newest of its task."""
    if job.state is not State.HELD or job.reason != Reason.RERUN:
        return None
    find = Find(filter=Filter(tasks=(job.task,), states=_LIVE), limit=1_000)
    page: Page = yield driver.inspecting.find(find)
    return next((one for one in page.jobs if one.unique == job.unique and one.id != job.id), None)


def _running(driver: Driver, job: Job, queue: QueueInfo | None) -> Talk[tuple[Job, ...]]:
    """Some of the jobs that hold the limits of the job's queue and group."""
    if job.state not in IDLE or queue is None or not queue.settings.limits:
        return ()
    wanted = Filter(queues=(job.queue,), states=(State.RUNNING,), group=job.group)
    page: Page = yield driver.inspecting.find(Find(filter=wanted, limit=_HOLDERS))
    if page.jobs or job.group is None:
        return page.jobs
    wanted = Filter(queues=(job.queue,), states=(State.RUNNING,))
    page = yield driver.inspecting.find(Find(filter=wanted, limit=_HOLDERS))
    return page.jobs
