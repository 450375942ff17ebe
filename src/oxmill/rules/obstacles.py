"""Rules and limits that stand before a job, with their numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from oxmill.model.fields import targets_of
from oxmill.model.info import GateInfo
from oxmill.model.rule import Rule, RuleKind, Scope
from oxmill.model.settings import QueueSettings
from oxmill.model.value import Micros
from oxmill.rules.duration import spell
from oxmill.rules.situation import Gate, Situation

_DONE: Final = {
    RuleKind.PAUSE: "paused",
    RuleKind.BLOCK: "blocked",
    RuleKind.THROTTLE: "throttled",
}
_LIFT: Final = {
    RuleKind.PAUSE: "resume",
    RuleKind.BLOCK: "unblock",
    RuleKind.THROTTLE: "unthrottle",
}
_HOLDERS: Final = 3
"""So many of the jobs that hold a limit are named."""


def rule_gates(at: Situation) -> tuple[Gate, ...]:
    """Every rule that covers the job; one open gate if there is none."""
    gates = tuple(_rule(rule, opens, at.now) for rule, opens in _covering(at))
    if gates:
        return gates
    detail = f"no rule on queue {at.job.queue!r} or on the job's task, group or fields"
    return (Gate(name="rules", open=True, detail=detail),)


def _covering(at: Situation) -> Iterator[tuple[Rule, Micros]]:
    """Each rule in force with the moment at which it lets a job through, as far as it is known."""
    job = at.job
    targets: dict[Scope, set[str | None]] = {
        Scope.QUEUE: {job.queue},
        Scope.TASK: {job.task},
        Scope.GROUP: {job.group},
        Scope.FIELD: set(targets_of(job.fields)),
    }
    on_queue = at.queue.rules if at.queue is not None else ()
    gate = _gate_of(at, None)
    # A throttle on the queue is a part of the queue's own gate, which tells when that opens.
    until = gate.opens_at or 0 if gate is not None and gate.room == 0 else 0
    opens = at.opens or (0,) * len(at.rules)
    for rule, moment in (
        *((rule, until) for rule in on_queue),
        *zip(at.rules, opens, strict=True),
    ):
        over = rule.expires_at is not None and rule.expires_at <= at.now
        if not over and rule.target in targets[rule.scope]:
            yield rule, moment


def _rule(rule: Rule, opens: Micros, now: Micros) -> Gate:
    detail = f"{rule.scope} {rule.target!r} is {_DONE[rule.kind]}"
    throttle = rule.kind is RuleKind.THROTTLE
    if throttle:
        detail += f" to {rule.rate}"
    if rule.author:
        detail += f" by {rule.author}"
    if rule.set_at:
        detail += f" since {spell(max(now - rule.set_at, 0))}"
    if rule.reason:
        detail += f": {rule.reason}"
    is_open = throttle and opens <= now
    if throttle and not is_open:
        detail += f"; the next job may start in {spell(opens - now)}"
    on = rule.target if rule.scope is Scope.QUEUE else f"--{rule.scope} {rule.target}"
    return Gate(
        name=str(rule.kind),
        open=is_open,
        detail=detail,
        opens_at=opens if throttle and not is_open else rule.expires_at,
        remedy="" if is_open else f"oxmill queues {_LIFT[rule.kind]} {on}",
    )


def limit_gates(at: Situation) -> tuple[Gate, ...]:
    """The limits of the job's queue, and of its group in it, as far as there are any."""
    queue, job = at.queue, at.job
    if queue is None:
        return ()
    settings = queue.settings
    whole, group = _gate_of(at, None), _gate_of(at, job.group)
    gates: list[Gate | None] = []
    if whole is not None:
        gates.append(_concurrency(at, whole, settings.concurrency))
        gates.append(_rate(at, whole, settings.rate))
    if group is not None and job.group is not None:
        gates.append(_concurrency(at, group, _group_concurrency(settings)))
        gates.append(_rate(at, group, settings.group_rate))
    return tuple(gate for gate in gates if gate is not None)


def _gate_of(at: Situation, group: str | None) -> GateInfo | None:
    gates = at.queue.gates if at.queue is not None else ()
    return next((gate for gate in gates if gate.group == group), None)


def _group_concurrency(settings: QueueSettings) -> int | None:
    return 1 if settings.ordered_groups else settings.group_concurrency


def _place(at: Situation, gate: GateInfo) -> str:
    return f"queue {at.job.queue!r}" if gate.group is None else f"group {gate.group!r}"


def _concurrency(at: Situation, gate: GateInfo, most: int | None) -> Gate | None:
    if most is None:
        return None
    ordered = gate.group is not None and at.queue is not None and at.queue.settings.ordered_groups
    detail = f"{gate.running} of {most} jobs of {_place(at, gate)} running"
    if ordered:
        detail += ", one at a time and in order"
    is_open = gate.running < most
    if not is_open:
        detail += _held_by(at, gate.group)
    scope = "group-" if gate.group is not None else ""
    remedy = f"oxmill queues limit {at.job.queue} --{scope}concurrency {most + 1}"
    return Gate(
        name=f"{'group' if gate.group is not None else 'queue'} concurrency",
        open=is_open,
        detail=detail,
        remedy="" if is_open or ordered else remedy,
    )


def _held_by(at: Situation, group: str | None) -> str:
    holders = [job for job in at.running if group is None or job.group == group]
    if not holders:
        return ""
    named = ", ".join(f"{job.id} by {job.worker}" for job in holders[:_HOLDERS])
    return f": {named}" + (", …" if len(holders) > _HOLDERS else "")


def _rate(at: Situation, gate: GateInfo, written: str | None) -> Gate | None:
    """The rate of a queue or group; and `RateLimited`, which the store does not tell apart."""
    name = f"{'group' if gate.group is not None else 'queue'} rate"
    place = _place(at, gate)
    if written is None and _throttled(at, gate.group):
        return None  # the throttle is told among the rules, with the same moment
    if gate.opens_at is not None and gate.opens_at > at.now:
        left = spell(gate.opens_at - at.now)
        what = f"the rate {written} is used up" if written else "somebody asked to wait"
        detail = f"{what} for {place}; the next job may start in {left}"
        return Gate(name=name, open=False, detail=detail, opens_at=gate.opens_at)
    if written is None:
        return None
    detail = f"{place} may start {gate.room or 0} now of {written}"
    return Gate(name=name, open=True, detail=detail)


def _throttled(at: Situation, group: str | None) -> bool:
    rules = at.rules if group is not None or at.queue is None else at.queue.rules
    scope, target = (Scope.QUEUE, at.job.queue) if group is None else (Scope.GROUP, group)
    return any(
        rule.kind is RuleKind.THROTTLE and rule.scope is scope and rule.target == target
        for rule in rules
    )
