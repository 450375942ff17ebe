"""Lanes: the waiting jobs of one group and priority, which take turns with others of their queue.

A claim reads the lanes that come next and the jobs at their heads, serves them in memory, and writes
down what has become of them. It reads a little more than it needs, and again only if that was not
enough.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from oxmill.drivers.sql.gates import Gates
from oxmill.drivers.sql.rows import json_text
from oxmill.drivers.sql.steps import Draw, Many, Rows, Statement, abreast
from oxmill.model.value import Micros
from oxmill.store.plan import Steps, ask

NO_GROUP: Final = ""
"""Stands for the group of jobs that have none."""
LATER: Final = 2**61
"""Above every number drawn so far: turns that begin in this claim."""


class LaneKey(NamedTuple):
    """Names one lane."""

    group: str
    queue: str
    priority: int


class Head(NamedTuple):
    """A job near the head of its lane."""

    place: int
    seq: int
    task: str
    due_at: Micros
    extras: str | None


@dataclass(slots=True)
class Lane:
    """One lane as a claim has found it, and as it leaves it."""

    key: LaneKey
    turn: int
    served: int
    gates: Gates = ()
    heads: deque[Head] = field(default_factory=deque)
    whole: bool = False
    """Whether no job stands behind those in `heads`."""
    read_to: int = -1
    """The place of the last job that was read."""
    opens_at: Micros = 0
    behind: str | None = None
    empty: bool = False

    @property
    def rank(self) -> tuple[int, int, str]:
        """Lanes are served in this order."""
        return self.key.priority, self.turn, self.key.group


class LaneBook:
    """The lanes that one claim has touched."""

    def __init__(self) -> None:
        self._touched: dict[LaneKey, Lane] = {}
        self._turns = 0
        self._numbers: list[int] = []

    def serve(self, lane: Lane, weight: int) -> Head:
        """The first job of a lane goes out; after a whole turn the lane goes behind all others."""
        head = lane.heads.popleft()
        lane.served += 1
        if lane.served >= weight:
            self._turns += 1
            lane.turn, lane.served = LATER + self._turns, 0
        lane.empty = lane.whole and not lane.heads
        self._touch(lane)
        return head

    def park(self, lane: Lane, until: Micros, behind: str | None = None) -> None:
        """A lane stands aside until then."""
        lane.opens_at, lane.behind = until, behind
        self._touch(lane)

    def drop(self, lane: Lane) -> None:
        """A lane was found empty."""
        lane.empty = True
        self._touch(lane)

    def keep(self, keys: Iterable[LaneKey]) -> None:
        """These lanes are not empty after all."""
        for key in keys:
            if key in self._touched:
                self._touched[key].empty = False

    def _touch(self, lane: Lane) -> None:
        self._touched[lane.key] = lane

    def draw(self) -> Steps[None]:
        """Draw a number for each lane that stays and has ended a turn, unless there is one."""
        moved = sum(lane.turn > LATER and not lane.empty for lane in self._touched.values())
        if moved > len(self._numbers):
            more = yield from ask(Draw(moved - len(self._numbers)))
            self._numbers = [*self._numbers, *more]

    def write(self) -> Steps[None]:
        """Write down what has become of the lanes; new turns are numbered in the order of serving."""
        gone = [lane.key for lane in self._touched.values() if lane.empty]
        kept = [lane for lane in self._touched.values() if not lane.empty]
        moved = sorted((lane for lane in kept if lane.turn > LATER), key=lambda lane: lane.turn)
        yield from self.draw()
        for lane, number in zip(moved, self._numbers, strict=True):
            lane.turn = number
        if gone:
            yield from ask(Many("drop_lanes", gone))
        if kept:
            rows = [
                (*lane.key, lane.turn, lane.served, lane.opens_at, lane.behind) for lane in kept
            ]
            yield from ask(Many("put_lanes", rows))


def read_lanes(queue: str, after: tuple[int, int, str], worst: int, most: int) -> Steps[list[Lane]]:
    """The next open lanes of a queue in the order of serving."""
    priority, turn, group = after
    asked = {
        "queue": queue,
        "priority": priority,
        "turn": turn,
        "group_name": group,
        "worst": worst,
        "most": most,
    }
    rows = yield from ask(Statement("lanes_open", asked))
    return [Lane(LaneKey(name, queue, rank), at, served) for name, rank, at, served in rows]


def read_heads(lanes: Sequence[Lane], now: Micros, most: int) -> Steps[None]:
    """The next jobs of these lanes, all of one queue, at most so many of each."""
    by_key = {lane.key: lane for lane in lanes}
    found: dict[LaneKey, int] = dict.fromkeys(by_key, 0)
    queue = lanes[0].key.queue
    asked = {"queue": queue, "now": now, "most": most}
    several = yield from abreast(
        _heads("lane_heads", [lane for lane in lanes if lane.key.group != NO_GROUP], asked),
        _heads("plain_heads", [lane for lane in lanes if lane.key.group == NO_GROUP], asked),
    )
    for rows in several:
        for group, priority, *head in sorted(rows, key=_by_place):
            key = LaneKey(group, queue, priority)
            by_key[key].heads.append(Head(*head))
            found[key] += 1
    for key, lane in by_key.items():
        lane.whole = found[key] < most
        if lane.heads:
            lane.read_to = lane.heads[-1].place


def _heads(name: str, lanes: Sequence[Lane], asked: dict[str, Any]) -> Steps[Rows]:
    if not lanes:
        return []
    wanted = [(lane.key.group, lane.key.priority, lane.read_to) for lane in lanes]
    return (yield from ask(Statement(name, asked | {"lanes": json_text(wanted)})))


def _by_place(row: tuple[Any, ...]) -> int:
    place: int = row[2]
    return place


Newcomer = tuple[str, str, int, int]
"""Group, queue, priority and place of a job that joins a lane."""


def newcomers(jobs: Iterable[tuple[str | None, str, int, int]]) -> list[Newcomer]:
    """One row for each lane that these jobs join, with the place of the first that does."""
    first: dict[LaneKey, int] = {}
    for group, queue, priority, place in jobs:
        if group is not None:
            first.setdefault(LaneKey(group, queue, priority), place)
    return [(group, queue, priority, place) for (group, queue, priority), place in first.items()]


def join_lanes(jobs: Iterable[tuple[str | None, str, int, int]]) -> Steps[None]:
    """Make the lanes that these waiting jobs (group, queue, priority, place) stand in, unless they
    are there. One that stands behind the gate of its head is looked at again: it may have another
    head now."""
    rows = newcomers(jobs)
    if rows:
        yield from ask(Many("join_lanes", rows))


def free_lanes(stopped: Iterable[tuple[str, str]]) -> Steps[None]:
    """Jobs of these groups (group, queue) run no longer or have left the line: lanes open that may
    have waited for that."""
    rows = list(dict.fromkeys(stopped))
    if rows:
        yield from ask(Many("free_lanes", rows))
