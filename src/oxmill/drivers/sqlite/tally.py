"""Counts that are kept in step with the jobs, so that nobody has to count."""

from __future__ import annotations

from oxmill.drivers.sqlite.steps import Many
from oxmill.model.state import State
from oxmill.store.plan import Steps, ask


class Tally:
    """By how much one operation changes the counts; written once, at its end."""

    __slots__ = ("_changes",)

    def __init__(self) -> None:
        self._changes: dict[tuple[str, State], list[int]] = {}

    def add(self, queue: str, state: State, n: int, ends: int = 0) -> None:
        """So many jobs came into a state, or left it; so many ended in it."""
        change = self._changes.get((queue, state))
        if change is None:
            self._changes[queue, state] = [n, ends]
        else:
            change[0] += n
            change[1] += ends

    def move(self, queue: str, before: State, after: State, n: int = 1) -> None:
        """So many jobs of a queue went from one state to another."""
        self.add(queue, before, -n)
        self.add(queue, after, n)

    def write(self) -> Steps[None]:
        """Write down what has changed."""
        rows = [
            (queue, state.value, n, ends)
            for (queue, state), (n, ends) in self._changes.items()
            if n or ends
        ]
        if rows:
            yield from ask(Many("add_tallies", rows))
