"""Where claims begin in a line whose front cannot be cleared away.

A claimed job leaves dead entries at the front of its line's index. As long as any transaction of the
database may still see them (a dump, a forgotten session), every claim steps over all of them, and
each claim adds more. So, when the way through a line was long, the claims of the next moment begin
where the last one ended; then one looks at the whole line again. A job that came in before that
place meanwhile, such as one of a better priority, waits for that moment.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from oxmill.drivers.sql.steps import Rows

_MOMENT: Final = 1.0
"""Seconds for which a floor holds."""
_LONG: Final = 4_000, 60
"""Microseconds for a claim, and for each job it got, above which the way was long."""

_QUEUE, _PRIORITY, _PLACE = 2, 6, 15


class Floor(NamedTuple):
    """A rank below which nothing is looked for until then."""

    priority: int
    place: int
    until: float


class Floors:
    """The floors of one driver, by queue. Mostly there are none."""

    __slots__ = ("_floors",)

    def __init__(self) -> None:
        self._floors: dict[str, Floor] = {}

    def under(self, queues: Sequence[str]) -> dict[str, Any]:
        """The parameters that say where a claim begins."""
        if not self._floors:
            return {"priorities": None, "places": None, "tending": True}
        now = time.monotonic()
        floors = [self._floors.get(queue) for queue in queues]
        if not any(floor is not None and floor.until > now for floor in floors):
            return {"priorities": None, "places": None, "tending": True}
        return {
            "priorities": [None if floor is None else floor.priority for floor in floors],
            "places": [None if floor is None else floor.place for floor in floors],
            "tending": False,
        }

    def learn(self, queues: Sequence[str], granted: Rows, cost: int, *, full: bool) -> None:
        """Draw conclusions from a claim, whose jobs are given in the order of their rank."""
        held = [self._floors[queue].until for queue in queues if queue in self._floors]
        now = time.monotonic()
        first, each = _LONG
        if not full:
            until = 0.0
        elif cost > first + each * len(granted):
            until = now + _MOMENT
        else:
            until = max(held, default=0.0)
        for queue in queues:
            self._floors.pop(queue, None)
        if until > now:
            last = {row[_QUEUE]: Floor(row[_PRIORITY], row[_PLACE], until) for row in granted}
            self._floors.update(last)
