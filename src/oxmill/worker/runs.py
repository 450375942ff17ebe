"""The jobs under way in this worker."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from oxmill.model.job import LeasedJob
from oxmill.queue.context import Context, Hold
from oxmill.queue.inputs import Inputs
from oxmill.worker.stacks import stack_of_task

if TYPE_CHECKING:
    from oxmill.worker.lanes.lane import Lane
    from oxmill.worker.lanes.threads import Ticket


class Why(StrEnum):
    """Why a run was told to stop."""

    TIMEOUT = "timeout"
    CANCEL = "cancel"
    """Somebody asked the job to stop."""
    LOST = "lost"
    """The store said that the lease is another's."""
    DEADLINE = "deadline"
    """The lease could not be renewed in time, so it may be another's."""
    SHUTDOWN = "shutdown"
    """The worker stops and its grace time is over."""


HARD: Final = frozenset({Why.TIMEOUT, Why.SHUTDOWN})
"""No answer is awaited: what cannot be stopped is left behind."""


class Run(Hold):
    """One job under way, from claim to outcome. Also what its context looks at."""

    __slots__ = (
        "began",
        "carried",
        "context",
        "ended",
        "inputs",
        "job",
        "lane",
        "limit",
        "settled",
        "task",
        "ticket",
        "timer",
        "why",
    )

    def __init__(
        self,
        job: LeasedJob,
        deadline: float = float("inf"),
        renew_soon: Callable[[], None] | None = None,
        resources: Any = None,
    ) -> None:
        # Not by Hold's own keyword arguments: this is made once per job.
        self.deadline = deadline
        self.lost = False
        self.cancelled = False
        self.renew_soon = renew_soon
        self.resources = resources
        self.completing = False
        self.on_completing = None
        self.job = job
        self.task: asyncio.Task[Any] | None = None
        self.lane: Lane | None = None
        self.context: Context | None = None
        self.why: Why | None = None
        self.limit: Callable[[], None] | None = None
        """Starts the run's timeout, if it has one. A lane calls it when the function starts."""
        self.ticket: Ticket | None = None
        """The call in a thread, if it runs in one."""
        self.timer: asyncio.TimerHandle | None = None
        self.carried: bytes | None = None
        """Progress that a child process sent and no renewal has stored yet."""
        self.inputs: Inputs | None = None
        """The jobs that it has waited for, once they were looked up."""
        self.ended = False
        self.settled = False
        """The run has completed its job itself, and that is committed: there is no lease to keep."""
        self.began = time.perf_counter()

    def stop(self, why: Why) -> bool:
        """Tell the run to stop, in the loop's thread; whether that is news to it.

        What follows depends on its lane: a coroutine is cancelled, a child process is killed, a
        thread can only be asked.
        """
        self.lost = self.lost or why is Why.LOST
        self.cancelled = self.cancelled or why is Why.CANCEL
        if self.ended or (self.why is not None and (why not in HARD or self.why in HARD)):
            return False
        self.why = why
        if self.lane is not None:
            self.lane.stop(self)
        elif self.task is not None:
            self.task.cancel()
        return True

    def let_go(self) -> None:
        """It is over: forget what refers back to it, so that all of it goes at once, and not only when the
        interpreter looks for circles."""
        self.task = self.context = self.ticket = None

    @property
    def holds(self) -> bool:
        """Whether there is a lease to keep."""
        return not (self.lost or self.ended or self.settled)

    @property
    def stack(self) -> str:
        """Where the run is at this moment."""
        return stack_of_task(self.task) if self.ticket is None else self.ticket.stack

    def unsaved(self) -> bytes | None:
        """Progress that no renewal has carried to the store yet. Never raises: a cursor that is no
        JSON must not cost a lease."""
        if self.carried is not None or self.context is None:
            return self.carried
        try:
            return self.context.unsaved()
        except Exception:
            self.context.log.exception("progress cannot be written as JSON and is not stored")
            return None

    def mark_saved(self, progress: bytes) -> None:
        """This progress has reached the store."""
        if self.carried is progress:
            self.carried = None
        elif self.context is not None:
            self.context.mark_saved(progress)
