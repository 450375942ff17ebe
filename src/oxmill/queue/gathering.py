"""Single enqueues of many coroutines, sent to the store together.

While one group is on its way, the next one gathers by itself; nobody waits for more to come. A lone
caller pays one turn of the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import Final, NamedTuple

from oxmill.errors import BadInput
from oxmill.model.bounds import Bounds
from oxmill.model.job import NewJob, Verdict
from oxmill.queue.enqueueing import Receipt, receipt, store_jobs
from oxmill.queue.talk import ahold
from oxmill.store.admission import heavy
from oxmill.store.driver import Driver

MOST: Final = 1_000
"""Jobs in one group."""
_REFUSED: Final = frozenset({Verdict.CONFLICT, Verdict.ID_CONFLICT})


class Ticket(NamedTuple):
    """One caller's job on its way in."""

    job: NewJob
    future: asyncio.Future[Receipt]


class Gathering:
    """The enqueues of one event loop. Each job is judged as if it came alone."""

    def __init__(self, reach: Callable[[], Driver]) -> None:
        self._reach = reach
        self._loop = asyncio.get_running_loop()
        self._waiting: list[Ticket] = []
        self._flight: asyncio.Task[None] | None = None

    async def store(self, job: NewJob) -> Receipt:
        """Once this returns, the job is not lost. A caller that goes away leaves a job that is
        stored, or that never will be."""
        ticket = Ticket(job, self._loop.create_future())
        self._waiting.append(ticket)
        if self._flight is None:
            # It starts in the loop's next turn, so everyone who is ready now comes along; and it
            # belongs to no caller, so it takes none of their context variables along.
            self._flight = self._loop.create_task(self._fly(), context=Context())
        return await ticket.future

    async def _fly(self) -> None:
        try:
            while self._waiting:
                size = _size_of_group(self._waiting, self._reach().bounds)
                group, self._waiting = self._waiting[:size], self._waiting[size:]
                await self._send([ticket for ticket in group if not ticket.future.done()])
        finally:
            self._flight = None
            for ticket in self._waiting:  # only if the loop itself is being shut down
                ticket.future.cancel()
            self._waiting.clear()

    async def _send(self, group: list[Ticket]) -> None:
        """Store a group in one step; if anything in it is refused, each in a step of its own."""
        if not group:
            return
        driver = self._reach()
        try:
            talk = store_jobs(driver, [ticket.job for ticket in group])
            answers, repeated = await ahold(driver, talk)
        except BadInput as error:
            await self._apart(group, error)
        except BaseException as error:
            for ticket in group:
                _fail(ticket, error)
            if not isinstance(error, Exception):
                raise
        else:
            if len(group) > 1 and any(answer.verdict in _REFUSED for answer in answers):
                await self._apart(group, None)
                return
            for ticket, answer in zip(group, answers, strict=True):
                if not ticket.future.done():
                    try:
                        ticket.future.set_result(receipt(ticket.job, answer, repeated))
                    except Exception as error:  # noqa: BLE001 - the caller asked to be told
                        _fail(ticket, error)

    async def _apart(self, group: list[Ticket], error: BadInput | None) -> None:
        """Nothing was written: one caller's mistake must not become another's."""
        if len(group) == 1 and error is not None:
            _fail(group[0], error)
            return
        for ticket in group:
            await self._send([ticket])


def _size_of_group(waiting: list[Ticket], bounds: Bounds) -> int:
    """How many of the first are sent together; where heavy ones are costly, fewer of these."""
    most, count = min(MOST, bounds.batch_jobs), 0
    if len(waiting) <= bounds.heavy_jobs:
        return most
    for place, ticket in enumerate(waiting[:most]):
        count += heavy(ticket.job)
        if count > bounds.heavy_jobs:
            return place
    return most


def _fail(ticket: Ticket, error: BaseException) -> None:
    if ticket.future.done():
        return
    if isinstance(error, asyncio.CancelledError):
        ticket.future.cancel()
    else:
        ticket.future.set_exception(error)
