"""Jobs on their way into the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, cast

import msgspec

from oxmill.errors import DuplicateJob, IdConflict, OutcomeUnknown
from oxmill.model.job import Enqueue, Enqueued, EnqueueOne, NewJob, Verdict
from oxmill.queue.talk import Talk
from oxmill.queue.trying import TRIES, try_again
from oxmill.store.driver import Driver
from oxmill.store.plan import Plan

T = TypeVar("T")

_CREATED = Verdict.CREATED


class Receipt(msgspec.Struct, frozen=True, gc=False):
    """What became of one job."""

    answer: Enqueued
    created: bool
    """Whether this very call made it."""


def enqueue_jobs(driver: Driver, jobs: Sequence[NewJob]) -> Talk[list[Receipt]]:
    """All jobs are stored, or none; a taken key or id raises if the caller asked to be told."""
    answers, repeated = yield from store_jobs(driver, jobs)
    return [receipt(job, answer, repeated) for job, answer in zip(jobs, answers, strict=True)]


def store_one(driver: Driver, plan: Plan[tuple[Enqueued, ...]]) -> Receipt:
    """Perform the enqueue of one job, blocking: the same as for any batch, by the shortest way."""
    try:
        (answer,) = driver.run(plan)
        if answer.verdict is _CREATED:
            return Receipt(answer, True)
        repeated = False
    except OutcomeUnknown:
        (answer,), repeated = _ask_again(driver, plan), True
    (job,) = cast("Enqueue | EnqueueOne", plan.request).jobs
    return receipt(job, answer, repeated)


def _ask_again(driver: Driver, plan: Plan[T]) -> T:
    """The first answer was lost."""
    for _ in range(1, TRIES):
        try:
            return driver.run(plan)
        except OutcomeUnknown:
            continue
    return driver.run(plan)


def store_jobs(driver: Driver, jobs: Sequence[NewJob]) -> Talk[tuple[tuple[Enqueued, ...], bool]]:
    """The store's answers, and whether it had to be asked again because an answer was lost: the
    ids are the same, so nothing is made twice."""
    return (yield from try_again(driver.enqueueing.enqueue(Enqueue(jobs=tuple(jobs)))))


def receipt(job: NewJob, answer: Enqueued, repeated: bool) -> Receipt:
    """What became of a job, or the error that the caller asked for."""
    if answer.verdict is Verdict.CREATED:
        return Receipt(answer, True)
    match answer.verdict:
        case Verdict.CONFLICT:
            raise DuplicateJob(job.unique.key if job.unique else "", answer.id)
        case Verdict.ID_CONFLICT:
            raise IdConflict(answer.id)
        case _:
            # A first try whose answer was lost is why the second finds its own job there.
            return Receipt(answer, created=repeated and answer.id == job.id)
