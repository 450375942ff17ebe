"""Performs scripts: generators that yield what is to be sent, and are given what was answered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import TypeVar

Ask = TypeVar("Ask")
Answer = TypeVar("Answer")
T = TypeVar("T")


def perform_blocking(script: Generator[Ask, Answer, T], send: Callable[[Ask], Answer]) -> T:
    """Follow a script to its end. What goes wrong is thrown into it: the script decides."""
    try:
        step = next(script)
        while True:
            try:
                answer = send(step)
            except Exception as error:  # noqa: BLE001 - see above
                step = script.throw(error)
            else:
                step = script.send(answer)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


async def perform_awaiting(
    script: Generator[Ask, Answer, T], send: Callable[[Ask], Awaitable[Answer]]
) -> T:
    """The same without blocking the event loop."""
    try:
        step = next(script)
        while True:
            try:
                answer = await send(step)
            except Exception as error:  # noqa: BLE001 - as above
                step = script.throw(error)
            else:
                step = script.send(answer)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
