"""Settings of queues: how much runs at once, how fast, and how long ended jobs are kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict, Unpack

from oxmill.errors import BadInput
from oxmill.model.settings import PutSettings, QueueSettings
from oxmill.queue.author import who
from oxmill.queue.client import Client
from oxmill.queue.talk import Talk
from oxmill.rules.duration import Duration, micros
from oxmill.store.driver import Driver


class Limits(TypedDict, total=False):
    """Limits of a queue. What is not given stays as it is; `None` takes a limit away."""

    concurrency: int | None
    """Jobs running at once over all workers."""
    rate: str | None
    """Starts per time over all workers, such as `100/s`, `10/10s` or `5/min burst 2`."""
    group_concurrency: int | None
    """Jobs of one group running at once."""
    group_rate: str | None
    """Starts per time of each group."""
    group_weights: Mapping[str, int]
    """Jobs that a group is given per turn; 1 unless named here."""
    ordered_groups: bool
    """One job of a group at a time, strictly in order."""
    ageing: Duration | None
    """Waiting this long improves the priority by one."""


class Limiting:
    """Puts the settings of queues, while everything runs."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def limit(self, queue: str, author: str = "", **limits: Unpack[Limits]) -> QueueSettings:
        """Change these limits of a queue, for every claim that starts later; the settings that
        hold now. What waits behind a limit that is raised starts at once. Callers at the same time
        change only what each of them names."""
        return self._client.blocking("alimit", lambda driver: _limit(driver, queue, author, limits))

    async def alimit(self, queue: str, author: str = "", **limits: Unpack[Limits]) -> QueueSettings:
        """The same without blocking the event loop."""
        return await self._client.awaiting(lambda driver: _limit(driver, queue, author, limits))

    def configure(self, queue: str, settings: QueueSettings, author: str = "") -> None:
        """Replace all of the queue's settings, for every claim and settlement that starts later."""
        self._client.blocking("aconfigure", lambda driver: _put(driver, queue, settings, author))

    async def aconfigure(self, queue: str, settings: QueueSettings, author: str = "") -> None:
        """The same without blocking the event loop."""
        await self._client.awaiting(lambda driver: _put(driver, queue, settings, author))


def _limit(driver: Driver, queue: str, author: str, limits: Limits) -> Talk[QueueSettings]:
    changes: dict[str, Any] = dict(limits)
    if changes.get("ageing") is not None:
        changes["ageing"] = micros(changes["ageing"])
    if not changes:
        raise BadInput(f"queue {queue!r}: name a limit to change, such as concurrency=5")
    put = PutSettings(
        queue=queue, settings=QueueSettings(**changes), only=tuple(changes), author=who(author)
    )
    settings: QueueSettings = yield driver.steering.put_settings(put)
    return settings


def _put(driver: Driver, queue: str, settings: QueueSettings, author: str) -> Talk[None]:
    put = PutSettings(queue=queue, settings=settings, author=who(author))
    yield driver.steering.put_settings(put)
