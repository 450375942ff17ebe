"""Flows: jobs that depend on each other, with one shared state."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

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
    """What a child that fails does to its join."""

    CANCEL = "cancel"
    """The join fails and the siblings are cancelled."""
    IGNORE = "ignore"
    COLLECT = "collect"


class Join(Value, frozen=True):
    """How the end of several jobs becomes the start of one."""

    policy: JoinPolicy = JoinPolicy.ALL_SUCCEED
    quorum: int = 0
    on_failure: OnFailure = OnFailure.CANCEL
    deadline: Micros | None = None


class FlowStep(Value, frozen=True):
    """What a settlement does to its flow, in the same atomic step."""

    merge: Mapping[str, bytes] = {}
    """Fields written into the flow's shared state."""
    spawn: tuple[NewJob, ...] = ()
    """Children to make; the settled job is held until `join` fires, then runs again as `resume`."""
    join: Join = Join()
    resume: str | None = None
    then: NewJob | None = None
    """The next step of a pipeline."""


class FlowInfo(Value, frozen=True):
    """A flow as recorded."""

    id: str
    name: str
    started_at: Micros
    ended_at: Micros | None
    state: Mapping[str, bytes]
    counts: Mapping[str, int]
