"""Counts that are kept in step with the jobs, so that nobody has to count."""

from __future__ import annotations

from oxmill.drivers.sql.steps import Tallied
from oxmill.model.state import State
from oxmill.store.plan import Steps, ask


class Tally:
    """By how much one operation changes the counts."""

    __slots__ = ("_changes",)

    def __init__(self) -> None:
        # Keyed by plain strings: members of an enumeration are slow to hash.
        self._changes: dict[tuple[str, str], list[int]] = {}

    def add(self, queue: str, state: State, n: int, ends: int = 0) -> None:
        """So many jobs came into a state, or left it; so many ended in it."""
        key = (queue, state._value_)
        change = self._changes.get(key)
        if change is None:
            self._changes[key] = [n, ends]
        else:
            change[0] += n
            change[1] += ends

    def move(self, queue: str, before: State, after: State, n: int = 1) -> None:
        """So many jobs of a queue went from one state to another."""
        self.add(queue, before, -n)
        self.add(queue, after, n)

    def write(self) -> Steps[None]:
        """Have it written with the transaction."""
        if self._changes:
            yield from ask(self.written())

    def written(self) -> Tallied:
        """The step that does so."""
        return Tallied(self._changes)
