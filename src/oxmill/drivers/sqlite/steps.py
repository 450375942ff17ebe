"""The steps that plans for SQLite are made of, and what performs them on a connection."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, TypeVar, cast

from oxmill.store.plan import Plan, Step, Steps, Together
from oxmill.store.statements import load

S = TypeVar("S")
Q = TypeVar("Q")
T = TypeVar("T")

Rows = list[tuple[Any, ...]]

_PACKAGE = "oxmill.drivers.sqlite"
_PARAMETER = re.compile(r"(?<!:):[a-z_]+")


@cache
def statement_text(name: str) -> str:
    """The SQL of one statement file."""
    return load(_PACKAGE, f"sql/{name}.sql")


@cache
def _positional(name: str) -> str:
    """The same with its named parameters by position: binding them is three times as fast."""
    return _PARAMETER.sub("?", statement_text(name))


class Statement(Step[Rows]):
    """Run one statement; the reply is all its rows."""

    __slots__ = ("name", "parameters")

    def __init__(self, name: str, parameters: Mapping[str, Any] | None = None) -> None:
        self.name = name
        self.parameters = parameters or {}


class Many(Step[int]):
    """Run one statement for each row of parameters, given in the order in which the statement
    names them; the reply is the number of rows changed."""

    __slots__ = ("name", "rows")

    def __init__(self, name: str, rows: Iterable[tuple[Any, ...]]) -> None:
        self.name = name
        self.rows = rows


class Look(Step[T]):
    """Look at the open database in a way that is no statement, such as its pragmas."""

    __slots__ = ("act",)

    def __init__(self, act: Callable[[sqlite3.Connection], T]) -> None:
        self.act = act


class Whole(Step[T]):
    """All steps of an operation, undivided.

    Plans that run together take turns step by step, which would let one decide on rows that the
    other is about to change. Here a step costs no round trip, so each operation is one step.
    """

    __slots__ = ("start",)

    def __init__(self, start: Callable[[], Steps[T]]) -> None:
        self.start = start


def operation(
    name: str, *, writes: bool = True
) -> Callable[[Callable[[S, Q], Steps[T]]], Callable[[S, Q], Plan[T]]]:
    """Turn a generator method `(self, request)` into one that returns an undivided `Plan`."""

    def wrap(method: Callable[[S, Q], Steps[T]]) -> Callable[[S, Q], Plan[T]]:
        def make(self: S, request: Q) -> Plan[T]:
            return Plan(name, request, lambda: _undivided(lambda: method(self, request)), writes)

        make.__doc__ = method.__doc__
        make.__name__ = method.__name__
        return make

    return wrap


def _undivided(start: Callable[[], Steps[T]]) -> Steps[T]:
    return cast("T", (yield Whole(start)))


def perform(connection: sqlite3.Connection, steps: Steps[T]) -> T:
    """Perform a plan under way on a connection, inside whatever transaction is open there."""
    reply: Any = None
    while True:
        try:
            step = steps.send(reply)
        except StopIteration as end:
            return cast("T", end.value)
        reply = _reply(connection, step)


def _reply(connection: sqlite3.Connection, step: Step[Any]) -> Any:
    match step:
        case Statement():
            # Always fetch everything: a statement left half-read would keep its locks.
            return connection.execute(statement_text(step.name), step.parameters).fetchall()
        case Many():
            return connection.executemany(_positional(step.name), step.rows).rowcount
        case Whole():
            return perform(connection, step.start())
        case Together():
            return tuple([_reply(connection, each) for each in step.steps])
        case Look():
            return step.act(connection)
        case _:
            raise TypeError(f"{type(step).__name__} is not a step for SQLite")
