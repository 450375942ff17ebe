"""Shortcuts: whole operations in one round trip, commit included.

Its statements decide by themselves whether the usual case is at hand, and do nothing otherwise;
then the operation goes the long way, step by step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar, cast

from oxmill.drivers.sql.steps import Rows, Start, Statement, Whole
from oxmill.store.plan import Step, Steps

T = TypeVar("T")


class Result(NamedTuple):
    """What one statement gave."""

    rows: Rows
    affected: int
    insert_id: int


class Ahead:
    """What was read before it was asked for. It holds until something is written."""

    def reply(self, step: Statement) -> Rows | None:
        """The rows of a statement, or `None` if they are not known."""
        raise NotImplementedError

    def drawn(self, n: int) -> range | None:  # noqa: ARG002 - most draw nothing
        """So many numbers that were drawn, or `None`."""
        return None


class Shortcut(Step[T | None], Generic[T]):
    """Statements that may do it all. They know the moment as `@oxmill_now`, and leave
    `@oxmill_ready` false if they did not do it, so that what follows them does nothing either."""

    __slots__ = ()

    goes_on: ClassVar[bool] = False
    """Whether the long way follows in any case. Then the transaction stays open for it, and the last
    statement tells the moment."""

    def statements(self) -> list[bytes]:
        """What to send."""
        raise NotImplementedError

    def ahead(self, results: Sequence[Result]) -> Ahead | None:  # noqa: ARG002 - most look at nothing
        """What it has read of which the long way will ask."""
        return None

    def answer(self, results: Sequence[Result]) -> T | None:
        """What came of it, from one result per statement; `None` if nothing was done."""
        raise NotImplementedError


class Last(Whole[T]):
    """What an operation ends with: it may ask, but nothing is written after it."""

    __slots__ = ()


class HotStart(Start[T], frozen=True):
    """An operation that tries its shortcut first, also beside another operation."""

    def __call__(self) -> Steps[T]:
        """The shortcut; if that does not do, all steps as one."""
        step = cast("Step[Any]", self.shortcut)
        reply = yield step
        if reply is not None:
            return (yield from self.completed(cast("T", reply)))
        return cast("T", (yield Whole(self.steps)))

    def completed(self, answer: T) -> Steps[T]:
        """The answer of the shortcut, with what it could not tell."""
        return answer
        yield
