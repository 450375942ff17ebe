"""The handle of one job: wait for it, cancel it, look at it."""

from __future__ import annotations

import time
from collections.abc import Generator
from importlib import import_module
from operator import attrgetter
from typing import Any, Generic, Protocol, Self, TypeVar

from oxmill.errors import JobCancelled, JobFailed, JobNotFound, ResultTimeout, WrongContext
from oxmill.model.job import Job as Record
from oxmill.model.query import Cancel, Filter, Get, Steered
from oxmill.model.state import TERMINAL, State
from oxmill.queue.client import Client
from oxmill.queue.talk import Pause, Talk
from oxmill.rules.duration import Duration, micros
from oxmill.store.doorbell import ended
from oxmill.store.driver import Driver

R_co = TypeVar("R_co", covariant=True)

_FIRST_PAUSE = 0.005
_LONGEST_PAUSE = 0.5
"""A lost or silent doorbell delays a result by no more than this."""


class Results(Protocol):
    """Knows how a job's result is to be read."""

    @property
    def home(self) -> str | None:
        """`module:qualname` under which it can be imported, if it can."""
        ...

    def read_result(self, record: Record) -> Any:
        """The result as a value."""
        ...


class Job(Generic[R_co]):
    """One enqueued job; `R` is the type of its result.

    Two handles are equal if they name the same job. A handle may be pickled; the copy finds its
    way back to the store through the module that declares the task.
    """

    __slots__ = ("_client", "_record", "_results", "_state", "created", "id")

    def __init__(
        self,
        job_id: str,
        client: Client | None,
        results: Results | None,
        state: State | None = None,
        created: bool = False,
    ) -> None:
        self.id = job_id
        self._client = client
        self._results = results
        self._state = state
        self._record: Record | None = None
        self.created = created
        """Whether the enqueue that gave this handle made the job; false if an earlier one stands
        for it."""

    @property
    def state(self) -> State | None:
        """The state last heard of: at the enqueue, or at the last `refresh`."""
        return self._state

    @property
    def record(self) -> Record | None:
        """Everything the store knew at the last `refresh`."""
        return self._record

    def result(self, timeout: Duration | None = None) -> R_co:
        """Wait for the job's end and give its result.

        Raises `JobFailed` with the error of its last run, `JobCancelled`, `ResultTimeout`, or
        `JobNotFound` if the job is not kept any more.
        """
        seconds = None if timeout is None else micros(timeout) / 1e6
        ended = self._reach().blocking("job.aresult", lambda driver: self._wait(driver, seconds))
        return self._read(ended)

    async def aresult(self, timeout: Duration | None = None) -> R_co:
        """The same without blocking the event loop; `await job` waits without a limit."""
        seconds = None if timeout is None else micros(timeout) / 1e6
        return self._read(await self._reach().awaiting(lambda driver: self._wait(driver, seconds)))

    def __await__(self) -> Generator[Any, None, R_co]:
        return self.aresult().__await__()

    def cancel(self, reason: str | None = None) -> bool:
        """End the job as cancelled if it has not started; ask it to stop if it runs. False if it
        had ended, or is not there."""
        return self._reach().blocking("job.acancel", lambda driver: self._cancel(driver, reason))

    async def acancel(self, reason: str | None = None) -> bool:
        """The same without blocking the event loop."""
        return await self._reach().awaiting(lambda driver: self._cancel(driver, reason))

    def refresh(self) -> Self:
        """Ask the store for the job's state and record; gives the handle itself."""
        self._note(self._reach().blocking("job.arefresh", self._get))
        return self

    async def arefresh(self) -> Self:
        """The same without blocking the event loop."""
        self._note(await self._reach().awaiting(self._get))
        return self

    def _wait(self, driver: Driver, seconds: float | None) -> Talk[Record]:
        deadline = None if seconds is None else time.monotonic() + seconds
        pause = _FIRST_PAUSE
        with driver.doorbell.listen((ended(self.id),)) as bell:
            while True:
                record = yield from self._get(driver)
                if record.state in TERMINAL:
                    return record
                left = pause if deadline is None else deadline - time.monotonic()
                if left <= 0:
                    raise ResultTimeout(
                        self.id,
                        f"job {self.id} is {record.state} after {seconds:g} s; it goes on. Wait "
                        f"longer, or cancel it",
                    )
                rung = yield Pause(bell, min(pause, left))
                if not rung:
                    pause = min(pause * 2, _LONGEST_PAUSE)

    def _get(self, driver: Driver) -> Talk[Record]:
        found: tuple[Record, ...] = yield driver.inspecting.get(Get(ids=(self.id,)))
        if not found:
            raise JobNotFound(
                self.id,
                f"there is no job {self.id}: it was never enqueued here, was purged, or has ended "
                f"and is not kept any more; keep=... keeps ended jobs longer",
            )
        return found[0]

    def _cancel(self, driver: Driver, reason: str | None) -> Talk[bool]:
        steered: Steered = yield driver.steering.cancel(
            Cancel(filter=Filter(ids=(self.id,)), reason=reason)
        )
        return bool(steered.ids or steered.asked)

    def _read(self, record: Record) -> R_co:
        self._note(record)
        if record.state is State.SUCCEEDED:
            return self._results.read_result(record)  # type: ignore[union-attr, no-any-return]
        raise failure(record)

    def _note(self, record: Record) -> None:
        self._record = record
        self._state = record.state

    def _reach(self) -> Client:
        if self._client is None:
            raise WrongContext(
                f"this handle of job {self.id} was unpickled where its task cannot be imported; "
                f"use app.job({self.id!r})"
            )
        return self._client

    def __reduce__(self) -> tuple[Any, ...]:
        home = self._results.home if self._results is not None else None
        return _revive, (self.id, home, self.created, self._state)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Job) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"<Job {self.id} {self._state or 'unknown'}>"


def failure(record: Record) -> JobFailed | JobCancelled:
    """The error that tells how a job ended."""
    if record.state is State.CANCELLED:
        return JobCancelled(
            record.id, f"job {record.id} was cancelled ({record.reason or 'no reason given'})"
        )
    error = record.error
    kind, message = (error.type, error.message) if error else ("", record.reason or "no error")
    failed = JobFailed(
        record.id,
        f"job {record.id} of task {record.task} failed after {record.attempt} attempts: "
        f"{kind}{': ' if kind and message else ''}{message}",
    )
    if error is not None:
        failed.error_type, failed.error_message = error.type, error.message
        failed.traceback = error.traceback
        if error.traceback:
            failed.add_note(f"Where the job failed:\n{error.traceback}")
    failed.failures = record.failures
    return failed


def _revive(job_id: str, home: str | None, created: bool, state: State | None) -> Job[Any]:
    job: Job[Any] = _attached(job_id, home) or Job(job_id, None, None)
    job.created = created
    job._state = state  # noqa: SLF001 - its own copy
    return job


def _attached(job_id: str, home: str | None) -> Job[Any] | None:
    if home is None:
        return None
    module, _, path = home.partition(":")
    try:
        task = attrgetter(path)(import_module(module))
    except (ImportError, AttributeError):  # declared inside a function, or not installed here
        return None
    job = getattr(task, "job", None)
    return None if job is None else job(job_id)
