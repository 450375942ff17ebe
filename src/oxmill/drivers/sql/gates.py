"""Gates as a claim sees them: of queues, of groups, of jobs; open, or shut until a moment."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from oxmill.drivers.sql.limits import group_slots, load_settings
from oxmill.drivers.sql.meters import (
    EVERYWHERE,
    OWN,
    Meter,
    MeterKey,
    Meters,
    group_key,
    queue_key,
)
from oxmill.drivers.sql.rows import extras_in, json_text
from oxmill.drivers.sql.rulebook import rule_of
from oxmill.drivers.sql.steps import Statement, abreast
from oxmill.model import fields
from oxmill.model.rule import Rule, RuleKey, RuleKind, Scope
from oxmill.model.settings import QueueSettings
from oxmill.model.value import Micros
from oxmill.rules.rate import Rate, rate
from oxmill.store.plan import Steps, ask

_PLAIN: Final = QueueSettings()

FOREVER: Final[Micros] = 2**62
"""Until something happens."""
THROTTLE: Final = "throttle"
"""The scope of the meter of a throttle on a queue, beside that of the queue's own rate."""


class Gate(Protocol):
    """What may keep jobs back."""

    def shut_until(self, now: Micros) -> Micros:
        """The moment at which it opens; 0 if it is open."""
        ...

    def room(self, now: Micros) -> int:
        """How many jobs may start behind it now."""
        ...

    def enter(self, now: Micros, starts: int = 1) -> None:
        """So many jobs start behind it."""
        ...


@dataclass(frozen=True, slots=True)
class Shut:
    """Closed until a moment."""

    until: Micros

    def shut_until(self, now: Micros) -> Micros:
        """The moment, unless it has come."""
        return self.until if self.until > now else 0

    def room(self, now: Micros) -> int:
        """None before that moment, and any number from then on."""
        return 0 if self.until > now else FOREVER

    def enter(self, now: Micros, starts: int = 1) -> None:
        """Nothing is counted here."""


@dataclass(slots=True)
class Slots:
    """So many jobs at once."""

    most: int
    running: int

    def shut_until(self, now: Micros) -> Micros:  # noqa: ARG002 - only an end of a run opens it
        """Until a job stops running, if there are as many as may be."""
        return FOREVER if self.running >= self.most else 0

    def room(self, now: Micros) -> int:  # noqa: ARG002
        """As many as do not run."""
        return max(self.most - self.running, 0)

    def enter(self, now: Micros, starts: int = 1) -> None:  # noqa: ARG002
        """So many more run."""
        self.running += starts


@dataclass(slots=True)
class Pace:
    """So many starts per time."""

    rate: Rate
    meter: Meter
    """What was used up."""
    ends: Micros = FOREVER
    """When it ceases to matter."""
    ruled: bool = False
    """Whether a rule set it, and not the settings."""

    def shut_until(self, now: Micros) -> Micros:
        """The moment at which the rate has room again."""
        opens_at = self.rate.opens_at(self.meter.tat)
        return 0 if opens_at <= now else min(opens_at, self.ends)

    def enter(self, now: Micros, starts: int = 1) -> None:
        """So many more have started."""
        self.meter.spend(self.rate.spend(self.meter.tat, now, starts))

    def room(self, now: Micros) -> int:
        """Starts allowed now."""
        return self.rate.room(self.meter.tat, now)


Gates = tuple[Gate, ...]


def shut_until(gates: Collection[Gate], now: Micros) -> Micros:
    """When to look again at what stands behind these gates: 0 if all are open, else the latest moment
    that is known at which one of the closed ones opens."""
    closed, latest = False, 0
    for gate in gates:
        until = gate.shut_until(now)
        if until:
            closed = True
            if latest < until < FOREVER:
                latest = until
    return (latest or FOREVER) if closed else 0


def job_gate(key: RuleKey) -> str:
    """The name of a gate of jobs, behind which they are set aside."""
    return f"{key.kind.value}:{key.scope.value}:{key.target}"


def gate_key(gate: str) -> RuleKey:
    """The rule that makes a gate of this name."""
    kind, scope, target = gate.split(":", 2)
    return RuleKey(kind=RuleKind(kind), target=target, scope=Scope(scope))


def meter_of(key: RuleKey) -> MeterKey:
    """The meter of a throttle."""
    if key.scope is Scope.QUEUE:
        return MeterKey(key.target, THROTTLE, OWN)
    return MeterKey(EVERYWHERE, key.scope.value, key.target)


_KINDS: Final = (RuleKind.BLOCK, RuleKind.PAUSE, RuleKind.THROTTLE)
"""Of several closed gates on one target, a job stands behind the first of these."""
Target = tuple[str, str]
"""Scope and name of what a rule is about."""


@dataclass(slots=True)
class Book:
    """The gates that claims on some queues come to."""

    now: Micros
    settings: Mapping[str, QueueSettings] = field(default_factory=dict)
    judges_jobs: bool = False
    """Whether any rule is about tasks or fields."""
    judges_groups: bool = False
    """Whether any is about groups."""
    meters: Meters = field(default_factory=Meters)
    _rules: dict[RuleKey, Rule] = field(default_factory=dict)
    _looked_up: set[Target] = field(default_factory=set)

    def of(self, queue: str) -> QueueSettings:
        """The settings of a queue."""
        return self.settings.get(queue) or _PLAIN

    def gated(self, queue: str) -> bool:
        """Whether anything but groups makes the lanes of this queue matter."""
        return (
            self.judges_jobs
            or self.of(queue).limits
            or self.meters.at(queue_key(queue)).closed_until > self.now
            or RuleKey(kind=RuleKind.THROTTLE, target=queue) in self._rules
        )

    def look_up(self, targets: Iterable[Target]) -> Steps[None]:
        """Read the rules on these targets that hold now, and the meters of those that throttle."""
        new = [target for target in dict.fromkeys(targets) if target not in self._looked_up]
        if not new:
            return
        self._looked_up.update(new)
        asked = {"targets": json_text(new), "now": self.now}
        rules = [rule_of(row) for row in (yield from ask(Statement("rules_on", asked)))]
        self._rules.update((rule.key, rule) for rule in rules)
        throttles = [rule.key for rule in rules if rule.kind is RuleKind.THROTTLE]
        yield from self.meters.load(meter_of(key) for key in throttles)

    def of_queue(self, queue: str, running: int) -> Gates:
        """The gates of a queue with so many running jobs."""
        settings = self.of(queue)
        timed = self._timed(queue_key(queue), settings.rate)
        throttle = self._rules.get(RuleKey(kind=RuleKind.THROTTLE, target=queue))
        ruled = () if throttle is None else (self.of_rule(throttle),)
        return (*_slots(settings.concurrency, running), *timed, *ruled)

    def of_group(self, queue: str, group: str, running: int) -> Gates:
        """The gates of a group in a queue with so many running jobs."""
        settings = self.of(queue)
        timed = self._timed(group_key(queue, group), settings.group_rate)
        if not self.judges_groups:
            return (*_slots(group_slots(settings), running), *timed)
        keys = [RuleKey(kind=kind, target=group, scope=Scope.GROUP) for kind in _KINDS]
        ruled = [self.of_rule(self._rules[key]) for key in keys if key in self._rules]
        return (*_slots(group_slots(settings), running), *timed, *ruled)

    def of_job(self, task: str, extras: str | None) -> dict[str, Gate]:
        """The gates of one job by their names, in the order in which they are looked at."""
        if not self.judges_jobs:
            return {}
        keys = [
            RuleKey(kind=kind, target=target, scope=Scope(scope))
            for scope, target in targets_of(task, extras)
            for kind in _KINDS
        ]
        return {job_gate(key): self.of_rule(self._rules[key]) for key in keys if key in self._rules}

    def behind(self, gate: str) -> Gate | None:
        """The gate of jobs of this name, if there is still a rule that makes it."""
        rule = self._rules.get(gate_key(gate))
        return None if rule is None else self.of_rule(rule)

    def _timed(self, key: MeterKey, written: str | None) -> Gates:
        """`RateLimited`, unless that is over, and the rate."""
        meter = self.meters.at(key)
        closed: Gates = (Shut(meter.closed_until),) if meter.closed_until > self.now else ()
        return closed if written is None else (*closed, Pace(rate(written), meter))

    def of_rule(self, rule: Rule) -> Gate:
        """The gate that a rule makes; the meter of a throttle is loaded."""
        ends = FOREVER if rule.expires_at is None else rule.expires_at
        if rule.kind is RuleKind.THROTTLE and rule.rate is not None:
            return Pace(rate(rule.rate), self.meters.at(meter_of(rule.key)), ends, ruled=True)
        return Shut(ends)


def open_book(queues: list[str], now: Micros, *, locks: bool = True) -> Steps[Book]:
    """What claims on these queues must know before they come to any lane."""
    book = Book(now, meters=Meters(locks))
    book.settings, ((jobs, groups),), _, _ = yield from abreast(
        load_settings(set(queues)),
        ask(Statement("rules_scoped", {"now": now})),
        book.meters.load(queue_key(queue) for queue in queues),
        book.look_up((Scope.QUEUE.value, queue) for queue in queues),
    )
    book.judges_jobs, book.judges_groups = bool(jobs), bool(groups)
    return book


def targets_of(task: str, extras: str | None) -> list[Target]:
    """What rules on jobs may name about this one, in the order in which they are looked at."""
    named = [(Scope.FIELD.value, target) for target in fields.targets_of(extras_in(extras).fields)]
    return [(Scope.TASK.value, task), *named]


def _slots(most: int | None, running: int) -> Gates:
    return () if most is None else (Slots(most, running),)
