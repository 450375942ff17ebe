"""Gates: what keeps the jobs of a queue, of a group in it, or a single job from starting now.

Nothing is remembered but what was spent and until when somebody asked to wait; everything else is
looked up in the jobs, the rules and the settings, so a gate cannot be left closed by mistake.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from oxmill.drivers.memory.record import Record
from oxmill.drivers.memory.world import MeterKey, World
from oxmill.model.fields import targets_of
from oxmill.model.info import GateInfo
from oxmill.model.rule import Rule, RuleKey, RuleKind, Scope
from oxmill.model.settings import QueueSettings
from oxmill.model.state import State
from oxmill.model.value import Micros
from oxmill.rules.rate import rate

_PLAIN: Final = QueueSettings()
_KINDS: Final = (RuleKind.BLOCK, RuleKind.PAUSE, RuleKind.THROTTLE)
"""Of several closed gates on one target, the first of these is the one a job stands behind."""


@dataclass(frozen=True, slots=True)
class Gate:
    """One gate now."""

    room: int
    """Jobs it lets start; 0 if it is closed."""
    opens_at: Micros | None = None
    """When a closed gate opens, if time alone will do that."""


# --- what there is ------------------------------------------------------------------------------


def settings_of(world: World, queue: str) -> QueueSettings:
    """The settings of a queue."""
    return world.settings.get(queue, _PLAIN)


def queue_gates(world: World, queue: str, now: Micros) -> Iterator[Gate]:
    """The gates of a queue itself."""
    settings = settings_of(world, queue)
    if settings.concurrency is not None:
        yield Gate(max(settings.concurrency - running(world, queue), 0))
    yield from _timed_gates(world, queue, None, now)


def group_gates(world: World, queue: str, group: str | None, now: Micros) -> Iterator[Gate]:
    """The gates of a group in a queue. Jobs without a group have none."""
    if group is None:
        return
    most = group_concurrency(settings_of(world, queue))
    if most is not None:
        yield Gate(max(most - running(world, queue, group), 0))
    yield from _timed_gates(world, queue, group, now)
    for kind in (RuleKind.BLOCK, RuleKind.PAUSE):
        gate = rule_gate(world, RuleKey(kind=kind, target=group, scope=Scope.GROUP), now)
        if gate is not None:
            yield gate


def own_gates(world: World, record: Record, now: Micros) -> Iterator[tuple[RuleKey, Gate]]:
    """The gates of a job: rules on its task, then on its fields."""
    for key in _own_keys(record):
        gate = rule_gate(world, key, now)
        if gate is not None:
            yield key, gate


def _own_keys(record: Record) -> Iterator[RuleKey]:
    fields = ((Scope.FIELD, target) for target in targets_of(record.fields))
    targets = [(Scope.TASK, record.task), *fields]
    for scope, target in targets:
        for kind in _KINDS:
            yield RuleKey(kind=kind, target=target, scope=scope)


def _timed_gates(world: World, queue: str, group: str | None, now: Micros) -> Iterator[Gate]:
    """Rate, throttle and `RateLimited` of a queue, or of a group in it."""
    settings = settings_of(world, queue)
    written = settings.rate if group is None else settings.group_rate
    if written is not None:
        yield _metered(world, (queue, group), written, now)
    throttle = rule_gate(world, throttle_on(queue, group), now)
    if throttle is not None:
        yield throttle
    until = world.closings.get((queue, group), 0)
    if until > now:
        yield Gate(0, until)


def throttle_on(queue: str, group: str | None) -> RuleKey:
    """The name of the throttle on a queue, or on a group in whatever queue."""
    scope = Scope.QUEUE if group is None else Scope.GROUP
    return RuleKey(kind=RuleKind.THROTTLE, target=queue if group is None else group, scope=scope)


def rule_gate(world: World, key: RuleKey, now: Micros) -> Gate | None:
    """The gate that this rule is, if it is in force."""
    rule = world.in_force(key, now)
    if rule is None:
        return None
    if rule.kind is not RuleKind.THROTTLE:
        return Gate(0, rule.expires_at)
    gate = _metered(world, key, rule.rate or "", now)
    ends = [at for at in (gate.opens_at, rule.expires_at) if at is not None]
    return gate if gate.room else Gate(0, min(ends))


def _metered(world: World, meter: MeterKey, written: str, now: Micros) -> Gate:
    allowed, tat = rate(written), world.meters.get(meter, 0)
    room = allowed.room(tat, now)
    return Gate(room) if room else Gate(0, allowed.opens_at(tat))


def running(world: World, queue: str, group: str | None = None) -> int:
    """Running jobs of a queue, or of a group in it, however old their leases."""
    return sum(
        record.queue == queue and (group is None or record.group == group)
        for record in world.running.values()
    )


def group_concurrency(settings: QueueSettings) -> int | None:
    """How many jobs of a group may run at once."""
    return 1 if settings.ordered_groups else settings.group_concurrency


# --- questions ----------------------------------------------------------------------------------


def is_open(gates: Iterable[Gate]) -> bool:
    """Whether all of these gates let a job through."""
    return all(gate.room for gate in gates)


def moments(gates: Iterable[Gate]) -> list[Micros]:
    """When to look again at a place with these gates: the latest moment that is known at which one
    of the closed ones opens. Empty if none is closed, or something must happen first."""
    known = [gate.opens_at for gate in gates if not gate.room and gate.opens_at is not None]
    return [max(known)] if known else []


def closed_gate(world: World, record: Record, now: Micros) -> RuleKey | None:
    """The first gate of the job's own that is closed."""
    return next((key for key, gate in own_gates(world, record, now) if not gate.room), None)


def is_ordered(world: World, record: Record) -> bool:
    """Whether the job must keep its place among those of its group."""
    return record.group is not None and settings_of(world, record.queue).ordered_groups


def is_gated(world: World, queue: str, now: Micros) -> bool:
    """Whether a claim must look at lanes and gates, instead of at the line alone."""
    covering = (
        rule.scope in (Scope.TASK, Scope.FIELD)
        or (rule.scope is Scope.QUEUE and rule.target == queue and rule.kind is RuleKind.THROTTLE)
        for rule in world.rules_in_force(now)
    )
    return (
        settings_of(world, queue).limits
        or any(lane.group is not None for lane in world.lanes.of(queue))
        or world.closings.get((queue, None), 0) > now
        or any(covering)
    )


def may_run_again(world: World, record: Record) -> bool:
    """Whether concurrency leaves room for a job whose holder came back after its lease lapsed."""
    settings = settings_of(world, record.queue)
    most = None if record.group is None else group_concurrency(settings)
    return (
        settings.concurrency is None or running(world, record.queue) < settings.concurrency
    ) and (most is None or running(world, record.queue, record.group) < most)


def frees(world: World, record: Record) -> bool:
    """Whether others may start because this job runs no longer."""
    settings = settings_of(world, record.queue)
    grouped = record.group is not None and group_concurrency(settings) is not None
    return settings.concurrency is not None or grouped


# --- what happens -------------------------------------------------------------------------------


def spend(world: World, record: Record, now: Micros) -> None:
    """This job starts: every rate and throttle it comes under has one start less to give."""
    settings = settings_of(world, record.queue)
    _spend_one(world, (record.queue, None), settings.rate, now)
    keys = [throttle_on(record.queue, None), *_own_keys(record)]
    if record.group is not None:
        _spend_one(world, (record.queue, record.group), settings.group_rate, now)
        keys.append(throttle_on(record.queue, record.group))
    for key in keys:
        rule = world.in_force(key, now)
        if rule is not None:
            _spend_one(world, key, rule.rate, now)


def _spend_one(world: World, meter: MeterKey, written: str | None, now: Micros) -> None:
    if written is not None:
        world.meters[meter] = rate(written).spend(world.meters.get(meter, 0), now, 1)


def close(world: World, queue: str, group: str | None, until: Micros, now: Micros) -> None:
    """Keep a queue, or a group in it, closed until then, and longer if it was to be: a moment longer
    than any of those who asked, so that none of them alone can open it by leaving."""
    before = world.closings.get((queue, group), 0)
    world.closings[queue, group] = max(before, until) + 1 if before > now else until


# --- looks --------------------------------------------------------------------------------------


def gate_info(world: World, queue: str, group: str | None, now: Micros) -> GateInfo:
    """The numbers of a queue's gates, or of a group's in it."""
    timed = list(_timed_gates(world, queue, group, now))
    settings = settings_of(world, queue)
    written = settings.rate if group is None else settings.group_rate
    metered = written is not None or world.in_force(throttle_on(queue, group), now) is not None
    known = moments(timed)
    throttle = rule_gate(world, throttle_on(queue, group), now)
    pace = None if written is None else _metered(world, (queue, group), written, now)
    closed_until = world.closings.get((queue, group), 0)
    waiting = sum(
        record.state is State.WAITING and record.queue == queue and record.group == group
        for record in world.jobs.values()
    )
    return GateInfo(
        group=group,
        running=running(world, queue, group),
        room=min(gate.room for gate in timed) if metered else None,
        opens_at=known[0] if known else None,
        paced_until=None if pace is None else pace.opens_at,
        throttled_until=None if throttle is None else throttle.opens_at,
        closed_until=closed_until if closed_until > now else None,
        waiting=None if group is None else waiting,
    )


def scoped_rules(world: World, targets: tuple[tuple[Scope, str], ...], now: Micros) -> list[Rule]:
    """Rules in force on these tasks, groups and fields, or on any; by scope, target and kind."""
    found = [rule for rule in world.rules_in_force(now) if rule.scope is not Scope.QUEUE]
    if targets:
        found = [rule for rule in found if (rule.scope, rule.target) in targets]
    return sorted(found, key=lambda rule: (rule.scope, rule.target, rule.kind))[:1_000]


def opening(world: World, rule: Rule, now: Micros) -> Micros:
    """When a throttle lets the next job start; 0 for now, and for other rules."""
    gate = rule_gate(world, rule.key, now) if rule.kind is RuleKind.THROTTLE else None
    return 0 if gate is None or gate.room else gate.opens_at or 0


def opened_by(world: World, key: RuleKey) -> list[str]:
    """The queues in which jobs may start once this rule is gone."""
    if key.scope is Scope.QUEUE:
        return [key.target]
    if key.scope is Scope.GROUP:
        return world.lanes.queues_of(key.target)
    return sorted({record.queue for record in world.aside.values() if record.aside == key})
