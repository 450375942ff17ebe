"""Parts of a driver that few processes use: made, and their code loaded, at the first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

T = TypeVar("T")


class _Late:
    """Stands in for a part, and makes it when something of it is first asked for."""

    def __init__(self, make: Callable[[], object]) -> None:
        self._make = make

    def __getattr__(self, name: str) -> Any:
        mine = self.__dict__
        if "_part" not in mine:
            # Without a lock, which a fork could leave held: two threads may both make one, and use the first.
            mine.setdefault("_part", mine["_make"]())
        return getattr(mine["_part"], name)


def late(make: Callable[[], T]) -> T:
    """What `make` gives, called once, at the first use of it."""
    return cast("T", _Late(make))
