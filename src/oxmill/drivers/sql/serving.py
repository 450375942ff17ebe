"""Serving a gated queue: which job is next, and what stands aside on the way to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Final

from oxmill.drivers.sql.gates import Book, Gates, shut_until, targets_of
from oxmill.drivers.sql.lanes import NO_GROUP, Head, Lane, LaneBook, LaneKey, read_heads, read_lanes
from oxmill.drivers.sql.limits import group_slots
from oxmill.drivers.sql.meters import group_key
from oxmill.drivers.sql.rows import json_text
from oxmill.drivers.sql.steps import Statement, abreast
from oxmill.model.bounds import MAX_PRIORITY
from oxmill.model.rule import Scope
from oxmill.model.value import Micros
from oxmill.store.plan import Steps, ask

MORE: Final = 8
"""So many lanes more than needed are read: some of them may turn out to be closed."""
BEFORE_ALL: Final = (-MAX_PRIORITY - 1, -1, "")
"""The rank from which lanes are read."""


@dataclass(slots=True)
class Errand:
    """What one claim may still do, over all its queues."""

    book: Book
    lanes: LaneBook
    wanted: int
    """Jobs it may still grant."""
    patience: int
    """Lanes it may still park."""
    spare: int
    """Jobs it may still set aside."""
    asides: dict[int, str] = field(default_factory=dict)
    """Jobs that were set aside, with the gate."""
    queues: dict[int, str] = field(default_factory=dict)
    """The queues of these jobs."""
    groups: dict[tuple[str, str], Gates] = field(default_factory=dict)
    """The gates of groups in queues: one of each, whatever lanes stand behind them."""
    cut: bool = False
    """Whether it had to end because it came to more that is closed than one claim may clear away."""

    def park(self, lane: Lane, until: Micros, behind: str | None = None) -> bool:
        """Let a lane stand aside until then; whether that may be done."""
        if self.patience == 0:
            self.cut = True
            return False
        self.patience -= 1
        self.lanes.park(lane, until, behind)
        return True

    def set_aside(self, queue: str, head: Head, gate: str) -> bool:
        """Let a job stand aside; whether that may be done."""
        if self.spare == 0:
            self.cut = True
            return False
        self.spare -= 1
        self.asides[head.seq] = gate
        self.queues[head.seq] = queue
        return True


@dataclass(frozen=True, slots=True)
class Next:
    """The job that a queue would give next, and what stands before it."""

    lane: Lane
    head: Head
    gates: Gates
    """Of the job itself."""


class Front:
    """The lanes of one queue, of all priorities or of one, in the order of serving."""

    def __init__(self, queue: str, errand: Errand, priority: int | None = None) -> None:
        self._queue = queue
        self._errand = errand
        self._settings = errand.book.of(queue)
        self._worst = MAX_PRIORITY if priority is None else priority
        self._read_to = BEFORE_ALL if priority is None else (priority, -1, "")
        self._all_read = False
        self._lanes: list[tuple[tuple[int, int, str], Lane]] = []
        self._served: dict[LaneKey, Lane] = {}

    def peek(self) -> Steps[Next | None]:
        """The job that is next. Lanes and jobs behind closed gates are put out of the way first."""
        errand = self._errand
        while not errand.cut:
            lane = yield from self._first()
            if lane is None:
                return None
            until = shut_until(lane.gates, errand.book.now)
            if until:
                if errand.park(lane, until):
                    self._put_away(lane)
                continue
            if not lane.heads and not lane.whole:
                yield from self._refill(lane)
            if not lane.heads:
                self._put_away(lane)
                errand.lanes.drop(lane)
                continue
            found = self._judged(lane)
            if found is not None:
                return found
        return None

    def take(self, found: Next) -> None:
        """The job just peeked at goes out."""
        errand, lane = self._errand, found.lane
        self._put_away(lane)
        for gate in (*lane.gates, *found.gates):
            gate.enter(errand.book.now)
        errand.lanes.serve(lane, self._settings.group_weights.get(lane.key.group, 1))
        self._served[lane.key] = lane
        if not lane.empty:
            self._put_up(lane)

    def finish(self) -> Steps[None]:
        """See whether lanes are empty that gave every job that was read of them."""
        given = [each for each in self._served.values() if not each.heads and not each.empty]
        # Of some it is known already: they were looked at again together with others.
        unsure = [each for each in given if not each.whole]
        if unsure:
            yield from read_heads(unsure, self._errand.book.now, 1)
        for lane in given:
            if not lane.heads:
                self._errand.lanes.drop(lane)

    def _judged(self, lane: Lane) -> Next | None:
        """The first job of a lane, unless a gate of its own is closed: then it stands aside, or the
        whole lane if that is to stay in order."""
        errand, head = self._errand, lane.heads[0]
        gates = errand.book.of_job(head.task, head.extras)
        closed = [name for name, gate in gates.items() if gate.shut_until(errand.book.now)]
        if not closed:
            return Next(lane, head, tuple(gates.values()))
        if not (self._settings.ordered_groups and lane.key.group != NO_GROUP):
            if errand.set_aside(self._queue, head, closed[0]):
                lane.heads.popleft()
        elif errand.park(lane, shut_until(gates.values(), errand.book.now), closed[0]):
            self._put_away(lane)
        return None

    # -- reading ---------------------------------------------------------------------------------

    def _first(self) -> Steps[Lane | None]:
        """The lane whose turn it is."""
        while not self._all_read and (not self._lanes or self._lanes[0][0] > self._read_to):
            yield from self._read()
        return self._lanes[0][1] if self._lanes else None

    def _put_up(self, lane: Lane) -> None:
        heappush(self._lanes, (lane.rank, lane))

    def _put_away(self, lane: Lane) -> None:
        """The lane is the first of them."""
        first = heappop(self._lanes)[1]
        assert first is lane  # noqa: S101 - only the first is ever looked at

    def _read(self) -> Steps[None]:
        errand = self._errand
        most = errand.wanted + MORE
        lanes = yield from read_lanes(self._queue, self._read_to, self._worst, most)
        self._all_read = len(lanes) < most
        if not lanes:
            return
        self._read_to = lanes[-1].rank
        yield from self._open_gates(lane.key.group for lane in lanes)
        for lane in lanes:
            lane.gates = errand.groups.get((self._queue, lane.key.group), ())
            self._put_up(lane)
        now = errand.book.now
        ready = [lane for lane in lanes if not shut_until(lane.gates, now)]
        if ready:
            # One job more than a lane is likely to give tells whether it is then empty.
            each = max(self._settings.group_weights.values(), default=1)
            share = -(-errand.wanted // len(ready))
            yield from self._read_heads(ready, max(each, share) + 1)

    def _refill(self, lane: Lane) -> Steps[None]:
        """More jobs of a lane that gave all that were read of it, and of those like it."""
        dry = [
            each
            for _, each in self._lanes
            if not each.heads
            and not each.whole
            and not shut_until(each.gates, self._errand.book.now)
        ]
        yield from self._read_heads(dry or [lane], self._errand.wanted + 1)

    def _read_heads(self, lanes: Sequence[Lane], most: int) -> Steps[None]:
        """The next jobs of these lanes, and the rules about them."""
        book = self._errand.book
        yield from read_heads(lanes, book.now, most)
        if book.judges_jobs:
            heads = [head for lane in lanes for head in lane.heads]
            yield from book.look_up(
                target for head in heads for target in targets_of(head.task, head.extras)
            )

    def _open_gates(self, groups: Iterable[str]) -> Steps[None]:
        """What stands before these groups."""
        book, queue, known = self._errand.book, self._queue, self._errand.groups
        new = [g for g in dict.fromkeys(groups) if g != NO_GROUP and (queue, g) not in known]
        if not new:
            return
        ruled = new if book.judges_groups else []
        running, _, _ = yield from abreast(
            self._running(new),
            book.meters.load(group_key(queue, group) for group in new),
            book.look_up((Scope.GROUP.value, group) for group in ruled),
        )
        for group in new:
            known[queue, group] = book.of_group(queue, group, running.get(group, 0))

    def _running(self, groups: Sequence[str]) -> Steps[dict[str, int]]:
        """How many jobs of these groups run, if that matters."""
        if group_slots(self._settings) is None:
            return {}
        asked = {"queue": self._queue, "groups": json_text(groups)}
        return dict((yield from ask(Statement("running_of_groups", asked))))


class GatedQueue:
    """One queue with lanes, limits or rules."""

    def __init__(self, queue: str, errand: Errand, gates: Gates) -> None:
        self.queue = queue
        self.gates = gates
        self._errand = errand
        self._ageing = errand.book.of(queue).ageing
        self._fronts: list[Front] = []
        self._chosen: Front | None = None

    def begin(self) -> Steps[None]:
        """See which priorities there are, if they are to be compared."""
        errand = self._errand
        if self._ageing is None:
            self._fronts = [Front(self.queue, errand)]
            return
        rows = yield from ask(Statement("lane_priorities", {"queue": self.queue}))
        self._fronts = [Front(self.queue, errand, priority) for (priority,) in rows]

    def peek(self) -> Steps[Next | None]:
        """The job that this queue would give next."""
        if shut_until(self.gates, self._errand.book.now):
            return None
        best: tuple[tuple[int, int], Front, Next] | None = None
        for front in self._fronts:
            found = yield from front.peek()
            if found is None:
                continue
            rank = self._aged(found)
            if best is None or rank < best[0]:
                best = rank, front, found
        self._chosen = None if best is None else best[1]
        return None if best is None else best[2]

    def take(self, found: Next) -> None:
        """The job just peeked at goes out."""
        assert self._chosen is not None  # noqa: S101 - somebody peeked
        for gate in self.gates:
            gate.enter(self._errand.book.now)
        self._chosen.take(found)

    def finish(self) -> Steps[None]:
        """See which lanes are empty now."""
        for front in self._fronts:
            yield from front.finish()

    def _aged(self, found: Next) -> tuple[int, int]:
        priority = found.lane.key.priority
        if self._ageing is None:
            return priority, priority
        waited = max(self._errand.book.now - found.head.due_at, 0)
        return priority - waited // self._ageing, priority


class PlainQueue:
    """A queue without gates beside gated ones: its line is served as ever."""

    def __init__(self, queue: str, errand: Errand) -> None:
        self.queue = queue
        self.gates: Gates = ()
        self._errand = errand
        self._heads: list[Next] = []
        self._given = 0

    def begin(self) -> Steps[None]:
        """Read the head of its line."""
        now, most = self._errand.book.now, self._errand.wanted
        asked = {"queue": self.queue, "now": now, "most": most}
        rows = yield from ask(Statement("line_heads", asked))
        self._heads = [
            Next(Lane(LaneKey(NO_GROUP, self.queue, rank), 0, 0), Head(at, seq, "", 0, None), ())
            for rank, at, seq in rows
        ]

    def peek(self) -> Steps[Next | None]:
        """The job that is next."""
        return self._heads[self._given] if self._given < len(self._heads) else None
        yield

    def take(self, found: Next) -> None:  # noqa: ARG002 - it is the first
        """The job just peeked at goes out."""
        self._given += 1

    def finish(self) -> Steps[None]:
        """It has no lanes."""
        return
        yield


Line = GatedQueue | PlainQueue


def serve(lines: list[Line], errand: Errand) -> Steps[list[Next]]:
    """Jobs from these queues: of those that would come next, the best rank goes first."""
    for line in lines:
        yield from line.begin()
    chosen = yield from _choose(lines, errand)
    for line in lines:
        yield from line.finish()
    return chosen


def _choose(lines: list[Line], errand: Errand) -> Steps[list[Next]]:
    chosen: list[Next] = []
    while errand.wanted > 0:
        best: tuple[tuple[int, int], Line, Next] | None = None
        for line in lines:
            found = yield from line.peek()
            if found is None:
                continue
            rank = found.lane.key.priority, found.head.place
            if best is None or rank < best[0]:
                best = rank, line, found
        if best is None or errand.cut:
            return chosen
        _, line, found = best
        line.take(found)
        errand.wanted -= 1
        chosen.append(found)
    return chosen
