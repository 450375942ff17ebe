"""Where claims begin in a line whose front cannot be cleared away.

A claimed job leaves dead entries at the front of its line's index. As long as any transaction of the
database may still see them (a dump, a forgotten session), every claim steps over all of them, and
each claim adds more. So, when the way through a line was long twice in a row, the claims of the next
moment begin where the last one ended; then one looks at the whole line again. A job that came in
before that place meanwhile, such as one of a better priority, waits for that moment. The same holds
for looking after lapsed, due and expired jobs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from oxmill.drivers.sql.steps import Rows

_MOMENT: Final = 1.0
"""Seconds for which a floor holds."""
_LONG: Final = 3_000
"""Entries read beyond the jobs granted that make a way long."""

_QUEUE, _PRIORITY, _PLACE = 2, 6, 15


class Floor(NamedTuple):
    """A rank below which nothing is looked for."""

    priority: int
    place: int


class _Line:
    """What is known about the way through the lines of some queues."""

    __slots__ = ("floors", "long", "tend_at", "until")

    def __init__(self) -> None:
        self.long = 0
        """Full looks in a row that were long."""
        self.until = 0.0
        """Until then claims begin at the floors."""
        self.tend_at = 0.0
        """Until then nothing is tended to."""
        self.floors: dict[str, Floor] = {}


class Floors:
    """What one driver knows about its queues. Mostly, there is nothing to know."""

    __slots__ = ("_clock", "_lines")

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lines: dict[tuple[str, ...], _Line] = {}

    def under(self, queues: Sequence[str]) -> dict[str, Any]:
        """The parameters that say where a claim begins, and whether it tends to anything."""
        line = self._lines.get(tuple(queues))
        if line is None:
            return {"priorities": None, "places": None, "tending": True}
        now = self._clock()
        floors = [line.floors.get(queue) for queue in queues] if line.until > now else None
        return {
            "priorities": floors and [floor and floor.priority for floor in floors],
            "places": floors and [floor and floor.place for floor in floors],
            "tending": line.tend_at <= now,
        }

    def learn(self, queues: Sequence[str], granted: Rows, steps: Sequence[int]) -> None:
        """Draw conclusions from a claim: its jobs in the order of their rank, and how many entries
        were read for the line and for what to tend to."""
        through_line, for_tending = steps
        long = through_line - len(granted) > _LONG
        name = tuple(queues)
        line = self._lines.get(name)
        if line is None:
            if not long and for_tending <= _LONG:
                return
            line = self._lines[name] = _Line()
        now = self._clock()
        if for_tending > _LONG:
            line.tend_at = now + _MOMENT
        if line.until <= now:
            line.long = line.long + 1 if long else 0
            line.floors = {}
            if line.long > 1:
                line.until = now + _MOMENT
        elif long:
            line.until = 0.0  # it got too few and looked at the whole line
        for row in granted if line.until > now else ():
            line.floors[row[_QUEUE]] = Floor(row[_PRIORITY], row[_PLACE])
        if not line.long and line.tend_at <= now:
            self._lines.pop(name, None)
