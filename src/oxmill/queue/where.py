"""Which jobs: the conditions people give, and the filter the store takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TypedDict, Unpack

from oxmill.errors import BadInput
from oxmill.model.fields import Scalar
from oxmill.model.query import Filter
from oxmill.model.state import State
from oxmill.rules.duration import moment


class Where(TypedDict, total=False):
    """Conditions on jobs; a job must meet all that are given."""

    queue: str | Sequence[str]
    task: str | Sequence[str]
    state: str | Sequence[str]
    """A state's name, or several: `held`, `scheduled`, `waiting`, `running`, `succeeded`, ..."""
    group: str
    tag: str
    fields: Mapping[str, Scalar]
    """A field that is a list is found by each of its values."""
    flow: str
    since: datetime
    """Enqueued at or after this aware time."""
    before: datetime


def as_filter(ids: Sequence[str] = (), **where: Unpack[Where]) -> Filter:
    """The conditions as a filter."""
    unknown = set(where) - Where.__annotations__.keys()
    if unknown:
        known = ", ".join(Where.__annotations__)
        raise BadInput(f"jobs cannot be chosen by {', '.join(sorted(unknown))}; use {known}")
    since, before = where.get("since"), where.get("before")
    return Filter(
        ids=tuple(ids),
        queues=_several(where.get("queue", ())),
        tasks=_several(where.get("task", ())),
        states=tuple(_state(name) for name in _several(where.get("state", ()))),
        group=where.get("group"),
        tag=where.get("tag"),
        fields=looked_for(where.get("fields", {})),
        flow=where.get("flow"),
        since=None if since is None else moment(since),
        before=None if before is None else moment(before),
    )


def looked_for(fields: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Fields to look for: one value each, which a field has or, if it is a list, holds."""
    for name, value in fields.items():
        if not isinstance(value, str | int):
            raise BadInput(
                f"field {name!r} is looked up by one text or whole number, not by {value!r}; a list "
                f"is found by any of its values"
            )
    return dict(fields)


def chosen(ids: Sequence[str], where: Where) -> Filter:
    """The same for calls that change jobs: one that names none by mistake must not mean all."""
    if not ids and not where:
        raise BadInput(
            "say which jobs: give their ids, or conditions such as queue=..., state=... or task=..."
        )
    return as_filter(ids, **where)


def _several(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _state(name: str) -> State:
    try:
        return State(name)
    except ValueError:
        raise BadInput(f"{name!r} is not a state; use one of {', '.join(State)}") from None
