"""A plain work queue: bytes in, leases out. For those who need no tasks."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, TypedDict, Unpack

from oxmill.errors import BadInput, DuplicateJob
from oxmill.model.claim import Claim, Claimed
from oxmill.model.info import ListQueues, Queues
from oxmill.model.job import BYTES, JSON, Enqueued, NewJob, Verdict
from oxmill.model.state import State
from oxmill.queue.bulk import BATCH_JOBS, batches, weight
from oxmill.queue.client import Client
from oxmill.queue.codec import ENCODE
from oxmill.queue.enqueueing import store_jobs
from oxmill.queue.lease import Lease
from oxmill.queue.options import TaskOptions, with_options
from oxmill.queue.talk import Pause, Talk
from oxmill.queue.task import terms
from oxmill.rules.duration import Duration, micros
from oxmill.rules.unique import Unique, given_key, unique_key
from oxmill.store.doorbell import work
from oxmill.store.driver import Driver

BYTES_TASK: Final = "oxmill:bytes"
"""The task name of items without a task."""

_FIRST_PAUSE: Final = 0.005
_LONGEST_PAUSE: Final = 0.5
_FOREVER: Final = float("inf")


class ItemOptions(TypedDict, total=False):
    """Options of one item."""

    id: str
    """Any text; an item whose id is there already is not added again."""
    priority: int
    delay: Duration
    run_at: datetime
    expires: Duration
    retry: int
    """Attempts that may end in `retry` before it ends as failed."""
    crash_limit: int
    unique: Unique | str
    group: str
    fields: Mapping[str, str | int | Sequence[str | int]]
    tags: Sequence[str]
    headers: Mapping[str, str]
    keep: Duration
    connection: Any
    """Add it in the open transaction of this connection or session; not for `add_many`."""


class Queue:
    """One queue as a plain work queue, in order of priority, then of arrival.

    queue = app.queue("thumbnails")
    queue.add(b"...")
    while lease := queue.lease("30s", wait=True):
        with lease:
            work(lease.data)
    """

    def __init__(self, name: str, client: Client) -> None:
        self.name = name
        self._client = client

    def item(self, data: bytes, **options: Unpack[ItemOptions]) -> NewJob:
        """An item as a value, for `add_many`."""
        if options.get("connection") is not None:
            raise BadInput("an item as a value has no connection; use add(..., connection=...)")
        return self._item(data, BYTES, options)

    def add(self, data: bytes, **options: Unpack[ItemOptions]) -> bool:
        """Add any bytes. False, and nothing changed, if an item of the same id is there: waiting,
        leased, or ended and still kept."""
        items = (self._item(data, BYTES, options),)
        return (
            self._client.blocking(
                "aadd", lambda driver: _add(driver, items), options.get("connection")
            )
            == 1
        )

    async def aadd(self, data: bytes, **options: Unpack[ItemOptions]) -> bool:
        """The same without blocking the event loop."""
        items = (self._item(data, BYTES, options),)
        return (
            await self._client.awaiting(
                lambda driver: _add(driver, items), options.get("connection")
            )
            == 1
        )

    def add_json(self, value: Any, **options: Unpack[ItemOptions]) -> bool:
        """Add a value as compact JSON; `lease.json()` reads it back."""
        items = (self._item(ENCODE(value), JSON, options),)
        return (
            self._client.blocking(
                "aadd_json", lambda driver: _add(driver, items), options.get("connection")
            )
            == 1
        )

    async def aadd_json(self, value: Any, **options: Unpack[ItemOptions]) -> bool:
        """The same without blocking the event loop."""
        items = (self._item(ENCODE(value), JSON, options),)
        return (
            await self._client.awaiting(
                lambda driver: _add(driver, items), options.get("connection")
            )
            == 1
        )

    def add_many(self, items: Iterable[bytes | NewJob]) -> int:
        """Add any number of items in batches, in constant memory; gives the number of new ones."""
        return self._client.blocking("aadd_many", lambda driver: self._add_all(driver, items))

    async def aadd_many(self, items: Iterable[bytes | NewJob]) -> int:
        """The same without blocking the event loop."""
        return await self._client.awaiting(lambda driver: self._add_all(driver, items))

    def lease(self, seconds: Duration, wait: Duration | bool = False) -> Lease | None:
        """Take the first item for so long. If there is none: `None` at once, after waiting for the
        time given, or never with `wait=True`. An item whose lease runs out is leased again."""
        return self._client.blocking("alease", lambda driver: self._lease(driver, seconds, wait))

    async def alease(self, seconds: Duration, wait: Duration | bool = False) -> Lease | None:
        """The same without blocking the event loop."""
        return await self._client.awaiting(lambda driver: self._lease(driver, seconds, wait))

    def counts(self) -> Mapping[State, int]:
        """How many items there are in each state, all at one moment."""
        return self._client.blocking("acounts", self._count)

    async def acounts(self) -> Mapping[State, int]:
        """The same without blocking the event loop."""
        return await self._client.awaiting(self._count)

    def running(self) -> int:
        """How many items are leased, those of crashed holders included."""
        return self.counts().get(State.RUNNING, 0)

    async def arunning(self) -> int:
        """The same without blocking the event loop."""
        return (await self.acounts()).get(State.RUNNING, 0)

    def __len__(self) -> int:
        """How many items wait."""
        return self.counts().get(State.WAITING, 0)

    def __bool__(self) -> bool:
        """A queue is there even when it is empty."""
        return True

    def __repr__(self) -> str:
        return f"<Queue {self.name}>"

    def _item(self, data: bytes, content_type: str, given: ItemOptions) -> NewJob:
        if not isinstance(data, bytes):
            raise BadInput(f"an item is bytes, not {type(data).__name__}; use add_json for values")
        options = with_options(TaskOptions(queue=self.name), given)
        shared = terms(BYTES_TASK, options)
        if options.unique is not None:
            key = given_key(options.unique, BYTES_TASK, (data,), {})
            if key is None:
                raise BadInput("a unique item needs a key, such as unique='user:7'")
            shared["unique"] = unique_key(options.unique, key)
        job_id = options.id or self._client.new_id()
        job = NewJob(id=job_id, payload=data, content_type=content_type, **shared)
        return self._client.admit(job)

    def _add_all(self, driver: Driver, items: Iterable[bytes | NewJob]) -> Talk[int]:
        added = 0
        jobs = (each if isinstance(each, NewJob) else self.item(each) for each in items)
        bounds = driver.bounds
        most = min(BATCH_JOBS, bounds.batch_jobs)
        for batch in batches(jobs, lambda job: weight(job, bounds), most):
            added += yield from _add(driver, batch)
        return added

    def _lease(
        self, driver: Driver, seconds: Duration, wait: Duration | bool
    ) -> Talk[Lease | None]:
        request = Claim(
            queues=(self.name,),
            limit=1,
            lease=micros(seconds),
            worker=_holder(),
            nonce=random.getrandbits(63),
        )
        deadline = time.monotonic() + (_FOREVER if wait is True else micros(wait or 0) / 1e6)
        pause = _FIRST_PAUSE
        with driver.doorbell.listen((work(self.name),)) as bell:
            while True:
                claimed: Claimed = yield driver.claiming.claim(request)
                if claimed.jobs:
                    return Lease(claimed.jobs[0], claimed, self._client)
                left = deadline - time.monotonic()
                if left <= 0:
                    return None
                rung = yield Pause(bell, min(pause, left, _until_due(claimed)))
                if not rung:
                    pause = min(pause * 2, _LONGEST_PAUSE)

    def _count(self, driver: Driver) -> Talk[Mapping[State, int]]:
        seen: Queues = yield driver.inspecting.queues(ListQueues(queues=(self.name,)))
        return seen.items[0].counts if seen.items else {}


def _holder() -> str:
    """Who leases, for people to see."""
    from socket import gethostname  # noqa: PLC0415 - only those who lease need it

    return f"client@{gethostname()}:{os.getpid()}"


def _until_due(claimed: Claimed) -> float:
    """Seconds until something is known to fall due; not quite none, so as not to spin."""
    if claimed.next_due is None:
        return _LONGEST_PAUSE
    return max(claimed.next_due - claimed.now, 1_000) / 1e6


def _add(driver: Driver, items: Sequence[NewJob]) -> Talk[int]:
    """Store the items whose ids are free; how many there were."""
    while items:
        answers, repeated = yield from store_jobs(driver, items)
        pairs = list(zip(items, answers, strict=True))
        for item, answer in pairs:
            if answer.verdict is Verdict.CONFLICT and item.unique is not None:
                raise DuplicateJob(item.unique.key, answer.id)
        # A taken id keeps its whole batch out: the others go in without it.
        free = [item for item, answer in pairs if answer.verdict is not Verdict.ID_CONFLICT]
        if len(free) == len(items):
            return sum(_is_new(item, answer, repeated) for item, answer in pairs)
        items = free
    return 0


def _is_new(item: NewJob, answer: Enqueued, repeated: bool) -> bool:
    found = answer.verdict is Verdict.DUPLICATE and answer.id == item.id
    return answer.verdict is Verdict.CREATED or (repeated and found)
