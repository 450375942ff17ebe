"""What people ask about jobs, queues and workers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from msgspec.structs import replace

from oxmill.errors import JobNotFound
from oxmill.model.info import (
    Event,
    EventsAfter,
    ListQueues,
    ListWorkers,
    QueueInfo,
    Queues,
    WorkerInfo,
    Workers,
)
from oxmill.model.job import Job as Record
from oxmill.model.query import Find, Get, Page
from oxmill.queue.client import Client
from oxmill.queue.talk import Talk
from oxmill.queue.where import Where, as_filter
from oxmill.store.driver import Driver
from oxmill.store.plan import Plan

if TYPE_CHECKING:
    from oxmill.rules.explain import Explanation

T = TypeVar("T")


class Looking:
    """Reads: none of them changes anything or stands in the way of a writer."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def get(self, job_id: str) -> Record:
        """Everything the store knows about one job, its history included; else `JobNotFound`."""
        return self._client.blocking("aget", lambda driver: _get(driver, job_id))

    async def aget(self, job_id: str) -> Record:
        """The same without blocking the event loop."""
        return await self._client.awaiting(lambda driver: _get(driver, job_id))

    def explain(self, job_id: str) -> Explanation:
        """Why a job is where it is: every gate before it with its numbers, and when it can run, if
        that is known; else `JobNotFound`."""
        from oxmill.queue.explaining import situation_of  # noqa: PLC0415 - workers do without
        from oxmill.rules.explain import explain  # noqa: PLC0415 - the same

        return explain(self._client.blocking("aexplain", lambda d: situation_of(d, job_id)))

    async def aexplain(self, job_id: str) -> Explanation:
        """The same without blocking the event loop."""
        from oxmill.queue.explaining import situation_of  # noqa: PLC0415 - workers do without
        from oxmill.rules.explain import explain  # noqa: PLC0415 - the same

        return explain(await self._client.awaiting(lambda d: situation_of(d, job_id)))

    def jobs(self, **where: Unpack[Where]) -> Iterator[Record]:
        """All jobs that meet the conditions, newest first, fetched page by page."""
        return self._pages(Find(filter=as_filter(**where), limit=_PAGE))

    def ajobs(self, **where: Unpack[Where]) -> AsyncIterator[Record]:
        """The same without blocking the event loop: `async for job in app.ajobs(...)`."""
        return self._apages(Find(filter=as_filter(**where), limit=_PAGE))

    def queues(self, *names: str, groups: Sequence[str] = ()) -> tuple[QueueInfo, ...]:
        """Counts, rules and settings of these queues, or of all; and what the limits of each, and
        of these groups in it, leave now (`gates`), if groups are named."""
        request = ListQueues(queues=names, groups=tuple(groups))
        return self._client.blocking("aqueues", lambda driver: _queues(driver, request))

    async def aqueues(self, *names: str, groups: Sequence[str] = ()) -> tuple[QueueInfo, ...]:
        """The same without blocking the event loop."""
        request = ListQueues(queues=names, groups=tuple(groups))
        return await self._client.awaiting(lambda driver: _queues(driver, request))

    def workers(self) -> tuple[WorkerInfo, ...]:
        """The workers that have been heard of lately."""
        return self._client.blocking("aworkers", _workers)

    async def aworkers(self) -> tuple[WorkerInfo, ...]:
        """The same without blocking the event loop."""
        return await self._client.awaiting(_workers)

    def events(self, after: int = 0, limit: int = 100) -> tuple[Event, ...]:
        """What people did and what went wrong after event number `after`, oldest first."""
        request = EventsAfter(seq=after, limit=limit)
        return self._client.blocking(
            "aevents", lambda driver: _ask(driver.inspecting.events_after(request))
        )

    async def aevents(self, after: int = 0, limit: int = 100) -> tuple[Event, ...]:
        """The same without blocking the event loop."""
        request = EventsAfter(seq=after, limit=limit)
        return await self._client.awaiting(
            lambda driver: _ask(driver.inspecting.events_after(request))
        )

    def _pages(self, look: Find) -> Iterator[Record]:
        cursor: str | None = None
        while True:
            page = self._client.blocking("ajobs", lambda driver: _page(driver, look, cursor))  # noqa: B023 - called at once
            yield from page.jobs
            if page.next is None:
                return
            cursor = page.next

    async def _apages(self, look: Find) -> AsyncIterator[Record]:
        cursor: str | None = None
        while True:
            page = await self._client.awaiting(lambda driver: _page(driver, look, cursor))  # noqa: B023 - called at once
            for job in page.jobs:
                yield job
            if page.next is None:
                return
            cursor = page.next


_PAGE = 200


def _ask(plan: Plan[T]) -> Talk[T]:
    answer: Any = yield plan
    return answer  # type: ignore[no-any-return]


def _get(driver: Driver, job_id: str) -> Talk[Record]:
    found = yield from _ask(driver.inspecting.get(Get(ids=(job_id,))))
    if not found:
        raise JobNotFound(
            job_id, f"there is no job {job_id}: never enqueued here, purged, or not kept any more"
        )
    return found[0]


def _page(driver: Driver, look: Find, cursor: str | None) -> Talk[Page]:
    return (yield from _ask(driver.inspecting.find(replace(look, after=cursor))))


def _queues(driver: Driver, request: ListQueues) -> Talk[tuple[QueueInfo, ...]]:
    seen: Queues = yield from _ask(driver.inspecting.queues(request))
    return seen.items


def _workers(driver: Driver) -> Talk[tuple[WorkerInfo, ...]]:
    seen: Workers = yield from _ask(driver.inspecting.workers(ListWorkers()))
    return seen.items
