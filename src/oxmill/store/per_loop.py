"""Things of which every event loop has its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

T = TypeVar("T")


class Loop(Protocol):
    """As much of an event loop as is asked here: producers that have none need not import asyncio."""

    def is_closed(self) -> bool:
        """Whether it has ended."""
        ...


class PerLoop(Generic[T]):
    """Keeps one thing for each event loop, from whatever thread; without a lock, which a fork could leave locked.

    Such a thing knows its loop, so a weak reference to that would keep both for ever: a program that calls
    `asyncio.run` again and again would grow. What belongs to loops that have ended goes when another comes.
    """

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: dict[Loop, T] = {}

    def of(self, loop: Loop, make: Callable[[], T]) -> T:
        """That of this loop, in which it is called; made if there is none."""
        kept = self._kept.get(loop)
        if kept is not None:
            return kept
        for each in list(self._kept):
            if each.is_closed():
                self._kept.pop(each, None)
        made = self._kept[loop] = make()
        return made

    def take_all(self) -> list[T]:
        """All of them, which are kept no longer."""
        kept, self._kept = self._kept, {}
        return list(kept.values())
