"""Asking the store for all that an explanation of a job needs."""

from __future__ import annotations

from msgspec.structs import replace

from oxmill.errors import JobNotFound
from oxmill.model.fields import targets_of
from oxmill.model.info import ListQueues, ListWorkers, Place, QueueInfo, Queues, Workers
from oxmill.model.job import Job, Reason
from oxmill.model.query import Filter, Find, Get, Page
from oxmill.model.rule import Scope
from oxmill.model.state import IDLE, LIVE, State
from oxmill.queue.talk import Talk
from oxmill.rules.situation import Situation
from oxmill.store.driver import Driver

_HOLDERS = 10
_UPSTREAMS = 1_000
"""Of more jobs that a job waits for, only so many are looked at."""
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
    seen, queue = yield from _surroundings(driver, job)
    workers: Workers = yield look.workers(ListWorkers())
    first = yield from _first(driver, job, queue, seen.place)
    rules, opens = seen.rules, seen.opens
    if first is not None:
        others: Queues = yield look.queues(_about(first))
        more = [
            pair for pair in zip(others.rules, others.opens, strict=True) if pair[0] not in rules
        ]
        rules = (*rules, *(rule for rule, _ in more))
        opens = (*opens, *(moment for _, moment in more))
    return Situation(
        job=job,
        now=seen.now,
        queue=queue,
        workers=workers.items,
        holder=(yield from _key_holder(driver, job)),
        rules=rules,
        opens=opens,
        running=(yield from _running(driver, job, queue)),
        place=seen.place,
        first=first,
        missing=(yield from _missing(driver, job)),
    )


def _surroundings(driver: Driver, job: Job) -> Talk[tuple[Queues, QueueInfo | None]]:
    """The queue of a job with all gates and rules that are about it, and its place in line."""
    asked = replace(_about(job), queues=(job.queue,), place_of=job.id)
    seen: Queues = yield driver.inspecting.queues(asked)
    return seen, next((info for info in seen.items if info.name == job.queue), None)


def _about(job: Job) -> ListQueues:
    """A question about the rules on a job's task, group and fields, however many there are."""
    fields = [(Scope.FIELD, target) for target in targets_of(job.fields)]
    group = [] if job.group is None else [(Scope.GROUP, job.group)]
    # The gates of the queue itself are told only along with those of some group.
    return ListQueues(
        queues=(job.queue,),
        groups=(job.group or "",),
        targets=((Scope.TASK, job.task), *group, *fields),
    )


def _first(
    driver: Driver, job: Job, queue: QueueInfo | None, place: Place | None
) -> Talk[Job | None]:
    """The job that goes before this one in its ordered group."""
    ordered = queue is not None and queue.settings.ordered_groups and job.group is not None
    if not ordered or place is None or place.first == job.id:
        return None
    found: tuple[Job, ...] = yield driver.inspecting.get(Get(ids=(place.first,)))
    return found[0] if found else None


def _missing(driver: Driver, job: Job) -> Talk[tuple[Job, ...]]:
    """The jobs it waits for that have not ended, among the first of them."""
    others = job.joined if job.reason == Reason.CHILDREN else job.after
    if job.state is not State.HELD or not others:
        return ()
    found: tuple[Job, ...] = yield driver.inspecting.get(Get(ids=others[:_UPSTREAMS]))
    return tuple(each for each in found if each.state in LIVE)


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
    wanted = Filter(queues=(job.queue,), states=(State.RUNNING,))
    page: Page = yield driver.inspecting.find(Find(filter=wanted, limit=_HOLDERS))
    if job.group is None:
        return page.jobs
    wanted = replace(wanted, group=job.group)
    own: Page = yield driver.inspecting.find(Find(filter=wanted, limit=_HOLDERS))
    return (*own.jobs, *(each for each in page.jobs if each.group != job.group))
