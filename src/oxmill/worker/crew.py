"""Runs the agents of a worker, and notices when one of them ends by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from oxmill.store.driver import Driver
from oxmill.worker.parts import Parts, bells


class Crew:
    """All agents at work: asyncio tasks on the loop, the renewer and the watchdog in threads."""

    def __init__(
        self, driver: Driver, parts: Parts, on_death: Callable[[str, BaseException], None]
    ) -> None:
        self._parts = parts
        self._bells = bells(driver, parts)
        self._on_death = on_death
        self._tasks: set[asyncio.Task[None]] = set()
        self.claiming: asyncio.Task[None] | None = None
        """The claimer's loop: the last to end."""

    def start(self) -> asyncio.Task[None]:
        """Start everybody; the claimer's loop."""
        parts = self._parts
        parts.renewer.start(self._renewer_died)
        parts.watchdog.start()
        for agent in parts.services:
            self._tasks.add(self._start(agent.name, agent.run()))
        self.claiming = self._start("claimer", parts.claimer.run())
        return self.claiming

    def stop_upkeep(self) -> None:
        """End what only looks for new work; runs and leases are still looked after."""
        for service in self._parts.services:
            if service is not self._parts.beat:
                service.stop()
        for bell in self._bells:
            bell.close()

    async def end(self) -> None:
        """End everybody; the worker is forgotten by the store."""
        self.stop_upkeep()
        self._parts.beat.stop()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=2.0)
        for task in (*self._tasks, self.claiming):
            if task is not None:
                task.cancel()
        await self._parts.beat.say_goodbye()
        await self._parts.renewer.stop()
        self._parts.watchdog.stop()
        self._parts.lanes.close()

    def _start(self, name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work, name=name)
        task.add_done_callback(partial(self._ended, name))
        return task

    def _ended(self, name: str, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._on_death(name, error)

    def _renewer_died(self, error: BaseException) -> None:
        loop = self._parts.renewer.loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._on_death, "renewer", error)
