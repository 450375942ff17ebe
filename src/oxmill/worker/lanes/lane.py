"""Where functions run."""

from __future__ import annotations

from typing import Any, Protocol

from oxmill.model.settlement import Settlement
from oxmill.queue.continuation import Arguments, Body
from oxmill.queue.task import BaseTask
from oxmill.worker.runs import Run

AnyTask = BaseTask[..., Any]

__all__ = ["AnyTask", "Arguments", "Body", "EndedElsewhere", "Lane"]


class EndedElsewhere(Exception):
    """The run ended in an exception in another process, where it was judged: no more to decide."""

    def __init__(self, settlement: Settlement) -> None:
        super().__init__(settlement.error.message if settlement.error else settlement.outcome)
        self.settlement = settlement


class Lane(Protocol):
    """One way to run a function: on the event loop, in a thread, in a child process."""

    async def call(self, run: Run, task: Body, arguments: Arguments, /) -> Any:
        """What the function returned; what it raised is raised. Starts the run's timeout."""
        ...

    def stop(self, run: Run, /) -> None:
        """The run was told to stop (`run.why`): do what can be done about it, at once."""
        ...

    def close(self) -> None:
        """Let go of threads and processes, without waiting for what still runs."""
        ...
