"""Which jobs are calls of a task with certain arguments."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

from oxmill.errors import BadArguments
from oxmill.model.job import Job as Record
from oxmill.queue.codec import ENCODE, decode_plain
from oxmill.queue.gaps import GAPPED, read_gapped
from oxmill.queue.step import Step
from oxmill.queue.task import BaseTask

AnyTask = BaseTask[..., Any]


def calls_like(
    task: AnyTask, args: tuple[Any, ...], kwargs: dict[str, Any], records: Iterable[Record]
) -> list[Record]:
    """The records whose arguments agree with those given; what is not given may be anything."""
    try:
        wanted = _plain(_signature(task).bind_partial(*args, **kwargs).arguments)
    except TypeError as error:
        raise BadArguments(f"{task.name} cannot be called like that: {error}") from None
    return [record for record in records if wanted.items() <= arguments(task, record).items()]


def arguments(task: AnyTask, record: Record) -> dict[str, Any]:
    """The arguments that a run of the job would get, defaults included, as plain JSON values. Where
    results of other jobs are to be filled in there is `None`; a step has no arguments."""
    if isinstance(task, Step):
        return {}
    if record.content_type == GAPPED:
        known: dict[str, Any] = decode_plain(bytes(read_gapped(record.payload).arguments))
        return known
    args, kwargs = task.decode_arguments(record.payload)
    bound = _signature(task).bind(*args, **kwargs)
    bound.apply_defaults()
    return _plain(bound.arguments)


def describe(task: AnyTask, record: Record) -> str:
    """A job as people would write its call, with its state."""
    shown = ", ".join(f"{name}={value!r}" for name, value in arguments(task, record).items())
    trouble = f", {record.error.type}: {record.error.message}" if record.error else ""
    return f"{task.name}({shown}) on {record.queue}: {record.state}{trouble}"


def _signature(task: AnyTask) -> inspect.Signature:
    whole = inspect.signature(task.fn)
    skip = 1 if task.takes_context else 0
    return whole.replace(parameters=list(whole.parameters.values())[skip:])


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _as_json(value) for name, value in values.items()}


def _as_json(value: Any) -> Any:
    """Compared as JSON: a tuple equals a list, a model equals its fields."""
    try:
        return decode_plain(ENCODE(value))
    except TypeError:  # a default that is never stored, such as a sentinel
        return value
