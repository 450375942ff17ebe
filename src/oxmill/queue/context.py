"""What a running task may know about its own run, and say about it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any, Final, Protocol

import msgspec

from oxmill.errors import LostLease, WrongContext
from oxmill.model.flow import FlowStep
from oxmill.model.job import LeasedJob
from oxmill.model.settlement import Outcome, Ruling, Settle, Settled, Settlement
from oxmill.model.token import Token
from oxmill.model.value import Value
from oxmill.queue.client import Client
from oxmill.queue.talk import Talk
from oxmill.store.driver import Driver

PARENT: Final = "oxmill-parent"
"""The header that names the job whose run enqueued this one."""

CORRELATION: Final = "correlation-id"
"""The header that tells which jobs belong to one cause."""


class Progress(Value, frozen=True, omit_defaults=True):
    """How far a run has come. Stored with renewals, so that a new run may go on from there."""

    done: float | None = None
    total: float | None = None
    note: str = ""
    cursor: Any = None


_ENCODE: Final = msgspec.json.Encoder().encode
_DECODE: Final = msgspec.json.Decoder(Progress).decode


def read_progress(data: bytes | None) -> Progress:
    """The progress that was stored; an empty one if there is none, or none that can be read: what
    another program wrote there must not keep the job from running."""
    try:
        return Progress() if data is None else _DECODE(data)
    except msgspec.DecodeError:
        return Progress()


class Hold:
    """The worker's side of one lease: what its run must learn. Written by the worker only."""

    __slots__ = (
        "cancelled",
        "completing",
        "deadline",
        "lost",
        "on_completing",
        "renew_soon",
        "resources",
    )

    def __init__(
        self,
        *,
        deadline: float = float("inf"),
        renew_soon: Callable[[], None] | None = None,
    ) -> None:
        self.deadline = deadline
        """Local end of the lease on the monotonic clock; moved by every renewal."""
        self.lost = False
        """The store said that the token is superseded."""
        self.cancelled = False
        """Somebody asked the job to stop."""
        self.renew_soon = renew_soon
        """Ask for a renewal before the next is due."""
        self.resources: Any = None
        """What the worker's lifespan gave."""
        self.completing = False
        """The run has completed its job in a transaction of its own, which may be committed by now.
        Written by the run."""
        self.on_completing: Callable[[], None] | None = None
        """Tell whoever must know that, before the run can commit."""


class Completer(Protocol):
    """The task that runs: it knows the way to the store, and how its result is written."""

    @property
    def client(self) -> Client:
        """The way to the store of the task's app."""
        ...

    def ends(self, job: LeasedJob, value: Any, /) -> tuple[bytes | None, FlowStep | None]:
        """The result as stored, and what happens to the job's flow."""
        ...


class Context:
    """One run of one job, for as long as it lasts."""

    __slots__ = ("_hold", "_job", "_log", "_progress", "_saved", "_task")

    def __init__(
        self, job: LeasedJob, hold: Hold | None = None, task: Completer | None = None
    ) -> None:
        self._job = job
        self._task = task
        self._hold = hold or Hold()
        self._progress = self._saved = read_progress(job.progress)
        self._log: logging.LoggerAdapter[logging.Logger] | None = None

    @property
    def id(self) -> str:
        """The job's id."""
        return self._job.id

    @property
    def queue(self) -> str:
        """The queue it came from."""
        return self._job.queue

    @property
    def task(self) -> str:
        """The name of its task."""
        return self._job.task

    @property
    def attempt(self) -> int:
        """How often the job has been claimed, this time included. It never goes back, so it may be
        passed to other systems as a fencing number: they refuse what carries a smaller one."""
        return self._job.token.attempt

    @property
    def failures(self) -> int:
        """How many runs before this one ended in an exception."""
        return self._job.failures

    @property
    def token(self) -> Token:
        """The proof of this lease."""
        return self._job.token

    @property
    def flow(self) -> str | None:
        """The flow it belongs to."""
        return self._job.flow

    @property
    def parent(self) -> str | None:
        """The job whose run enqueued this one."""
        return self._job.parent or self._job.headers.get(PARENT)

    @property
    def headers(self) -> Mapping[str, str]:
        """What the enqueuer sent along: correlation id, trace context."""
        return self._job.headers

    @property
    def correlation(self) -> str | None:
        """The header `correlation-id`, which spawned jobs and the next steps of a pipeline carry
        along as they do all headers."""
        return self._job.headers.get(CORRELATION)

    @property
    def log(self) -> logging.LoggerAdapter[logging.Logger]:
        """A logger named after the task, whose records carry the job's id, queue and attempt."""
        if self._log is None:
            extra = {"job": self.id, "queue": self.queue, "attempt": self.attempt}
            self._log = logging.LoggerAdapter(logging.getLogger(f"oxmill.task.{self.task}"), extra)
        return self._log

    @property
    def resources(self) -> Any:
        """What the worker's lifespan gave: pools, clients, models. `None` without a lifespan, and
        in child processes."""
        return self._hold.resources

    @property
    def cancelled(self) -> bool:
        """Whether somebody has asked the job to stop. Look at it in long loops."""
        return self._hold.cancelled

    @property
    def cursor(self) -> Any:
        """What this run or the one before it saved last; `None` at the first."""
        return self._progress.cursor

    def progress(self, done: float, total: float | None = None, note: str = "") -> None:
        """Say how far the run has come. People see it after the next renewal."""
        self._progress = msgspec.structs.replace(self._progress, done=done, total=total, note=note)

    def save(self, cursor: Any) -> None:
        """Save where to go on, if this run does not come to its end. Any JSON value will do."""
        self._progress = msgspec.structs.replace(self._progress, cursor=cursor)
        self.heartbeat()

    def heartbeat(self) -> None:
        """Ask for a renewal soon, which also carries progress to the store."""
        if self._hold.renew_soon is not None:
            self._hold.renew_soon()

    def ensure_lease(self) -> None:
        """Raise `LostLease` unless this run still holds the job. Call it before what must not be
        done twice, and pass `attempt` along where the other side can check it."""
        hold = self._hold
        if hold.lost or time.monotonic() >= hold.deadline:
            raise LostLease(
                f"job {self.id}: the lease of attempt {self.attempt} is over and another worker "
                f"may run the job; stop this run"
            )

    def complete_in(self, connection: Any, result: Any = None) -> None:
        """End the job as succeeded in the open transaction of this connection or session, which
        must lead to the store itself: both are committed, or neither.

        Commit or roll back before the run ends. Once committed the job is done, whatever the run
        does or raises later; rolled back, the run goes on as if this had not been called.
        `LostLease` if the job is another's by now: roll back then.
        """
        task = self._completer()
        settle = self._completion(task, result)
        self._completed(task.client.blocking("acomplete_in", settle, connection))

    async def acomplete_in(self, connection: Any, result: Any = None) -> None:
        """The same without blocking the event loop, on an async connection."""
        task = self._completer()
        settle = self._completion(task, result)
        self._completed(await task.client.awaiting(settle, connection))

    def _completer(self) -> Completer:
        if self._task is None:
            raise WrongContext(
                "this run was started without its task, so it cannot be completed from inside; "
                "run it through a worker"
            )
        return self._task

    def _completion(
        self, task: Completer, result: Any
    ) -> Callable[[Driver], Talk[tuple[Settled, ...]]]:
        stored, flow = task.ends(self._job, result)
        settlement = Settlement(
            id=self.id, token=self.token, outcome=Outcome.COMPLETE, result=stored, flow=flow
        )

        def settle(driver: Driver) -> Talk[tuple[Settled, ...]]:
            answers: tuple[Settled, ...] = yield driver.settling.settle(Settle(items=(settlement,)))
            return answers

        return settle

    def _completed(self, answers: tuple[Settled, ...]) -> None:
        if answers[0].ruling is not Ruling.WON:
            raise LostLease(
                f"job {self.id}: the lease of attempt {self.attempt} is over and another worker "
                f"may run the job; roll back your transaction and stop this run"
            )
        self._hold.completing = True
        if self._hold.on_completing is not None:
            self._hold.on_completing()

    def unsaved(self) -> bytes | None:
        """For the worker: progress that no renewal has carried to the store yet."""
        progress = self._progress
        return None if progress is self._saved else _ENCODE(progress)

    def mark_saved(self, data: bytes) -> None:
        """For the worker: this progress has reached the store."""
        if _ENCODE(self._progress) == data:
            self._saved = self._progress


CURRENT: Final[ContextVar[Context]] = ContextVar("oxmill_context")
"""Set by the worker around each run."""


def current() -> Context:
    """The context of the run that this code is part of, however deep below the task."""
    try:
        return CURRENT.get()
    except LookupError:
        raise WrongContext(
            "no job is running here: current() works below a running task only. Give the function "
            "what it needs as an argument, or run it through a worker or app.testing()"
        ) from None
