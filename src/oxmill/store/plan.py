"""Plans: what an operation does to the store, written once and without I/O.

An operation is a generator that yields steps and is sent their replies; it returns the answer.
A blocking and an async transport perform the same plan, so no operation is written twice:

    @plan("settle")
    def settle(self, request: Settle) -> Steps[tuple[Settled, ...]]:
        rows = yield from ask(Statement(...))
        ...
        return answers

A `Plan` is a value: it may be started any number of times. A transport starts it again after a
conflict, and the SQLite writer runs the plans of many callers inside one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

R = TypeVar("R")
T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")
S = TypeVar("S")
Q = TypeVar("Q")


class Step(Generic[R]):
    """One thing to ask of a store; `R` is the type of its reply. Each driver has its own kinds."""

    __slots__ = ()


Steps = Generator[Step[Any], Any, T]
"""A plan under way."""


def ask(step: Step[R]) -> Steps[R]:
    """Yield one step and give back its reply with the right type."""
    return (yield step)  # type: ignore[no-any-return]


class Plan(msgspec.Struct, Generic[T], frozen=True):
    """One atomic operation, ready to be performed.

    `writes` is false for plans that only read: they may run beside the writer.
    """

    name: str
    request: object
    start: Callable[[], Steps[T]]
    writes: bool = True


def plan(
    name: str, *, writes: bool = True
) -> Callable[[Callable[[S, Q], Steps[T]]], Callable[[S, Q], Plan[T]]]:
    """Turn a generator method `(self, request)` into one that returns a `Plan`."""

    def wrap(method: Callable[[S, Q], Steps[T]]) -> Callable[[S, Q], Plan[T]]:
        def make(self: S, request: Q) -> Plan[T]:
            return Plan(name, request, lambda: method(self, request), writes)

        make.__doc__ = method.__doc__
        make.__name__ = method.__name__
        return make

    return wrap


@dataclass(frozen=True, slots=True)
class Together(Step[tuple[Any, ...]]):
    """Several steps that may travel in one round trip. They take effect in this order."""

    steps: tuple[Step[Any], ...]


def together(first: Plan[A], second: Plan[B]) -> Plan[tuple[A, B]]:
    """One plan that performs both, `first` before `second`, sharing round trips.

    A busy worker settles the last batch and claims the next this way.
    """
    return Plan(
        f"{first.name}+{second.name}",
        (first.request, second.request),
        lambda: _abreast(first.start(), second.start()),
        first.writes or second.writes,
    )


def _abreast(one: Steps[A], two: Steps[B]) -> Steps[tuple[A, B]]:
    asked_one, answer_one = _advance(one, None)
    asked_two, answer_two = _advance(two, None)
    while asked_one is not None and asked_two is not None:
        reply_one, reply_two = yield Together((asked_one, asked_two))
        asked_one, answer_one = _advance(one, reply_one)
        asked_two, answer_two = _advance(two, reply_two)
    while asked_one is not None:
        asked_one, answer_one = _advance(one, (yield asked_one))
    while asked_two is not None:
        asked_two, answer_two = _advance(two, (yield asked_two))
    return answer_one, answer_two


def _advance(steps: Steps[Any], reply: Any) -> tuple[Step[Any] | None, Any]:
    try:
        return steps.send(reply), None
    except StopIteration as end:
        return None, end.value
