"""Which jobs one claim is given: lanes take turns, and what is closed is passed by."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from oxmill.drivers.memory.gates import (
    Gate,
    closed_gate,
    group_gates,
    is_gated,
    is_open,
    is_ordered,
    moments,
    own_gates,
    queue_gates,
    rule_gate,
    settings_of,
    spend,
)
from oxmill.drivers.memory.lanes import Lane
from oxmill.drivers.memory.record import Record
from oxmill.drivers.memory.world import World, rank
from oxmill.model.rule import RuleKey
from oxmill.model.value import Micros

_BEHIND: Final = 1 << 60
"""Behind every lane that has not had its turn in this claim."""


class Serving:
    """One claim, choosing."""

    def __init__(self, world: World, queues: list[str], now: Micros) -> None:
        self._world = world
        self._queues = queues
        self._now = now
        for queue in queues:
            bring_back(world, queue, now)
        self._gated = {queue for queue in queues if is_gated(world, queue, now)}
        self._turns = 0
        self._to_set_aside = world.bounds.cleanup_jobs
        self.cut = False
        """Whether it had to end because it came to more closed jobs than it may set aside."""

    def choose(self, limit: int, grant: Callable[[Record], None]) -> list[Record]:
        """Grant up to this many jobs, one after the other, each the best that may start."""
        for queue in self._gated:
            self._world.lanes.make_plain(queue)
        chosen: list[Record] = []
        while len(chosen) < limit:
            heads = [head for queue in self._queues if (head := self._next(queue)) is not None]
            if self.cut or not heads:
                break
            best = min(heads, key=rank)
            grant(best)
            self._served(best)
            chosen.append(best)
        self._draw_turns()
        return chosen

    def moments(self) -> Iterator[Micros]:
        """When gates open that keep jobs of these queues back, as far as time alone opens them."""
        world, now = self._world, self._now
        if self.cut:
            yield now
        for queue in self._queues:
            closed = list(queue_gates(world, queue, now))
            if not is_open(closed):
                yield from moments(closed)
                continue
            for lane in world.lanes.of(queue):
                gates = list(group_gates(world, queue, lane.group, now))
                # Behind a closed gate of the group nobody comes to those of the head.
                yield from moments(self._keeping_back(queue, lane) if is_open(gates) else gates)
            for record in world.set_aside(queue):
                gate = rule_gate(world, _gate_of(record), now)
                yield from [now] if gate is None or gate.room else moments([gate])

    # --- lanes ------------------------------------------------------------------------------------

    def _next(self, queue: str) -> Record | None:
        """The job of this queue that comes next, if one may start."""
        world, now = self._world, self._now
        if queue not in self._gated:
            ids = (key[2] for key in world.lines[queue])
            return next((r for i in ids if not too_late(r := world.jobs[i], now)), None)
        if not is_open(queue_gates(world, queue, now)):
            return None
        ageing = settings_of(world, queue).ageing
        heads: dict[int, Record] = {}
        for lane in world.lanes.of(queue):
            if lane.priority in heads or not is_open(group_gates(world, queue, lane.group, now)):
                continue
            head = self._head(queue, lane)
            if self.cut:
                return None
            if head is not None:
                if ageing is None:
                    return head
                heads[lane.priority] = head
        return min(heads.values(), key=lambda record: aged(record, ageing or 1, now), default=None)

    def _head(self, queue: str, lane: Lane) -> Record | None:
        """The first job of an open lane that may start; closed ones before it are set aside."""
        world = self._world
        ids = world.lanes.ids(queue, lane.key)
        for job_id in ids:
            record = world.jobs[job_id]
            if too_late(record, self._now):
                continue
            gate = closed_gate(world, record, self._now)
            if gate is None:
                return record
            if is_ordered(world, record):
                return None
            if self._to_set_aside == 0:
                self.cut = True
                return None
            self._to_set_aside -= 1
            world.put_aside(record, gate)
        if not world.lanes.ids(queue, lane.key):
            world.lanes.drop(queue, lane.key)
        return None

    def _served(self, record: Record) -> None:
        world, queue = self._world, record.queue
        if queue not in self._gated:
            return
        spend(world, record, self._now)
        lane = world.lanes.at(queue, (record.priority, record.group))
        assert lane is not None  # noqa: S101 - it was served from there
        lane.served += 1
        weights = settings_of(world, queue).group_weights
        if lane.served >= weights.get(lane.group or "", 1):
            self._turns += 1
            lane.turn, lane.served = _BEHIND + self._turns, 0
        if not world.lanes.ids(queue, lane.key):
            world.lanes.drop(queue, lane.key)

    def _draw_turns(self) -> None:
        """One number for each lane that ended a turn, in the order of their last ones."""
        lanes = [lane for queue in self._gated for lane in self._world.lanes.of(queue)]
        ended = [lane for lane in lanes if lane.turn > _BEHIND]
        for lane in sorted(ended, key=lambda lane: lane.turn):
            lane.turn = self._world.draw()

    def _keeping_back(self, queue: str, lane: Lane) -> list[Gate]:
        """The gates of its own that the head of an ordered lane has: they keep the lane back."""
        world = self._world
        records = (world.jobs[job_id] for job_id in world.lanes.ids(queue, lane.key))
        head = next((r for r in records if not too_late(r, self._now)), None)
        if head is None or not is_ordered(world, head):
            return []
        return [gate for _, gate in own_gates(world, head, self._now)]


def bring_back(world: World, queue: str, now: Micros) -> None:
    """Put the best-ranked of the jobs set aside behind gates that are open now back into their
    lanes: a bounded number, and for a throttle not more than it lets start."""
    left = world.bounds.cleanup_jobs
    rooms: dict[RuleKey, int] = {}
    for record in world.set_aside(queue):
        if left == 0:
            return
        key = _gate_of(record)
        if key not in rooms:
            gate = rule_gate(world, key, now)
            rooms[key] = left if gate is None else gate.room
        if rooms[key] > 0 or is_ordered(world, record):
            rooms[key] -= 1
            left -= 1
            world.bring_back(record)


def too_late(record: Record, now: Micros) -> bool:
    """Whether the job has expired before it ever started."""
    return record.attempt == 0 and record.expires_at is not None and record.expires_at <= now


def aged(record: Record, ageing: Micros, now: Micros) -> tuple[int, int]:
    """What heads of priorities are compared by: a job that waits counts as better and better."""
    return (record.priority - max(now - record.due_at, 0) // ageing, record.priority)


def _gate_of(record: Record) -> RuleKey:
    assert record.aside is not None  # noqa: S101 - only asked of jobs that are set aside
    return record.aside
