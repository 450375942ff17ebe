"""Coroutines, on the worker's own event loop."""

from __future__ import annotations

from typing import Any

from oxmill.worker.lanes.lane import Arguments, Body
from oxmill.worker.runs import Run


class LoopLane:
    """Runs coroutines. Each run is an asyncio task of its own, so it has its own context."""

    async def call(self, run: Run, task: Body, arguments: Arguments) -> Any:
        """Await the task's coroutine."""
        if run.limit is not None:
            run.limit()
        args, kwargs = arguments
        return await task.fn(*args, **kwargs)

    def stop(self, run: Run) -> None:
        """Cancel the coroutine."""
        if run.task is not None:
            run.task.cancel()

    def close(self) -> None:
        """Nothing to let go of."""
