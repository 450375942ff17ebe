"""Oxmill: a durable job queue for Python that runs on the store you already have."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oxmill.app import App
    from oxmill.errors import (
        BadArguments,
        BadConfig,
        BadFlow,
        BadInput,
        BadName,
        BadSchedule,
        DuplicateJob,
        FlowCycle,
        FlowEnqueued,
        FlowNotFound,
        ForeignNode,
        IdConflict,
        JobCancelled,
        JobError,
        JobFailed,
        JobNotFound,
        LostLease,
        NotAllowed,
        NoTransaction,
        NotSupported,
        OtherDatabase,
        OutcomeUnknown,
        OxmillError,
        ResultTimeout,
        ScheduleNotFound,
        SchemaMismatch,
        StoreError,
        StoreFull,
        StoreRefused,
        StoreReplaced,
        StoreUnavailable,
        TaskNotFound,
        TooBig,
        WrongConnection,
        WrongContext,
    )
    from oxmill.model.failed import Failed
    from oxmill.model.flow import FlowInfo, FlowStatus
    from oxmill.model.outcome import Cancel, Fail, RateLimited, Retry, Snooze
    from oxmill.model.settings import QueueSettings
    from oxmill.model.state import State
    from oxmill.queue.call import Call
    from oxmill.queue.context import Context, current
    from oxmill.queue.continuation import Continuation
    from oxmill.queue.draft import Draft, Node
    from oxmill.queue.flow import Flow
    from oxmill.queue.handle import Job
    from oxmill.queue.lease import Lease
    from oxmill.queue.pipeline import Pipeline
    from oxmill.queue.spawning import Spawn
    from oxmill.queue.step import Next, Step
    from oxmill.queue.task import AsyncTask, Task
    from oxmill.queue.work import Queue
    from oxmill.rules.unique import Unique
    from oxmill.worker.middleware import Middleware

__all__ = [
    "App",
    "AsyncTask",
    "BadArguments",
    "BadConfig",
    "BadFlow",
    "BadInput",
    "BadName",
    "BadSchedule",
    "Call",
    "Cancel",
    "Context",
    "Continuation",
    "Draft",
    "DuplicateJob",
    "Fail",
    "Failed",
    "Flow",
    "FlowCycle",
    "FlowEnqueued",
    "FlowInfo",
    "FlowNotFound",
    "FlowStatus",
    "ForeignNode",
    "IdConflict",
    "Job",
    "JobCancelled",
    "JobError",
    "JobFailed",
    "JobNotFound",
    "Lease",
    "LostLease",
    "Middleware",
    "Next",
    "NoTransaction",
    "Node",
    "NotAllowed",
    "NotSupported",
    "OtherDatabase",
    "OutcomeUnknown",
    "OxmillError",
    "Pipeline",
    "Queue",
    "QueueSettings",
    "RateLimited",
    "ResultTimeout",
    "Retry",
    "ScheduleNotFound",
    "SchemaMismatch",
    "Snooze",
    "Spawn",
    "State",
    "Step",
    "StoreError",
    "StoreFull",
    "StoreRefused",
    "StoreReplaced",
    "StoreUnavailable",
    "Task",
    "TaskNotFound",
    "TooBig",
    "Unique",
    "WrongConnection",
    "WrongContext",
    "current",
]

_HOMES = {
    "App": "app",
    "AsyncTask": "queue.task",
    "Call": "queue.call",
    "Cancel": "model.outcome",
    "Context": "queue.context",
    "Continuation": "queue.continuation",
    "Draft": "queue.draft",
    "Fail": "model.outcome",
    "Failed": "model.failed",
    "Flow": "queue.flow",
    "FlowInfo": "model.flow",
    "FlowStatus": "model.flow",
    "Job": "queue.handle",
    "Lease": "queue.lease",
    "Middleware": "worker.middleware",
    "Next": "queue.step",
    "Node": "queue.draft",
    "Pipeline": "queue.pipeline",
    "Queue": "queue.work",
    "QueueSettings": "model.settings",
    "RateLimited": "model.outcome",
    "Retry": "model.outcome",
    "Snooze": "model.outcome",
    "Spawn": "queue.spawning",
    "State": "model.state",
    "Step": "queue.step",
    "Task": "queue.task",
    "Unique": "rules.unique",
    "current": "queue.context",
}
"""Where a name lives, unless it is an error. Names are loaded when they are first asked for."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'oxmill' has no attribute {name!r}")
    value = getattr(import_module(f"oxmill.{_HOMES.get(name, 'errors')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
