"""What the database keeps about flows: the rows of jobs in flows, of edges, stages and ripples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, Final

import msgspec

from oxmill.model.flow import Join
from oxmill.model.value import Micros

IN_FLOW: Final = -1
"""The `keep` of a job that is kept as long as its flow. It tells jobs of flows from others, so that
every short way for plain jobs leaves them out."""

_encode: Final = msgspec.json.Encoder().encode
_join_of: Final = msgspec.json.Decoder(Join).decode
_names_of: Final = msgspec.json.Decoder(tuple[str, ...]).decode


def names_text(names: Sequence[str] | None) -> str | None:
    """Names as stored; `None` for none at all."""
    return None if names is None else _encode(names).decode()


def names_in(text: str | None) -> tuple[str, ...]:
    """The names that were stored."""
    return () if text is None else _names_of(text)


def join_text(join: Join | None) -> str | None:
    """A join as stored; `None` for the usual one."""
    return None if join is None or join == Join() else _encode(join).decode()


def join_in(text: str | None) -> Join:
    """The join that was stored."""
    return Join() if text is None else _join_of(text)


@dataclass(slots=True)
class Node:
    """A job as a part of its flow, in the order of the columns."""

    job: int
    """The job's number of arrival."""
    id: str
    flow: str
    parent: str | None = None
    stage: str | None = None
    """The stage it is in, until that has let it go."""
    staged: int = 0
    """Whether the stage holds it."""
    member: str | None = None
    """The stage under which it was last staged as a child."""
    member_no: int = 0
    reads: str | None = None
    after_ids: str | None = None
    after_join: str | None = None
    waiting: int = 0
    """Whether it is held for a join."""
    round: int = 0
    wait_join: str | None = None
    succeeded: int = 0
    failed: int = 0
    open: int = 0
    deadline_at: Micros | None = None
    resume: str | None = None

    @property
    def reads_names(self) -> tuple[str, ...] | None:
        """The fields of the state that it reads; `None` if it is not told of the state."""
        return None if self.reads is None else names_in(self.reads)

    def written(self) -> tuple[Any, ...]:
        """The parameters of `put_node`."""
        return tuple([getattr(self, name) for name in _COLUMNS])


_COLUMNS: Final = tuple(field.name for field in fields(Node))


def nodes(rows: Iterable[Sequence[Any]]) -> list[Node]:
    """Rows as nodes."""
    return [Node(*row) for row in rows]


@dataclass(slots=True)
class StageRow:
    """Jobs that are held until they are published together."""

    name: str
    flow: str
    touched_at: Micros
    published: int = 0
    live: int = 0

    def written(self) -> tuple[Any, ...]:
        """The parameters of `put_stage`."""
        return (self.name, self.flow, self.touched_at, self.published, self.live)


class Kind(StrEnum):
    """What a ripple does, one unit at a time."""

    CLOSE = "close"
    SHED = "shed"
    FREE = "free"


@dataclass(slots=True)
class Ripple:
    """Work that an end or a publication has set off."""

    kind: Kind
    target: str
    """The job that ended, the job whose join is over, or the stage."""
    ok: int = 0
    round: int = 0
    past: int = -1
    n: int | None = None
    """Its number, if it was left for sweeps before."""

    def written(self) -> tuple[Any, ...]:
        """The parameters of `add_ripple`."""
        return (self.kind.value, self.target, self.ok, self.round, self.past)
