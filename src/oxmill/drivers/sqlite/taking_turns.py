"""The usual claim of one gated queue: its lanes take turns of one job, within limits.

Where rules judge jobs or groups, where priorities age or groups have weights, and where jobs come back
that were set aside, a claim goes the long way in `oxmill.drivers.sql.gating`. Both do the same.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import islice
from typing import Any, Final

import msgspec

from oxmill.drivers.sql.gates import Gates, Pace, Shut, Slots, shut_until
from oxmill.drivers.sql.gating import look_again
from oxmill.drivers.sql.granting import grant
from oxmill.drivers.sql.lanes import NO_GROUP, Lane, LaneKey, read_heads
from oxmill.drivers.sql.limits import group_slots
from oxmill.drivers.sql.meters import Meter, MeterKey, group_key, queue_key
from oxmill.drivers.sql.rows import json_text
from oxmill.drivers.sql.steps import Draw, Many, Rows, Statement
from oxmill.drivers.sql.tending import Horizon
from oxmill.model.bounds import MAX_PRIORITY
from oxmill.model.claim import Claim
from oxmill.model.settings import QueueSettings
from oxmill.model.value import Micros
from oxmill.rules.rate import rate
from oxmill.store.plan import Steps, ask

Taken = tuple[Rows, list[Micros]]
"""The jobs that go out, and when gates open that keep others back."""
Row = tuple[Any, ...]

_LEASE: Final = 15
"""Columns of a lease; what follows tells of the lane."""
_FIRST: Final = (-MAX_PRIORITY - 1, -1, "")
_settings_in: Final = msgspec.json.Decoder(QueueSettings).decode


def take_turns(request: Claim, ahead: Horizon, now: Micros, bound: int) -> Steps[Taken | None]:
    """Grant what this queue gives; nothing, and nothing is written, if it is not of the usual kind."""
    queue = ahead.queue
    ((grouped, parked_at, aside_at, ruled, *known),) = yield from ask(
        Statement("gates_of", {"queue": queue, "now": now})
    )
    written, tat, closed_until, running = known
    settings = QueueSettings() if written is None else _settings_in(written)
    meter = Meter(tat or 0, closed_until or 0)
    gated = grouped or settings.limits or meter.closed_until > now
    if not gated or ruled or _unusual(settings) or (aside_at is not None and aside_at <= now):
        return None
    if parked_at is not None and parked_at <= now:
        asked = {"queue": queue, "now": now, "most": bound}
        yield from ask(Statement("open_lanes", asked))
    if ahead.waiting:
        yield from ask(Statement("plain_lanes", {"queue": queue}))
    gates = _gates(settings.concurrency, running, settings.rate, meter)
    wanted = min([request.limit, *(gate.room(now) for gate in gates)])
    turns = Turns(queue, settings, now, wanted, bound)
    rows = yield from turns.take()
    for gate in gates if rows else ():
        gate.enter(now, len(rows))
    yield from grant(rows, request, now)
    yield from turns.write({queue_key(queue): meter} if meter.spent else {})
    if len(rows) == request.limit:
        return rows, []
    moments = yield from look_again([(queue, gates)], now)
    return rows, [*moments, now] if turns.cut else moments


def _unusual(settings: QueueSettings) -> bool:
    return settings.ageing is not None or bool(settings.group_weights)


def _gates(slots: int | None, running: int, written: str | None, meter: Meter) -> Gates:
    """What stands before a queue, or before a group in it."""
    slotted = () if slots is None else (Slots(slots, running),)
    paced = () if written is None else (Pace(rate(written), meter),)
    shut = (Shut(meter.closed_until),) if meter.closed_until else ()
    return (*slotted, *shut, *paced)


class Turns:
    """The turns that the lanes of a queue take in one claim."""

    def __init__(
        self, queue: str, settings: QueueSettings, now: Micros, wanted: int, bound: int
    ) -> None:
        self._queue = queue
        self._now = now
        self._wanted = wanted
        """Jobs it may still grant."""
        self._patience = bound
        """Lanes it may still park."""
        self.cut = False
        """Whether it had to end because it came to more that is closed than one claim may park."""
        self._slots, self._rate = group_slots(settings), settings.group_rate
        self._limited = self._slots is not None or self._rate is not None
        self._meters: dict[str, Meter] = {}
        self._groups: dict[str, Gates] = {}
        """What stands before the groups, as far as there are limits."""
        self._chosen: list[Row | int] = []
        """Jobs as they go out, or their numbers of arrival."""
        self._served: dict[tuple[str, int], None] = {}
        """Lanes that gave jobs and have more, in the order of their last turns."""
        self._gone: list[LaneKey] = []
        self._parked: list[tuple[str, int, Micros]] = []
        self._line: list[tuple[str, int, int, Gates]] = []
        """Lanes of one priority that have had a turn and have more: group, priority, the place of the
        job that went out, and what stands before the group."""
        self._read_to: tuple[int, int, str] = _FIRST

    def take(self) -> Steps[Rows]:
        """The jobs that go out, in order."""
        all_read = False
        while self._wanted > 0 and not self.cut:
            if not all_read:
                most = self._wanted
                lanes = yield from self._read(most)
                all_read = len(lanes) < most
                yield from self._first_turns(lanes)
            elif self._line:
                yield from self._further_turns()
            else:
                break
        return (yield from self._leases())

    def write(self, meters: dict[MeterKey, Meter]) -> Steps[None]:
        """Write down what has become of the lanes, and what was used up besides."""
        if self._served:
            numbers = yield from ask(Draw(len(self._served)))
            lanes = json_text(self._served)
            asked = {"queue": self._queue, "first": numbers[0], "lanes": lanes}
            yield from ask(Statement("turn_lanes", asked))
        if self._parked:
            asked = {"queue": self._queue, "lanes": json_text(self._parked)}
            yield from ask(Statement("park_lanes", asked))
        if self._gone:
            yield from ask(Many("drop_lanes", self._gone))
        used = [
            (*group_key(self._queue, group), meter.tat, meter.tat)
            for group, meter in self._meters.items()
            if meter.spent
        ]
        used += [(*key, meter.tat, meter.tat) for key, meter in meters.items()]
        if used:
            yield from ask(Many("spend_meters", used))

    def _read(self, most: int) -> Steps[Rows]:
        """The next lanes, and the job at the head of each."""
        priority, turn, group = self._read_to
        asked = {
            "queue": self._queue,
            "priority": priority,
            "turn": turn,
            "group_name": group,
            "now": self._now,
            "most": most,
            "counted": self._slots is not None,
        }
        rows = yield from ask(Statement("lanes_and_heads", asked))
        if rows:
            group, priority, turn = rows[-1][_LEASE : _LEASE + 3]
            self._read_to = priority, turn, group
        return rows

    def _first_turns(self, rows: Rows) -> Steps[None]:
        """Every lane gives one job. Before the first lane of another priority, those that have had a
        turn take further ones."""
        for row in rows:
            group, priority, _, place, more, tat, closed_until, running = row[_LEASE:]
            if self._line and priority > self._line[0][1]:
                yield from self._further_turns()
            if self._wanted == 0 or self.cut:
                return
            gates: Gates = ()
            if group != NO_GROUP and (self._limited or closed_until):
                gates = self._gates_of(group, tat, closed_until, running)
            if gates and self._shut(group, priority, gates):
                continue
            if row[0] is not None:
                self._give(row[:_LEASE], gates)
            if more:
                self._served[group, priority] = None
                self._line.append((group, priority, place, gates))
            else:
                self._gone.append(LaneKey(group, self._queue, priority))

    def _further_turns(self) -> Steps[None]:
        """The lanes that have had a turn take turns until they are empty."""
        lanes = deque(
            Lane(LaneKey(group, self._queue, priority), 0, 0, gates, read_to=place)
            for group, priority, place, gates in self._line
        )
        self._line = []
        while lanes and self._wanted > 0 and not self.cut:
            lane = lanes[0]
            group, _, priority = lane.key
            if lane.gates and self._shut(group, priority, lane.gates):
                lanes.popleft()
                continue
            if not lane.heads and not lane.whole:
                # One job more than a lane is likely to give tells whether it is then empty.
                share = -(-self._wanted // len(lanes))
                near = islice(lanes, self._wanted)
                dry = [each for each in near if not each.heads and not each.whole]
                yield from read_heads(dry, self._now, share + 1)
                continue
            lanes.popleft()
            del self._served[group, priority]
            if lane.heads:
                self._give(lane.heads.popleft().seq, lane.gates)
            if lane.heads or not lane.whole:
                self._served[group, priority] = None
                lanes.append(lane)
            else:
                self._gone.append(lane.key)
        yield from self._finish([each for each in lanes if not each.heads and not each.whole])

    def _finish(self, unsure: Sequence[Lane]) -> Steps[None]:
        """See whether lanes are empty that gave every job that was read of them."""
        if not unsure:
            return
        yield from read_heads(unsure, self._now, 1)
        for lane in unsure:
            if not lane.heads:
                del self._served[lane.key.group, lane.key.priority]
                self._gone.append(lane.key)

    def _gates_of(self, group: str, tat: int | None, until: int | None, running: int) -> Gates:
        """What stands before a group: the same, whatever lanes it has."""
        gates = self._groups.get(group)
        if gates is None:
            meter = self._meters[group] = Meter(tat or 0, until or 0)
            gates = self._groups[group] = _gates(self._slots, running, self._rate, meter)
        return gates

    def _shut(self, group: str, priority: int, gates: Gates) -> bool:
        """Whether a lane is closed; then it stands aside, unless too many do."""
        until = shut_until(gates, self._now)
        if until and self._patience == 0:
            self.cut = True
        elif until:
            self._patience -= 1
            self._parked.append((group, priority, until))
        return until > 0

    def _give(self, job: Row | int, gates: Gates) -> None:
        self._chosen.append(job)
        self._wanted -= 1
        for gate in gates:
            gate.enter(self._now)

    def _leases(self) -> Steps[Rows]:
        """What was chosen, as claims grant it."""
        seqs = [job for job in self._chosen if isinstance(job, int)]
        if not seqs:
            return [job for job in self._chosen if not isinstance(job, int)]
        rows = yield from ask(Statement("leases_by_seq", {"seqs": json_text(seqs)}))
        by_seq = {row[0]: row for row in rows}
        return [by_seq[job] if isinstance(job, int) else job for job in self._chosen]
