"""Every error Oxmill raises on purpose. Each message says what happened and what to do next.

OxmillError
├── BadInput                 the call is wrong; nothing was written
│   ├── BadName              a queue, task, group, id or key that cannot be stored faithfully
│   ├── BadArguments         task arguments or a result that do not fit their annotations
│   ├── TooBig               a payload, result or batch over its limit
│   ├── BadSchedule          a cron expression, interval or zone that cannot be used
│   ├── BadConfig            a URL, option or setting that cannot be used
│   ├── BadFlow              a flow that cannot be enqueued as it is
│   │   ├── FlowCycle        jobs that would wait for each other for ever
│   │   ├── ForeignNode      a job of another flow, or of another app
│   │   └── FlowEnqueued     it has been enqueued: nothing can be added to it
│   └── WrongConnection      a connection whose transaction cannot take the jobs
│       ├── OtherDatabase    it leads to a database that does not hold the jobs
│       └── NoTransaction    it has no transaction open, so nothing could be rolled back
├── DuplicateJob             a unique key is taken, and the caller asked to be told
├── IdConflict               the id is taken by a job with other content
├── JobError                 a job did not give the result that was waited for
│   ├── JobFailed            it ended as failed
│   ├── JobCancelled         it ended as cancelled
│   ├── JobNotFound          there is no such job, or it has been pruned
│   └── ResultTimeout        it has not ended yet
├── FlowNotFound             there is no such flow, or it has been pruned
├── ScheduleNotFound         the store knows no schedule of that name
├── LostLease                the token is superseded: another holder may have the job
├── NotAllowed               the caller's role may not do this
├── TaskNotFound             no task of that name is declared
├── WrongContext             a blocking call inside a running event loop, or the like
└── StoreError               the store did not do it
    ├── StoreUnavailable     it cannot be reached, or is busy; try again
    │   └── StoreReplaced    it was emptied, or is an older copy of itself or another one
    ├── OutcomeUnknown       it may or may not have done it; repeating is safe
    ├── StoreFull            disk or memory is full
    ├── StoreRefused         its settings or its place are unsafe
    ├── SchemaMismatch       its schema is older or newer than this code can use
    └── NotSupported         this store lacks that capability
"""

from __future__ import annotations

from collections.abc import Sequence


class OxmillError(Exception):
    """Root of all errors that Oxmill raises on purpose."""


class BadInput(OxmillError, ValueError):
    """The call is wrong; nothing was written."""


class BadName(BadInput):
    """A name, id or key cannot be stored faithfully on every store."""


class BadArguments(BadInput):
    """Arguments or a result do not fit the task's annotations."""


class TooBig(BadInput):
    """A payload, result or batch is over its limit."""


class BadSchedule(BadInput):
    """A cron expression, an interval or a time zone cannot be used."""


class BadConfig(BadInput):
    """A URL, an option or a setting cannot be used."""


class BadFlow(BadInput):
    """A flow cannot be enqueued as it is; nothing was written."""


class FlowCycle(BadFlow):
    """Jobs of a flow would wait for each other for ever."""


class ForeignNode(BadFlow):
    """A job of another flow, or of another app, was named in a flow."""


class FlowEnqueued(BadFlow):
    """The flow has been enqueued: its jobs may run already, so it cannot be changed here."""


class WrongConnection(BadInput):
    """A connection was given whose transaction cannot take the jobs; nothing was written."""


class OtherDatabase(WrongConnection):
    """The connection leads to a database that does not hold the jobs."""


class NoTransaction(WrongConnection):
    """The connection has no transaction open: what it writes could not be rolled back."""


class DuplicateJob(OxmillError):
    """A unique key is taken by a live job, and the caller asked to be told (`on_conflict="raise"`)."""

    def __init__(self, key: str, job_id: str) -> None:
        super().__init__(
            f"unique key {key!r} is held by job {job_id}; nothing was enqueued. "
            f'Wait for that job, or use on_conflict="skip", "replace" or "rerun".'
        )
        self.key = key
        self.job_id = job_id

    def __reduce__(self) -> tuple[type[DuplicateJob], tuple[str, str]]:
        return type(self), (self.key, self.job_id)


class IdConflict(OxmillError):
    """The id is taken by a job with another queue, task or payload; nothing was enqueued."""

    def __init__(self, job_id: str) -> None:
        super().__init__(
            f"id {job_id!r} belongs to a job with another queue, task or payload; nothing was "
            f"enqueued. Give the new job an id of its own."
        )
        self.job_id = job_id

    def __reduce__(self) -> tuple[type[IdConflict], tuple[str]]:
        return type(self), (self.job_id,)


class JobError(OxmillError):
    """A job did not give the result that was waited for."""

    def __init__(self, job_id: str, message: str) -> None:
        super().__init__(message)
        self.job_id = job_id
        self.message = message

    def __reduce__(self) -> tuple[type[JobError], tuple[str, str], dict[str, object]]:
        return type(self), (self.job_id, self.message), self.__dict__


class JobFailed(JobError):
    """The job ended as failed; `error_type`, `error_message` and `traceback` tell how."""

    error_type: str = ""
    error_message: str = ""
    traceback: str = ""
    failures: int = 0


class JobCancelled(JobError):
    """The job ended as cancelled."""


class JobNotFound(JobError):
    """There is no such job: never enqueued, purged, or pruned after its retention."""


class ResultTimeout(JobError, TimeoutError):
    """The job has not ended within the time given; it goes on."""


class FlowNotFound(OxmillError, LookupError):
    """There is no such flow: never enqueued, or pruned after its retention."""


class ScheduleNotFound(OxmillError, LookupError):
    """The store knows no schedule of that name; `near` holds the closest names."""

    def __init__(self, name: str, near: Sequence[str] = ()) -> None:
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        super().__init__(f"there is no schedule {name!r}.{hint} See: oxmill cron list")
        self.name = name
        self.near = tuple(near)

    def __reduce__(self) -> tuple[type[ScheduleNotFound], tuple[str, tuple[str, ...]]]:
        return type(self), (self.name, self.near)


class LostLease(OxmillError):
    """The token is superseded: the job may be held by another, so this run must stop."""


class NotAllowed(OxmillError):
    """The caller's role may not do this."""


class TaskNotFound(OxmillError, LookupError):
    """No task of that name is declared; `near` holds the closest names."""

    def __init__(self, name: str, near: Sequence[str] = ()) -> None:
        hint = f" Did you mean {', '.join(near)}?" if near else ""
        super().__init__(
            f"no task named {name!r} is declared in this app.{hint} Import the module that "
            f"declares it, or give the renamed task aliases=[{name!r}]."
        )
        self.name = name
        self.near = tuple(near)

    def __reduce__(self) -> tuple[type[TaskNotFound], tuple[str, tuple[str, ...]]]:
        return type(self), (self.name, self.near)


class WrongContext(OxmillError, RuntimeError):
    """A call was made where it cannot work, such as a blocking call inside a running loop."""


class StoreError(OxmillError):
    """The store did not do what was asked."""


class StoreUnavailable(StoreError):
    """The store cannot be reached or stayed busy; nothing was written, so try again."""


class StoreReplaced(StoreUnavailable):
    """The store was emptied, or is an older copy of itself or another one, so acknowledged jobs are
    gone. Nothing was written. It is told once: the next call goes to the store as it is now."""


class OutcomeUnknown(StoreError):
    """The store may or may not have done it. Repeating the call with the same ids is safe."""


class StoreFull(StoreError):
    """The store's disk or memory is full; nothing was written."""


class StoreRefused(StoreError):
    """The store's settings or its place are unsafe for durable work."""


class SchemaMismatch(StoreError):
    """The store's schema is older or newer than this code can use."""


class NotSupported(StoreError):
    """This store lacks the capability that was asked for."""
