"""Flows: jobs that depend on each other, with one shared state."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

from oxmill.model.fields import FieldValue, Scalar
from oxmill.model.state import State
from oxmill.model.value import Micros, Value

if TYPE_CHECKING:
    from oxmill.model.job import NewJob


class JoinPolicy(StrEnum):
    """When a join fires."""

    ALL_SUCCEED = "all_succeed"
    ALL_END = "all_end"
    ANY = "any"
    QUORUM = "quorum"


class OnFailure(StrEnum):
    """What a join does that can no longer be met."""

    CANCEL = "cancel"
    """It fails; what it still waits for is cancelled, unless somebody else waits for it too."""
    IGNORE = "ignore"
    """It fires when all have ended; failures are left out."""
    COLLECT = "collect"
    """It fires when all have ended; failures are given along."""


class Join(Value, frozen=True):
    """How the end of several jobs becomes the start of one."""

    policy: JoinPolicy = JoinPolicy.ALL_SUCCEED
    quorum: int = 0
    on_failure: OnFailure = OnFailure.CANCEL
    deadline: Micros | None = None
    """Counted from the moment the job begins to wait."""


class NewFlow(Value, frozen=True):
    """A flow as asked for. The id is made by the caller, so that an enqueue may be repeated."""

    id: str
    name: str
    state: Mapping[str, bytes] = {}
    """Its shared state at the start."""
    fields: Mapping[str, FieldValue] = {}
    """Business attributes that people search by."""
    keep: Micros | None = None
    """How long to keep it and its jobs once it has ended; `None` is a day, or 30 if it failed."""


class FlowStep(Value, frozen=True, gc=False):
    """What a completion does to its flow, in the same atomic step."""

    merge: Mapping[str, bytes] = {}
    """Fields written into the flow's shared state."""
    then: tuple[NewJob, ...] = ()
    """Next steps, made in the same flow."""
    spawn: tuple[NewJob, ...] = ()
    """Children to make."""
    publish: str | None = None
    """Children that were staged before under this name belong to `spawn` too."""
    join: Join = Join()
    resume: str | None = None
    """If given, the job does not end: it is held until `join` over its children fires, then runs
    again as this continuation. Without children it waits in line again at once."""


class FlowStatus(StrEnum):
    """How a flow as a whole is doing."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    """A job failed or was cancelled that nobody waited for."""


class FlowInfo(Value, frozen=True):
    """A flow as recorded."""

    id: str
    name: str
    status: FlowStatus
    started_at: Micros
    ended_at: Micros | None
    state: Mapping[str, bytes]
    fields: Mapping[str, FieldValue]
    counts: Mapping[State, int]
    """Jobs by state; states with none are left out."""


class ListFlows(Value, frozen=True):
    """A page of flows that match everything given, the newest first."""

    ids: tuple[str, ...] = ()
    name: str | None = None
    status: FlowStatus | None = None
    fields: Mapping[str, Scalar] = {}
    limit: int = 50
    after: str | None = None
    """The cursor of the page before."""


class Flows(Value, frozen=True):
    """One page. `next` is the cursor of the following one; `None` at the end."""

    items: tuple[FlowInfo, ...]
    now: Micros
    next: str | None = None
