"""Rules and limits that stand before a job, with their numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from oxmill.model.fields import targets_of
from oxmill.model.info import GateInfo
from oxmill.model.job import Job
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
    RuleKind.BLOCK: "unblock --operator",
    RuleKind.THROTTLE: "unthrottle",
}
_OF_JOBS: Final = (Scope.TASK, Scope.FIELD)
"""Rules on these may cover one job of a group and not another."""
_HOLDERS: Final = 3
"""So many of the jobs that hold a limit are named."""


def rule_gates(at: Situation) -> tuple[Gate, ...]:
    """Every rule that covers the job; one open gate if there is none."""
    gates = tuple(_rule(rule, opens, at.now) for rule, opens in _covering(at, at.job))
    if gates:
        return gates
    detail = f"no rule on queue {at.job.queue!r} or on the job's task, group or fields"
    return (Gate(name="rules", open=True, detail=detail),)


def _covering(at: Situation, job: Job) -> Iterator[tuple[Rule, Micros]]:
    """Each rule in force on a job of this queue with the moment at which it lets one through, as far
    as that is known."""
    targets: dict[Scope, set[str | None]] = {
        Scope.QUEUE: {job.queue},
        Scope.TASK: {job.task},
        Scope.GROUP: {job.group},
        Scope.FIELD: set(targets_of(job.fields)),
    }
    on_queue = at.queue.rules if at.queue is not None else ()
    gate = _gate_of(at, None)
    until = 0 if gate is None else gate.throttled_until or 0
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
        gates += _rates(at, whole, settings.rate)
    if group is not None and job.group is not None:
        gates.append(_concurrency(at, group, _group_concurrency(settings)))
        gates += _rates(at, group, settings.group_rate)
    gates += (*_order(at), *_line(at))
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


def _rates(at: Situation, gate: GateInfo, written: str | None) -> Iterator[Gate]:
    """The rate of a queue or group, and `RateLimited`. A throttle is told among the rules."""
    name = f"{'group' if gate.group is not None else 'queue'} rate"
    place = _place(at, gate)
    if written is not None and gate.paced_until is not None:
        left = spell(gate.paced_until - at.now)
        detail = f"the rate {written} is used up for {place}; the next job may start in {left}"
        yield Gate(name=name, open=False, detail=detail, opens_at=gate.paced_until)
    elif written is not None:
        detail = f"{place} may start {gate.room or 0} now of {written}"
        yield Gate(name=name, open=True, detail=detail)
    if gate.closed_until is not None and not _tried_again(at, gate):
        left = spell(gate.closed_until - at.now)
        detail = f"somebody asked to wait for {place}; the next job may start in {left}"
        yield Gate(name=name, open=False, detail=detail, opens_at=gate.closed_until)


def _tried_again(at: Situation, gate: GateInfo) -> bool:
    """Whether a group is closed because its first job is to be tried again, which is told of that."""
    first = at.first or at.job
    return gate.group is not None and gate.closed_until == first.due_at


def _order(at: Situation) -> Iterator[Gate]:
    """The job that goes before this one in an ordered group, and what keeps that back."""
    first = at.first
    if first is None:
        return
    detail = f"{first.id} goes first in the ordered group {at.job.group!r}"
    if first.due_at > at.now:
        detail += f"; it is to be tried again in {spell(first.due_at - at.now)}"
    own = [pair for pair in _covering(at, first) if pair[0].scope in _OF_JOBS]
    ruled = [gate for gate in (_rule(*pair, at.now) for pair in own) if not gate.open]
    detail += "".join(f"; {gate.detail}" for gate in ruled)
    moments = [gate.opens_at for gate in ruled]
    if first.due_at > at.now:
        moments.append(first.due_at)
    known = [moment for moment in moments if moment is not None]
    opens_at = max(known) if known and len(known) == len(moments) else None
    remedy = f"oxmill jobs explain {first.id}"
    yield Gate(name="order", open=False, detail=detail, opens_at=opens_at, remedy=remedy)


def _line(at: Situation) -> Iterator[Gate]:
    """Its place in line, which is no gate that closes."""
    if at.place is None:
        return
    of = f"queue {at.job.queue!r}"
    of += " without a group" if at.job.group is None else f", group {at.job.group!r}"
    ahead = "very many" if at.place.ahead is None else f"{at.place.ahead:,}"
    jobs = "job" if at.place.ahead == 1 else "jobs"
    yield Gate(name="line", open=True, detail=f"before it in line: {ahead} {jobs} of {of}")
