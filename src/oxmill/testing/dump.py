"""Everything that a store tells about itself, as one value to compare."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from oxmill.errors import NotSupported
from oxmill.model.flow import FlowInfo, ListFlows
from oxmill.model.info import (
    Event,
    EventsAfter,
    ListQueues,
    ListWorkers,
    QueueInfo,
    WorkerInfo,
)
from oxmill.model.job import Job
from oxmill.model.query import Find, Get
from oxmill.model.schedule import ListSchedules, ScheduleInfo
from oxmill.model.state import State
from oxmill.model.value import Micros, Value

Do = Callable[[Value], Any]
"""Performs a request and gives its answer."""


class Dump(Value, frozen=True):
    """The whole store as seen through its contract."""

    now: Micros
    jobs: tuple[Job, ...]
    """In full, newest arrival first."""
    queues: tuple[QueueInfo, ...]
    flows: tuple[FlowInfo, ...]
    """Newest first; none where the store does not do flows."""
    schedules: tuple[ScheduleInfo, ...]
    workers: tuple[WorkerInfo, ...]
    events: tuple[Event, ...]


def dump(do: Do) -> Dump:
    """Look at everything. The store should be at rest: this takes several looks."""
    queues, jobs = do(ListQueues()), all_jobs(do)
    grouped = {job.queue for job in jobs if job.group is not None and job.state is State.WAITING}
    return Dump(
        now=queues.now,
        jobs=jobs,
        queues=tuple(_without_head(q) if q.name in grouped else q for q in queues.items),
        flows=all_flows(do),
        schedules=do(ListSchedules(limit=100_000)).items,
        workers=do(ListWorkers()).items,
        events=do(EventsAfter(limit=100_000)),
    )


def _without_head(queue: QueueInfo) -> QueueInfo:
    """Where groups wait, a store may know the oldest of each, but not of all."""
    return msgspec.structs.replace(queue, oldest_waiting=None)


def all_jobs(do: Do) -> tuple[Job, ...]:
    """Every job in full, newest arrival first, gathered page by page."""
    jobs: list[Job] = []
    cursor: str | None = None
    while True:
        page = do(Find(limit=500, after=cursor))
        jobs += do(Get(ids=tuple(job.id for job in page.jobs)))
        if (cursor := page.next) is None:
            return tuple(jobs)


def all_flows(do: Do) -> tuple[FlowInfo, ...]:
    """Every flow, newest first, gathered page by page."""
    flows: list[FlowInfo] = []
    cursor: str | None = None
    while True:
        try:
            page = do(ListFlows(limit=500, after=cursor))
        except NotSupported:
            return ()
        flows += page.items
        if (cursor := page.next) is None:
            return tuple(flows)


def differences(one: Dump, other: Dump) -> list[str]:
    """Where two dumps differ, a line for each value: what it is, and both sides."""
    found: list[str] = []
    for name in Dump.__struct_fields__:
        a, b = getattr(one, name), getattr(other, name)
        if a == b:
            continue
        if not isinstance(a, tuple):
            found.append(f"{name}: {a!r} != {b!r}")
            continue
        if len(a) != len(b):
            found.append(
                f"{name}: {[_title(each) for each in a]} != {[_title(each) for each in b]}"
            )
        found += [
            f"{name} {_title(left)}: {difference}"
            for left, right in zip(a, b, strict=False)
            for difference in _fields(left, right)
        ]
    return found


def _title(value: Any) -> str:
    for name in ("id", "name", "seq"):
        if hasattr(value, name):
            return str(getattr(value, name))
    return str(value.schedule.name)


def _fields(left: Any, right: Any) -> list[str]:
    return [
        f"{name} {getattr(left, name)!r} != {getattr(right, name)!r}"
        for name in left.__struct_fields__
        if getattr(left, name) != getattr(right, name)
    ]
