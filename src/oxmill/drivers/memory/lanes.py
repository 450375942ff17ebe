"""Lanes: where a waiting job stands, and whose turn it is (decision 0060)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from oxmill.drivers.memory.line import Line
from oxmill.drivers.memory.record import Record

LaneKey = tuple[int, str | None]
"""Within a queue: (priority, group)."""


@dataclass(slots=True)
class Lane:
    """The jobs of one queue, group and priority that are in line, and their turn."""

    priority: int
    group: str | None
    turn: int
    """From the counter of places; among the lanes of a priority the smallest is next."""
    served: int = 0
    """Jobs given in this turn so far."""

    @property
    def key(self) -> LaneKey:
        """Its name within its queue."""
        return (self.priority, self.group)

    @property
    def next(self) -> tuple[int, bool, str]:
        """What lanes of one priority are ordered by. Turns are equal only if the job that made one
        lane was moved to another; then the lane of no group is first, then the group's name."""
        return (self.turn, self.group is not None, self.group or "")


class Lanes:
    """Every lane of every queue.

    The lane of a group is made by the first job that joins it. That of no group is made by claims
    that need one. Only claims drop lanes.
    """

    def __init__(self) -> None:
        self._standing: defaultdict[str, dict[LaneKey, Line]] = defaultdict(dict)
        self._lanes: defaultdict[str, dict[LaneKey, Lane]] = defaultdict(dict)

    def join(self, record: Record) -> None:
        """A job takes its place in its lane."""
        line = self._standing[record.queue].setdefault(_key(record), Line())
        line.add((0, record.place, record.id))

    def ensure(self, record: Record) -> None:
        """The lane of a job of a group is made, unless it is there."""
        if record.group is not None and self.at(record.queue, _key(record)) is None:
            self._make(record.queue, _key(record), record.place)

    def leave(self, record: Record) -> None:
        """A job leaves its lane. The lane stays, even without jobs."""
        standing, key = self._standing[record.queue], _key(record)
        standing[key].remove((0, record.place, record.id))
        if not len(standing[key]):
            del standing[key]

    def drop(self, queue: str, key: LaneKey) -> None:
        """Drop a lane."""
        del self._lanes[queue][key]

    def of(self, queue: str) -> list[Lane]:
        """The lanes of a queue, best priority first, then by turn."""
        lanes = self._lanes[queue].values()
        return sorted(lanes, key=lambda lane: (lane.priority, lane.next))

    def at(self, queue: str, key: LaneKey) -> Lane | None:
        """This lane, if it is there."""
        return self._lanes[queue].get(key)

    def ids(self, queue: str, key: LaneKey) -> list[str]:
        """The jobs in a lane, in order."""
        line = self._standing[queue].get(key)
        return [] if line is None else [job_id for _, _, job_id in line]

    def make_plain(self, queue: str) -> None:
        """Make a lane wherever jobs stand without one, with the place of the first as its turn."""
        for key, line in self._standing[queue].items():
            first = line.first()
            if first is not None and self.at(queue, key) is None:
                self._make(queue, key, first[1])

    def grouped(self, queue: str) -> bool:
        """Whether a group has a lane in this queue."""
        return any(group is not None for _, group in self._lanes[queue])

    def queues_of(self, group: str) -> list[str]:
        """The queues with a lane of this group."""
        return sorted(
            queue for queue, lanes in self._lanes.items() if any(g == group for _, g in lanes)
        )

    def _make(self, queue: str, key: LaneKey, turn: int) -> None:
        priority, group = key
        self._lanes[queue][key] = Lane(priority=priority, group=group, turn=turn)


def _key(record: Record) -> LaneKey:
    return (record.priority, record.group)
