"""The steps that plans for SQL databases are made of.

A statement is named, not written here: each driver has its own text for it, with the same
parameters and columns. A parameter that holds many values is JSON text. Times are integers in
microseconds, `seq` is the number of arrival.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any, Final, Generic, TypeVar, cast

import msgspec

from oxmill.model.job import Enqueued, NewJob
from oxmill.model.value import Micros
from oxmill.store.plan import Plan, Step, Steps

S = TypeVar("S")
Q = TypeVar("Q")
T = TypeVar("T")

Rows = list[tuple[Any, ...]]

_NONE: Mapping[str, Any] = {}


class Now(Step[Micros]):
    """The store's time; a worker's own does not matter."""

    __slots__ = ()


NOW: Final = Now()


class Overtaken(Exception):
    """Another operation was faster, in a way that locks do not prevent. The transport rolls back
    and starts the plan again, which then sees what the other has done."""


class Statement(Step[Rows]):
    """Run one statement; the reply is all its rows.

    `counts` if it reads the counts. `locks` if the operation decides by the jobs (`j`) or keys (`k`)
    that it reads: nobody else may change them before the operation is done. `alone` if it only
    reads, and may as well be run after the operation.
    """

    __slots__ = ("alone", "counts", "locks", "name", "parameters")

    def __init__(
        self,
        name: str,
        parameters: Mapping[str, Any] = _NONE,
        *,
        counts: bool = False,
        locks: bool = False,
        alone: bool = False,
    ) -> None:
        self.name = name
        self.parameters = parameters
        self.counts = counts
        self.locks = locks
        self.alone = alone


class Many(Step[int]):
    """Run one statement for each row of parameters, given in the order in which the statement
    names them; the reply is the number of rows changed. `sure` if all are going to be, for all that is
    known, and the operation starts again otherwise: then a store need not wait for the reply."""

    __slots__ = ("name", "rows", "sure")

    def __init__(self, name: str, rows: Sequence[tuple[Any, ...]], *, sure: bool = False) -> None:
        self.name = name
        self.rows = rows
        self.sure = sure


class Guard(Step[None]):
    """Keep others from deciding by the gates of these queues before the operation is done; or, without
    queues, from deciding by rules on anything but queues. Where there is one writer, nobody does."""

    __slots__ = ("queues",)

    def __init__(self, queues: Sequence[str] | None) -> None:
        self.queues = queues


class Enter(Step[None]):
    """Guard the gates of these queues for a claim, and take in what has happened to their lanes."""

    __slots__ = ("queues",)

    def __init__(self, queues: Sequence[str]) -> None:
        self.queues = queues


class Fresh(msgspec.Struct, Step[tuple[Enqueued, ...] | None], frozen=True, gc=False):
    """Store new jobs of which none has a unique key: the usual case, by the shortest way the store
    has. If the id of any of them is taken nothing is stored, and the reply is `None`."""

    jobs: Sequence[NewJob]


class Draw(Step[Sequence[int]]):
    """Draw so many numbers, ascending and never drawn before: of arrival, or places at the end of the
    line."""

    __slots__ = ("n",)

    def __init__(self, n: int) -> None:
        self.n = n


class Tallied(Step[None]):
    """Change counts by (n, ends), keyed by (queue, state)."""

    __slots__ = ("changes",)

    def __init__(self, changes: Mapping[tuple[str, str], Sequence[int]]) -> None:
        self.changes = changes


class Wave(Step[tuple[Any, ...]]):
    """Several steps of one operation, of which none needs the reply to another; the reply is theirs,
    in order. They take effect in this order, in one round trip where the store can do that."""

    __slots__ = ("steps",)

    def __init__(self, steps: Sequence[Step[Any]]) -> None:
        self.steps = steps


class Look(Step[T]):
    """Look at the open database in a way of its own that is no statement."""

    __slots__ = ("act",)

    def __init__(self, act: Callable[[Any], T]) -> None:
        self.act = act


class Whole(Step[T]):
    """All steps of an operation, undivided.

    Plans that run together take turns step by step, which would let one decide on rows that the
    other is about to change. So each operation is one step, performed in one transaction.
    """

    __slots__ = ("start",)

    def __init__(self, start: Callable[[], Steps[T]]) -> None:
        self.start = start


class Start(msgspec.Struct, Generic[T], frozen=True):
    """How an operation is started: undivided, or step by step by who performs nothing beside it."""

    method: Callable[[Any, Any], Steps[T]]
    owner: Any
    request: Any
    shortcut: Step[T | None] | None = None
    """A step that may do it all: unless its reply is `None`, that is the answer."""

    def __call__(self) -> Steps[T]:
        """All of them as one step."""
        return cast("T", (yield Whole(self.steps)))

    def steps(self) -> Steps[T]:
        """The steps one by one."""
        return self.method(self.owner, self.request)


def abreast(*parts: Steps[Any]) -> Steps[tuple[Any, ...]]:
    """Follow several parts of one operation side by side: the next step of each makes a wave. What
    they give, in order. None may need what another does."""
    answers: list[Any] = [None] * len(parts)
    replies: dict[int, Any] = dict.fromkeys(range(len(parts)))
    while True:
        asked: dict[int, Step[Any]] = {}
        for number, reply in replies.items():
            try:
                asked[number] = parts[number].send(reply)
            except StopIteration as end:
                answers[number] = end.value
        if len(asked) > 1:
            replies = yield from _wave(asked)
        elif asked:
            ((number, step),) = asked.items()
            replies = {number: (yield step)}
        else:
            return tuple(answers)


def _wave(asked: Mapping[int, Step[Any]]) -> Steps[dict[int, Any]]:
    """Perform these steps as one wave, those of waves among them included."""
    steps: list[Step[Any]] = []
    for step in asked.values():
        steps += step.steps if isinstance(step, Wave) else [step]
    found = iter((yield Wave(steps)))
    return {
        number: tuple(islice(found, len(step.steps))) if isinstance(step, Wave) else next(found)
        for number, step in asked.items()
    }


def operation(
    name: str, *, writes: bool = True
) -> Callable[[Callable[[S, Q], Steps[T]]], Callable[[S, Q], Plan[T]]]:
    """Turn a generator method `(self, request)` into one that returns an undivided `Plan`."""

    def wrap(method: Callable[[S, Q], Steps[T]]) -> Callable[[S, Q], Plan[T]]:
        def make(self: S, request: Q) -> Plan[T]:
            return Plan(name, request, Start(method, self, request), writes)

        make.__doc__ = method.__doc__
        make.__name__ = method.__name__
        return make

    return wrap
