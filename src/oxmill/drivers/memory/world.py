"""The whole store in memory: what there is, and the moves that all roles share.

This is the reference that other drivers are compared with, so it is written to be read: every rule
of the contract stands here once, in plain dictionaries.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from oxmill.drivers.memory.accounts import leave
from oxmill.drivers.memory.flows import Book
from oxmill.drivers.memory.lanes import Lanes
from oxmill.drivers.memory.line import Key, Line
from oxmill.drivers.memory.record import LAPSE, Record
from oxmill.drivers.memory.ripples import ended
from oxmill.model.bounds import Bounds
from oxmill.model.info import Command, Event, WorkerInfo
from oxmill.model.job import Attempt, Reason
from oxmill.model.rule import Rule, RuleKey, RuleKind, Scope
from oxmill.model.schedule import ScheduleInfo
from oxmill.model.settings import QueueSettings
from oxmill.model.settlement import Failure, poison
from oxmill.model.state import IDLE, Change, State, allowed
from oxmill.model.unique import UniqueKey
from oxmill.model.value import Micros

Place = tuple[str, str | None]
"""A queue, or a group in it."""
MeterKey = Place | RuleKey
"""What a rate is counted for: a place, or a throttle."""


@dataclass(slots=True)
class Claimant:
    """Who holds a unique key."""

    holder: str
    live: bool
    """Held because the holder has not ended (or, until *started*, has not been claimed)."""
    hold_until: Micros | None
    """Held until then in any case."""
    successor: str | None = None
    """The one job that runs after the holder."""

    def taken(self, now: Micros) -> bool:
        """Whether the key is taken."""
        held = self.hold_until is not None and self.hold_until > now
        return self.live or held or self.successor is not None


@dataclass(slots=True)
class Presence:
    """A worker that said it is there."""

    info: WorkerInfo
    stale_at: Micros
    command: Command = Command.NONE


class World:
    """All jobs, lines, keys, rules, flows, schedules, workers and events."""

    def __init__(self, clock: Callable[[], Micros], bounds: Bounds) -> None:
        self.clock = clock
        self.bounds = bounds
        self.jobs: dict[str, Record] = {}
        self.lines: defaultdict[str, Line] = defaultdict(Line)
        """queue → waiting jobs by (priority, place), without those set aside."""
        self.lanes = Lanes()
        """The same jobs, as gated claims see them."""
        self.aside: dict[str, Record] = {}
        """Waiting jobs behind a closed gate of their own."""
        self.due: defaultdict[str, Line] = defaultdict(Line)
        """queue → scheduled jobs by (due time, arrival)."""
        self.running: dict[str, Record] = {}
        self.held: dict[str, Record] = {}
        self.of_task: defaultdict[str, dict[str, Record]] = defaultdict(dict)
        self.of_flow: defaultdict[str, dict[str, Record]] = defaultdict(dict)
        self.expiring: dict[str, Record] = {}
        """Idle jobs with an `expires` that were never claimed."""
        self.keys: dict[str, Claimant] = {}
        self.rules: dict[RuleKey, Rule] = {}
        self.settings: dict[str, QueueSettings] = {}
        self.meters: dict[MeterKey, Micros] = {}
        """How far each rate is used up."""
        self.closings: dict[Place, Micros] = {}
        """Until when a holder asked to wait."""
        self.schedules: dict[str, ScheduleInfo] = {}
        self.book = Book()
        """Flows, and what their jobs wait for."""
        self.workers: dict[str, Presence] = {}
        self.events: list[Event] = []
        self.counts: Counter[tuple[str, State]] = Counter()
        self.totals: Counter[tuple[str, State]] = Counter()
        self._last_seq = 0
        self._last_event = 0

    # --- numbers -----------------------------------------------------------------------------

    def draw(self) -> int:
        """The next number of arrival; also the next place at the end of the line."""
        self._last_seq += 1
        return self._last_seq

    def tell(self, kind: str, target: str, *, author: str = "", detail: str = "") -> None:
        """Record an event."""
        self._last_event += 1
        self.events.append(
            Event(
                seq=self._last_event,
                at=self.clock(),
                kind=kind,
                target=target,
                author=author,
                detail=detail,
            )
        )

    # --- moving between states ---------------------------------------------------------------

    def move(self, record: Record, change: Change, state: State) -> None:
        """The only place where a state changes: keeps lines and counts in step with it."""
        self.reopen(record)
        self._change(record, change, state)

    def _change(self, record: Record, change: Change, state: State) -> None:
        if not allowed(change, record.state, state):
            raise AssertionError(f"{change} may not lead from {record.state} to {state}")
        self._leave(record)
        record.state = state
        record.aside = None
        self._join(record)
        self.stand_in_lane(record)

    def line_up(self, record: Record, change: Change, due_at: Micros, now: Micros) -> None:
        """To the end of the line, or among the scheduled if it is not due yet."""
        self.reopen(record)
        self.line_up_anew(record, change, due_at, now)

    def line_up_anew(self, record: Record, change: Change, due_at: Micros, now: Micros) -> None:
        """The same for a job that has other content already: what it was to others is over."""

        def postpone(each: Record) -> None:
            each.due_at = due_at
            if due_at <= now:
                each.place = self.draw()

        self.rewrite(record, postpone)
        self._change(record, change, State.SCHEDULED if due_at > now else State.WAITING)

    def rewrite(self, record: Record, change: Callable[[Record], None]) -> None:
        """Change what a job is ranked by, without losing it from its line. A job that was set
        aside is back in its lane: what closed its gate may not be about it any more. The lane is
        made by `stand_in_lane`, once it is sure that the job stays there."""
        self._leave(record)
        record.aside = None
        change(record)
        self._join(record)

    def reopen(self, record: Record) -> None:
        """A job that was to be tried again later goes, or is due now: unless others have closed its
        ordered group too, that need not wait any longer."""
        place, later = (record.queue, record.group), record.due_at > self.clock()
        if record.state is State.WAITING and later and self.closings.get(place) == record.due_at:
            del self.closings[place]

    def stand_in_lane(self, record: Record) -> None:
        """A job that waits in line has its lane."""
        if record.state is State.WAITING and record.aside is None:
            self.lanes.ensure(record)

    def put_aside(self, record: Record, gate: RuleKey) -> None:
        """Out of its lane, but still waiting, and with its place."""
        self._leave(record)
        record.aside = gate
        self._join(record)

    def bring_back(self, record: Record) -> None:
        """Back into its lane."""
        self.rewrite(record, lambda _: None)
        self.stand_in_lane(record)

    def set_aside(self, queue: str) -> list[Record]:
        """The jobs of a queue that are set aside, best rank first."""
        return sorted((r for r in self.aside.values() if r.queue == queue), key=rank)

    def admit(self, record: Record, state: State) -> None:
        """Let a new job in."""
        record.state = state
        self.jobs[record.id] = record
        self._join(record)
        self.stand_in_lane(record)

    def remove(self, record: Record) -> None:
        """Let a job out of the world, with its history."""
        self.reopen(record)
        self._leave(record)
        del self.jobs[record.id]

    def _join(self, record: Record) -> None:
        self.counts[record.queue, record.state] += 1
        self.of_task[record.task][record.id] = record
        if record.flow is not None:
            self.of_flow[record.flow][record.id] = record
        if record.state is State.WAITING and record.aside is not None:
            self.aside[record.id] = record
        elif record.state is State.WAITING:
            self.lines[record.queue].add(rank(record))
            self.lanes.join(record)
        elif record.state is State.SCHEDULED:
            self.due[record.queue].add(_moment(record))
        elif record.state is State.RUNNING:
            self.running[record.id] = record
        elif record.state is State.HELD:
            self.held[record.id] = record
        if record.expires_at is not None and record.state in IDLE and record.attempt == 0:
            self.expiring[record.id] = record

    def _leave(self, record: Record) -> None:
        self.counts[record.queue, record.state] -= 1
        del self.of_task[record.task][record.id]
        if record.flow is not None:
            del self.of_flow[record.flow][record.id]
        if record.state is State.WAITING and record.aside is not None:
            del self.aside[record.id]
        elif record.state is State.WAITING:
            self.lines[record.queue].remove(rank(record))
            self.lanes.leave(record)
        elif record.state is State.SCHEDULED:
            self.due[record.queue].remove(_moment(record))
        elif record.state is State.RUNNING:
            del self.running[record.id]
        elif record.state is State.HELD:
            del self.held[record.id]
        self.expiring.pop(record.id, None)

    # --- ends --------------------------------------------------------------------------------

    def finish_attempt(self, record: Record, outcome: str, error: Failure | None = None) -> None:
        """Add the newest attempt to the history; a later end of the same attempt replaces it."""
        if record.past and record.past[-1].attempt == record.attempt:
            record.past.pop()
        record.past.append(
            Attempt(
                attempt=record.attempt,
                worker=record.worker or "",
                claimed_at=record.claimed_at or 0,
                ended_at=self.clock(),
                outcome=outcome,
                error=error,
            )
        )
        record.last_outcome = outcome
        record.lease_until = None

    def end(self, record: Record, change: Change, state: State, reason: str | None) -> str | None:
        """A job ends: its key goes on, its end is counted, and its retention starts.

        Gives the queue that gained a waiting job by it, if any.
        """
        now = self.clock()
        self.move(record, change, state)
        record.reason = reason
        record.ended_at = now
        self.totals[record.queue, state] += 1
        if state is State.FAILED:
            self.tell("failed", record.id, detail=reason or "")
        gained = self.give_back_key(record, now)
        if record.flow is not None:
            leave(self, record)
            ended(self, record)
            return gained
        keep = self._keep(record)
        record.prune_at = now + keep
        if keep == 0:
            self.remove(record)
        return gained

    def _keep(self, record: Record) -> Micros:
        if record.keep is not None:
            return record.keep
        settings = self.settings.get(record.queue, QueueSettings())
        if record.state is State.SUCCEEDED:
            return settings.keep_succeeded
        return settings.keep_failed if record.state is State.FAILED else settings.keep_cancelled

    # --- unique keys -------------------------------------------------------------------------

    def take_key(self, record: Record, unique: UniqueKey, now: Micros) -> None:
        """This job holds its key from now on."""
        hold = None if unique.within is None else now + unique.within
        self.keys[unique.key] = Claimant(holder=record.id, live=True, hold_until=hold)

    def let_key_go(self, record: Record, now: Micros) -> None:
        """The key is no longer held by this job's life; `within` may still hold it."""
        if record.unique is None:
            return
        claimant = self.keys.get(record.unique.key)
        if claimant is None or claimant.holder != record.id:
            return
        claimant.live = False
        if not claimant.taken(now):
            del self.keys[record.unique.key]

    def give_back_key(self, record: Record, now: Micros) -> str | None:
        """An ended job gives its key to its successor, or back; an ended successor just leaves.

        Gives the queue of the successor if that waits in line now.
        """
        if record.unique is None:
            return None
        claimant = self.keys.get(record.unique.key)
        if claimant is None:
            return None
        if claimant.successor == record.id:
            claimant.successor = None
        elif claimant.holder == record.id and claimant.successor is not None:
            heir = self.jobs[claimant.successor]
            assert heir.unique is not None  # noqa: S101 - only keyed jobs become successors
            hold = None if heir.unique.within is None else heir.enqueued_at + heir.unique.within
            self.keys[heir.unique.key] = Claimant(holder=heir.id, live=True, hold_until=hold)
            heir.reason = None
            self.line_up(heir, Change.FREE, heir.due_at, now)
            return heir.queue if heir.state is State.WAITING else None
        self.let_key_go(record, now)
        return None

    def forget_key(self, record: Record, now: Micros) -> str | None:
        """A purged job takes its key with it, unless a successor has inherited that."""
        gained = self.give_back_key(record, now)
        if record.unique is not None:
            claimant = self.keys.get(record.unique.key)
            if claimant is not None and claimant.holder == record.id:
                del self.keys[record.unique.key]
        return gained

    # --- clean-ups that claims and sweeps share ------------------------------------------------

    def lapse(self, record: Record) -> str | None:
        """Take back a lease that ran out. Gives the queue that gained a waiting job, if any."""
        record.crashes += 1
        self.finish_attempt(record, LAPSE)
        self.tell(LAPSE, record.id, detail=record.worker or "")
        if record.cancel_requested:
            return self.end(record, Change.CANCEL, State.CANCELLED, record.reason)
        if record.crashes >= record.crash_limit:
            record.error = poison(record.crashes)
            return self.end(record, Change.POISON, State.FAILED, Reason.POISON)
        self.move(record, Change.LAPSE, State.WAITING)
        return record.queue

    def lapsed(self, queue: str | None, now: Micros) -> list[Record]:
        """Jobs whose lease has run out, the oldest first."""
        found = [
            record
            for record in self.running.values()
            if (queue is None or record.queue == queue) and (record.lease_until or 0) <= now
        ]
        return sorted(found, key=lambda record: (record.lease_until or 0, record.seq))

    def fall_due(self, queue: str, now: Micros, limit: int) -> int:
        """Let due jobs into the line in the order of their due times; how many."""
        ready = [key[2] for key in islice(self.due[queue], limit) if key[0] <= now]
        for job_id in ready:
            record = self.jobs[job_id]
            self.line_up(record, Change.DUE, record.due_at, now)
        return len(ready)

    def expired(self, queue: str | None, now: Micros) -> list[Record]:
        """Jobs whose `expires` has passed before their first claim."""
        found = [
            record
            for record in self.expiring.values()
            if (record.expires_at or 0) <= now and (queue is None or record.queue == queue)
        ]
        return sorted(found, key=lambda record: (record.expires_at or 0, record.seq))

    # --- rules -------------------------------------------------------------------------------

    def in_force(self, key: RuleKey, now: Micros) -> Rule | None:
        """The rule of this name, unless it is over."""
        rule = self.rules.get(key)
        return None if rule is None or _over(rule, now) else rule

    def rules_in_force(self, now: Micros) -> Iterator[Rule]:
        """All rules that are not over."""
        return (rule for rule in self.rules.values() if not _over(rule, now))

    def closed(self, queue: str, now: Micros) -> bool:
        """Whether a pause or block keeps this queue closed."""
        return any(
            rule.scope is Scope.QUEUE
            and rule.target == queue
            and rule.kind is not RuleKind.THROTTLE
            for rule in self.rules_in_force(now)
        )


def rank(record: Record) -> Key:
    """What a line is ordered by."""
    return (record.priority, record.place, record.id)


def _moment(record: Record) -> Key:
    return (record.due_at, record.seq, record.id)


def _over(rule: Rule, now: Micros) -> bool:
    return rule.expires_at is not None and rule.expires_at <= now
