"""Plain functions, in threads."""

from __future__ import annotations

import asyncio
from contextvars import copy_context
from functools import partial
from typing import Any

from oxmill.observe.bus import Bus
from oxmill.observe.events import RunStuck
from oxmill.worker.lanes.lane import Arguments, Body
from oxmill.worker.lanes.threads import Threads
from oxmill.worker.runs import HARD, Run


class ThreadLane:
    """Runs functions in standing threads; `current()` works in them as in coroutines.

    A thread cannot be killed. A run that is asked to stop sees it in `current().cancelled` and in
    `ensure_lease()`; one that runs out of time is settled and left behind.
    """

    def __init__(self, slots: int, bus: Bus) -> None:
        self._threads = Threads(slots)
        self._bus = bus

    async def call(self, run: Run, task: Body, arguments: Arguments) -> Any:
        """Call the function in a thread and await it."""
        if run.limit is not None:
            run.limit()
        args, kwargs = arguments
        body = partial(_run_coroutine, task.fn) if task.is_async else task.fn
        call = partial(copy_context().run, body, *args, **kwargs)
        ticket = run.ticket = self._threads.submit(call)
        try:
            return await ticket.future
        except asyncio.CancelledError:
            stack = ticket.stack
            if self._threads.abandon(ticket):
                self._bus.emit(
                    RunStuck(
                        job=run.job.id, task=run.job.task, why=run.why or "unknown", stack=stack
                    )
                )
            raise

    def stop(self, run: Run) -> None:
        """Go away from a run that must not be waited for; the others learn it from their context."""
        if run.task is not None and run.why in HARD:
            run.task.cancel()

    @property
    def stuck(self) -> int:
        """Threads that were left behind and still run."""
        return self._threads.stuck

    def close(self) -> None:
        """Let the threads end; a busy one ends with the process."""
        self._threads.close()


def _run_coroutine(fn: Any, *args: Any, **kwargs: Any) -> Any:
    """A coroutine function that asked for a thread of its own gets an event loop there."""
    return asyncio.run(fn(*args, **kwargs))
