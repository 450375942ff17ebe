"""An ordered set: the line of waiting jobs, the list of due times."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator

Key = tuple[int, int, str]


class Line:
    """Keys in ascending order, each ending in a job id."""

    __slots__ = ("_keys",)

    def __init__(self) -> None:
        self._keys: list[Key] = []

    def add(self, key: Key) -> None:
        """Put a key in its place."""
        insort(self._keys, key)

    def remove(self, key: Key) -> None:
        """Take a key out; it must be there."""
        index = bisect_left(self._keys, key)
        if index == len(self._keys) or self._keys[index] != key:
            raise KeyError(key)
        del self._keys[index]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def first(self) -> Key | None:
        """The smallest key, if any."""
        return self._keys[0] if self._keys else None
