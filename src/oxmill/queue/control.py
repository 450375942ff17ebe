"""What people do to queues and jobs while everything runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from msgspec.structs import replace

from oxmill.model.info import Command, Order, Ordered
from oxmill.model.query import Cancel, Edit, Filter, Find, Page, Purge, Redrive, Steered
from oxmill.model.state import IDLE
from oxmill.queue.author import who
from oxmill.queue.client import Client
from oxmill.queue.limiting import Limiting
from oxmill.queue.repeating import repeat
from oxmill.queue.rescheduling import Rescheduling
from oxmill.queue.ruling import Ruling
from oxmill.queue.talk import Talk
from oxmill.queue.where import Where, chosen
from oxmill.rules.duration import Duration, micros
from oxmill.store.driver import Driver


class Control(Ruling, Limiting, Rescheduling):
    """Stops and starts queues, tasks, groups and fields, limits queues, cancels, redrives, changes
    and deletes jobs, and steers schedules. All of it is recorded with its author, who is the user of this process
    unless one is given, and takes effect before the call returns.

    Calls on jobs take ids, or conditions such as `queue="mail", state="failed"`, and answer with
    the number of jobs they changed, however many there are.
    """

    def __init__(self, client: Client) -> None:
        Ruling.__init__(self, client)
        Limiting.__init__(self, client)
        Rescheduling.__init__(self, client)

    # -- jobs --------------------------------------------------------------------------------------

    def cancel(
        self, *ids: str, reason: str | None = None, author: str = "", **where: Unpack[Where]
    ) -> int:
        """Jobs that have not started end as cancelled and never run; running ones are asked to
        stop. Ended ones stay as they are."""
        request = Cancel(filter=chosen(ids, where), reason=reason, author=who(author))
        return self._client.blocking(
            "acancel", lambda driver: repeat(driver.steering.cancel, request)
        )

    async def acancel(
        self, *ids: str, reason: str | None = None, author: str = "", **where: Unpack[Where]
    ) -> int:
        """The same without blocking the event loop."""
        request = Cancel(filter=chosen(ids, where), reason=reason, author=who(author))
        return await self._client.awaiting(lambda driver: repeat(driver.steering.cancel, request))

    def redrive(self, *ids: str, author: str = "", **where: Unpack[Where]) -> int:
        """Failed and cancelled jobs wait again, with fresh counts."""
        request = Redrive(filter=chosen(ids, where), author=who(author))
        return self._client.blocking(
            "aredrive", lambda driver: repeat(driver.steering.redrive, request)
        )

    async def aredrive(self, *ids: str, author: str = "", **where: Unpack[Where]) -> int:
        """The same without blocking the event loop."""
        request = Redrive(filter=chosen(ids, where), author=who(author))
        return await self._client.awaiting(lambda driver: repeat(driver.steering.redrive, request))

    def purge(self, *ids: str, author: str = "", **where: Unpack[Where]) -> int:
        """Delete jobs that are not running, with all that belongs to them. There is no way back."""
        request = Purge(filter=chosen(ids, where), author=who(author))
        return self._client.blocking(
            "apurge", lambda driver: repeat(driver.steering.purge, request)
        )

    async def apurge(self, *ids: str, author: str = "", **where: Unpack[Where]) -> int:
        """The same without blocking the event loop."""
        request = Purge(filter=chosen(ids, where), author=who(author))
        return await self._client.awaiting(lambda driver: repeat(driver.steering.purge, request))

    def edit(
        self,
        *ids: str,
        priority: int | None = None,
        delay: Duration | None = None,
        to: str | None = None,
        author: str = "",
        **where: Unpack[Where],
    ) -> int:
        """Change jobs that have not started: their priority, their due time (`delay=0` runs them
        now), or move them `to` another queue."""
        request = _edit(chosen(ids, where), priority, delay, to, author)
        return self._client.blocking("aedit", lambda driver: _walk(driver, request))

    async def aedit(
        self,
        *ids: str,
        priority: int | None = None,
        delay: Duration | None = None,
        to: str | None = None,
        author: str = "",
        **where: Unpack[Where],
    ) -> int:
        """The same without blocking the event loop."""
        request = _edit(chosen(ids, where), priority, delay, to, author)
        return await self._client.awaiting(lambda driver: _walk(driver, request))

    # -- workers -----------------------------------------------------------------------------------

    def order(self, command: Command | str, *workers: str, author: str = "") -> int:
        """Tell workers to be `quiet` (claim nothing more) or to `stop`; they learn it with their
        next beat. Gives the number of those that are there."""
        request = Order(workers=workers, command=Command(command), author=who(author))
        return self._client.blocking("aorder", lambda driver: _order(driver, request))

    async def aorder(self, command: Command | str, *workers: str, author: str = "") -> int:
        """The same without blocking the event loop."""
        request = Order(workers=workers, command=Command(command), author=who(author))
        return await self._client.awaiting(lambda driver: _order(driver, request))


def _edit(
    wanted: Filter,
    priority: int | None,
    delay: Duration | None,
    to: str | None,
    author: str,
) -> Edit:
    return Edit(
        filter=wanted,
        priority=priority,
        queue=to,
        due_in=None if delay is None else micros(delay),
        author=who(author),
    )


def _walk(driver: Driver, request: Edit) -> Talk[int]:
    """Edit page by page: an edited job still matches, so repeating would never come to an end."""
    total = 0
    states = request.filter.states or tuple(IDLE)
    look = Find(filter=replace(request.filter, states=states), limit=request.limit)
    while True:
        page: Page = yield driver.inspecting.find(look)
        total += yield from _edit_these(driver, request, [job.id for job in page.jobs])
        if page.next is None:
            return total
        look = replace(look, after=page.next)


def _edit_these(driver: Driver, request: Edit, ids: Sequence[str]) -> Talk[int]:
    if not ids:
        return 0
    edited: Steered = yield driver.steering.edit(replace(request, filter=Filter(ids=tuple(ids))))
    return len(edited.ids)


def _order(driver: Driver, request: Order) -> Talk[int]:
    ordered: Ordered = yield driver.housekeeping.order(request)
    return len(ordered.workers)
