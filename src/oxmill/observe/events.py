"""What happens in a worker, as typed events: one class each, with the words that people read."""

from __future__ import annotations

import logging
from typing import ClassVar

from oxmill.model.value import Value


class Happening(Value, frozen=True):
    """Something that happened. `level` and `words` say how it is told in the log."""

    level: ClassVar[int] = logging.INFO
    words: ClassVar[str] = ""


class WorkerStarted(Happening, frozen=True):
    """The worker is about to make its first claim. The log has five lines for people instead."""

    level: ClassVar[int] = logging.DEBUG
    words: ClassVar[str] = "worker started"
    worker: str
    store: str
    queues: tuple[str, ...]
    slots: int
    tasks: int
    schedules: int


class QueueUnused(Happening, frozen=True):
    """A queue was named from which no task of the app takes its jobs and in which there is nothing:
    perhaps another was meant. The worker claims from it all the same."""

    level: ClassVar[int] = logging.WARNING
    words: ClassVar[str] = "queue is not in use"
    queue: str
    near: tuple[str, ...]


class LeftBehind(Happening, frozen=True):
    """A drain is over, and the queue is not empty: jobs are `waiting` behind the `gates`, `scheduled`
    for later by a delay or a retry, `held` until other jobs end, or `running` elsewhere."""

    words: ClassVar[str] = "drain leaves jobs behind"
    queue: str
    waiting: int
    scheduled: int
    held: int
    running: int
    gates: tuple[str, ...]


class WorkerStopping(Happening, frozen=True):
    """No claim is made from now on; what runs may end within the grace time."""

    words: ClassVar[str] = "worker stopping"
    worker: str
    reason: str
    running: int


class WorkerStopped(Happening, frozen=True):
    """The worker has gone."""

    words: ClassVar[str] = "worker stopped"
    worker: str
    code: int
    done: int
    released: int


class RunEnded(Happening, frozen=True):
    """A run has come to its outcome; the store is told next. A run that has spawned others, for which
    its job is held now, has the outcome `spawned`."""

    words: ClassVar[str] = "run ended"
    job: str
    task: str
    queue: str
    attempt: int
    outcome: str
    seconds: float


class RunFailed(Happening, frozen=True):
    """A run ended in an error; `outcome` says whether it is tried again (`retry`) or not (`fail`)."""

    level: ClassVar[int] = logging.WARNING
    words: ClassVar[str] = "run failed"
    job: str
    task: str
    queue: str
    attempt: int
    outcome: str
    seconds: float
    error: str
    detail: str
    traceback: str


class FailedForGood(Happening, frozen=True):
    """A job will not be tried again: its attempts are used up (`exhausted`), or it must not be
    (`refused`). Its last run has a line of its own, with the traceback."""

    level: ClassVar[int] = logging.ERROR
    words: ClassVar[str] = "job failed for good"
    job: str
    task: str
    queue: str
    failures: int
    reason: str
    error: str
    detail: str


class RunStuck(Happening, frozen=True):
    """A run was told to stop, or ran out of time, and goes on all the same."""

    level: ClassVar[int] = logging.ERROR
    words: ClassVar[str] = "run does not stop"
    job: str
    task: str
    why: str
    stack: str


class LeaseLost(Happening, frozen=True):
    """The store gave the job to another holder, or it is gone: this run's outcome does not count."""

    level: ClassVar[int] = logging.WARNING
    words: ClassVar[str] = "lease lost"
    job: str
    attempt: int
    at: str
    """renewal, settlement or deadline."""


class OutcomeDropped(Happening, frozen=True):
    """An outcome could not be told to the store; the job will run again when its lease ends."""

    level: ClassVar[int] = logging.ERROR
    words: ClassVar[str] = "outcome not stored"
    job: str
    attempt: int
    outcome: str
    error: str


class TaskUnknown(Happening, frozen=True):
    """A job names a task that this worker does not know; it is put off for one that does."""

    level: ClassVar[int] = logging.WARNING
    words: ClassVar[str] = "unknown task"
    job: str
    task: str
    near: tuple[str, ...]
    again_in: str


class StoreTrouble(Happening, frozen=True):
    """The store did not do what an agent asked; the agent tries again."""

    level: ClassVar[int] = logging.WARNING
    words: ClassVar[str] = "store trouble"
    agent: str
    error: str
    times: int
    again_in: float


class StoreBack(Happening, frozen=True):
    """The store works again for this agent."""

    words: ClassVar[str] = "store is back"
    agent: str
    after: int
    """How often it had failed."""


class LoopBlocked(Happening, frozen=True):
    """The event loop was held up: a coroutine computes, or calls something that blocks."""

    level: ClassVar[int] = logging.WARNING
    words: ClassVar[str] = "event loop is blocked"
    seconds: float
    stack: str


class AgentDied(Happening, frozen=True):
    """A part of the worker ended by itself. The worker stops and its exit code says so."""

    level: ClassVar[int] = logging.CRITICAL
    words: ClassVar[str] = "agent died"
    agent: str
    error: str
    stack: str


class ReadinessChanged(Happening, frozen=True):
    """Whether claims make progress has changed."""

    level: ClassVar[int] = logging.WARNING
    words: ClassVar[str] = "readiness changed"
    ready: bool
    reason: str


class Swept(Happening, frozen=True):
    """A sweep found work that nobody was looking after."""

    words: ClassVar[str] = "swept"
    lapsed: int
    poisoned: int
    due: int
    expired: int


class TickFired(Happening, frozen=True):
    """A schedule's tick made its job."""

    words: ClassVar[str] = "tick fired"
    schedule: str
    jobs: tuple[str, ...]


class ScheduleBroken(Happening, frozen=True):
    """A schedule cannot be worked out; the others go on."""

    level: ClassVar[int] = logging.ERROR
    words: ClassVar[str] = "schedule cannot be worked out"
    schedule: str
    error: str
