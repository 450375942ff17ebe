"""Any number of calls, enqueued in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, Final, NamedTuple, TypeVar

from oxmill.errors import BadInput
from oxmill.model.bounds import Bounds
from oxmill.model.job import NewJob
from oxmill.queue.call import Call
from oxmill.queue.client import Client
from oxmill.queue.enqueueing import enqueue_jobs
from oxmill.queue.handle import Job
from oxmill.queue.talk import Talk
from oxmill.store.admission import heavy
from oxmill.store.driver import Driver

R = TypeVar("R")
T = TypeVar("T")

BATCH_JOBS: Final = 1_000
BATCH_BYTES: Final = 8 * 1024 * 1024


class Loaded(NamedTuple):
    """How many calls there were, and how many of them made a new job."""

    given: int
    created: int


def with_connection(calls: Iterable[Call[R]]) -> tuple[Iterator[Call[R]], Any]:
    """The calls, and the connection in whose transaction all of them are to be enqueued, if any."""
    rest = iter(calls)
    first = next(rest, None)
    if first is None:
        return rest, None
    return chain((first,), rest), _checked(first).task.options.connection


def enqueue_all(driver: Driver, client: Client, calls: Iterable[Call[R]]) -> Talk[list[Job[R]]]:
    """Enqueue all calls and give their handles, in order. Each batch is stored whole or not at
    all; an error leaves the batches before it stored."""
    handles: list[Job[R]] = []
    for batch in _batches(driver, client, calls):
        receipts = yield from enqueue_jobs(driver, [job for _, job in batch])
        handles += [
            call.task.handle(receipt) for (call, _), receipt in zip(batch, receipts, strict=True)
        ]
    return handles


def load_all(driver: Driver, client: Client, calls: Iterable[Call[Any]]) -> Talk[Loaded]:
    """The same in constant memory: one batch at a time, and only the counts are kept."""
    given = created = 0
    for batch in _batches(driver, client, calls):
        receipts = yield from enqueue_jobs(driver, [job for _, job in batch])
        given += len(receipts)
        created += sum(receipt.created for receipt in receipts)
    return Loaded(given, created)


def _batches(
    driver: Driver, client: Client, calls: Iterable[Call[R]]
) -> Iterator[list[tuple[Call[R], NewJob]]]:
    bounds = driver.bounds
    most = min(BATCH_JOBS, bounds.batch_jobs)
    return batches(_jobs(client, calls), lambda pair: weight(pair[1], bounds), most)


def _jobs(client: Client, calls: Iterable[Call[R]]) -> Iterator[tuple[Call[R], NewJob]]:
    calls, connection = with_connection(calls)
    for call in calls:
        if _checked(call).task.client is not client:
            raise BadInput(
                f"the call of {call.template.task} belongs to another app; enqueue it there"
            )
        if call.task.options.connection is not connection:
            raise BadInput(
                f"the call of {call.template.task} was made using another connection than the "
                f"first one; enqueue the calls of each connection by themselves"
            )
        yield call, call.new_job()


def _checked(call: Call[R]) -> Call[R]:
    if not isinstance(call, Call):
        raise BadInput(
            f"{call!r} is not a call; make one of a task and its arguments: task.bind(...)"
        )
    return call


def weight(job: NewJob, bounds: Bounds) -> int:
    """The bytes that a job counts for in a batch; where heavy ones are costly, it is more."""
    if bounds.heavy_jobs < min(BATCH_JOBS, bounds.batch_jobs) and heavy(job):
        return max(len(job.payload), BATCH_BYTES // bounds.heavy_jobs)
    return len(job.payload)


def flow_batches(jobs: Iterable[NewJob], bounds: Bounds) -> Iterator[list[NewJob]]:
    """Jobs of a flow, in batches that are staged where there are several."""
    most = min(BATCH_JOBS, bounds.batch_jobs, bounds.heavy_jobs)
    return batches(jobs, lambda job: len(job.payload), most)


def batches(
    items: Iterable[T], weigh: Callable[[T], int], most: int = BATCH_JOBS
) -> Iterator[list[T]]:
    """Batches that are full by number or by bytes; some stores want them smaller than others."""
    batch: list[T] = []
    weight = 0
    for item in items:
        size = weigh(item)
        if batch and (len(batch) == most or weight + size > BATCH_BYTES):
            yield batch
            batch, weight = [], 0
        batch.append(item)
        weight += size
    if batch:
        yield batch
