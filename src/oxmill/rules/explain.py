"""Why a job is where it is, and what has to happen before it runs."""

from __future__ import annotations

from typing import Final

from oxmill.model.info import QueueInfo, WorkerInfo
from oxmill.model.job import Job, Reason
from oxmill.model.rule import Rule, RuleKind, Scope
from oxmill.model.state import State
from oxmill.model.value import Micros, Value
from oxmill.rules.duration import spell

PLAIN_ITEM: Final = "oxmill:bytes"
"""The task name of items of a plain work queue, which no worker runs."""


class Situation(Value, frozen=True):
    """What has to be known about a job and its surroundings to explain it."""

    job: Job
    now: Micros
    queue: QueueInfo | None = None
    workers: tuple[WorkerInfo, ...] = ()
    """All workers with a fresh beat, whatever they serve."""
    holder: Job | None = None
    """The live job that holds this job's unique key, if it is another one."""


class Gate(Value, frozen=True):
    """One condition for a job to run."""

    name: str
    open: bool
    detail: str
    opens_at: Micros | None = None
    """When it opens by itself, if that is known."""
    remedy: str = ""
    """What a person can do about it."""


class Explanation(Value, frozen=True):
    """One sentence that says it all, and every gate behind it."""

    summary: str
    gates: tuple[Gate, ...] = ()
    remedy: str = ""
    """What a person can do about a job that has ended."""

    @property
    def closed(self) -> tuple[Gate, ...]:
        """The gates in the way, in the order in which they matter."""
        return tuple(gate for gate in self.gates if not gate.open)


def explain(situation: Situation) -> Explanation:
    """Why the job is in its state; for one that has not started, every gate before it."""
    match situation.job.state:
        case State.RUNNING:
            return _running(situation)
        case State.SUCCEEDED | State.FAILED | State.CANCELLED:
            return _ended(situation.job)
        case _:
            return _idle(situation)


def _idle(at: Situation) -> Explanation:
    gates = (
        *_held(at),
        *_due(at),
        *_expiry(at),
        *_rules(at),
        *_workers(at),
    )
    closed = [gate for gate in gates if not gate.open]
    if closed:
        summary = f"{at.job.state}: {closed[0].detail}"
        if len(closed) > 1:
            summary += f", and {len(closed) - 1} more gate{'s' * (len(closed) > 2)} closed"
    elif at.job.state is State.WAITING:
        summary = "waiting: every gate is open, so a worker takes it in its turn"
    else:
        summary = f"{at.job.state}: every gate is open; the next claim or sweep lets it in"
    return Explanation(summary=summary, gates=gates)


def _held(at: Situation) -> tuple[Gate, ...]:
    job = at.job
    if job.state is not State.HELD:
        return ()
    if job.reason == Reason.RERUN:
        detail = f"it follows the live job of its unique key {job.unique!r}"
        if at.holder is not None:
            detail += f": {at.holder.id} is {at.holder.state}"
        return (
            Gate(
                name="unique key",
                open=False,
                detail=detail,
                remedy=f"oxmill jobs explain {at.holder.id}" if at.holder else "",
            ),
        )
    remedy = f"oxmill flows show {job.flow}" if job.flow else ""
    return (Gate(name="dependencies", open=False, detail=_held_for(job), remedy=remedy),)


def _held_for(job: Job) -> str:
    match job.reason:
        case Reason.CHILDREN:
            return f"it waits for {_count(len(job.joined), 'job')} that it has spawned"
        case Reason.STAGED:
            return "its flow is still being enqueued; all of it starts when that is done"
        case None if job.after:
            return f"it waits for {_count(len(job.after), 'job')} of its flow"
        case None:
            return "it waits for other jobs to end"
        case reason:
            return f"it is held ({reason})"


def _due(at: Situation) -> tuple[Gate, ...]:
    job = at.job
    early = job.due_at - at.now
    if job.state is State.WAITING or early <= 0:
        return (Gate(name="due time", open=True, detail=f"due since {spell(max(-early, 0))}"),)
    detail = f"it is due in {spell(early)}"
    if job.failures:
        detail += f", after failure {job.failures} of {job.max_attempts}"
        if job.error is not None:
            detail += f" ({job.error.type})"
    remedy = f"oxmill jobs edit {job.id} --delay 0s"
    return (Gate(name="due time", open=False, detail=detail, opens_at=job.due_at, remedy=remedy),)


def _expiry(at: Situation) -> tuple[Gate, ...]:
    expires = at.job.expires_at
    if expires is None or at.job.attempt:  # only a job that was never claimed expires
        return ()
    if expires <= at.now:
        detail = f"it expired {spell(at.now - expires)} ago and will end as cancelled"
        return (Gate(name="expiry", open=False, detail=detail),)
    return (Gate(name="expiry", open=True, detail=f"expires in {spell(expires - at.now)}"),)


def _rules(at: Situation) -> tuple[Gate, ...]:
    rules = at.queue.rules if at.queue is not None else ()
    gates = tuple(_rule(rule, at.now) for rule in rules if _covers(rule, at))
    if gates:
        return gates
    return (Gate(name="rules", open=True, detail=f"no rule on queue {at.job.queue!r}"),)


def _covers(rule: Rule, at: Situation) -> bool:
    if rule.expires_at is not None and rule.expires_at <= at.now:
        return False
    targets = {
        Scope.QUEUE: at.job.queue,
        Scope.TASK: at.job.task,
        Scope.GROUP: at.job.group,
    }
    return rule.scope in targets and targets[rule.scope] == rule.target


def _rule(rule: Rule, now: Micros) -> Gate:
    done = {RuleKind.PAUSE: "paused", RuleKind.BLOCK: "blocked", RuleKind.THROTTLE: "throttled"}
    detail = f"{rule.scope} {rule.target!r} is {done[rule.kind]}"
    if rule.author:
        detail += f" by {rule.author}"
    if rule.set_at:
        detail += f" since {spell(max(now - rule.set_at, 0))}"
    if rule.reason:
        detail += f": {rule.reason}"
    lift = {RuleKind.PAUSE: "resume", RuleKind.BLOCK: "unblock"}.get(rule.kind)
    remedy = f"oxmill queues {lift} {rule.target}" if lift and rule.scope is Scope.QUEUE else ""
    return Gate(
        name=str(rule.kind),
        open=rule.kind is RuleKind.THROTTLE,
        detail=detail,
        opens_at=rule.expires_at,
        remedy=remedy,
    )


def _workers(at: Situation) -> tuple[Gate, ...]:
    job = at.job
    if job.task == PLAIN_ITEM:
        return (Gate(name="holder", open=True, detail="a client leases it in its turn"),)
    serving = [worker for worker in at.workers if job.queue in worker.queues]
    if not serving:
        served = sorted({queue for worker in at.workers for queue in worker.queues})
        detail = f"no worker serves queue {job.queue!r}"
        detail += f" (served: {', '.join(served)})" if served else "; none is running"
        return (_no("worker", detail, f"oxmill worker -q {job.queue}"),)
    knowing = [worker for worker in serving if not worker.tasks or job.task in worker.tasks]
    if not knowing:
        detail = f"no worker of queue {job.queue!r} knows task {job.task!r}"
        return (_no("task", detail, "deploy the code that declares it, or give the task aliases"),)
    awake = [worker for worker in knowing if worker.phase == "running"]
    if not awake:
        detail = f"every worker of queue {job.queue!r} is {knowing[0].phase}"
        return (_no("worker", detail, f"oxmill worker -q {job.queue}"),)
    free = sum(max(worker.slots - worker.running, 0) for worker in awake)
    slots = sum(worker.slots for worker in awake)
    return (
        Gate(name="worker", open=True, detail=_count(len(awake), "worker") + " can run it"),
        Gate(
            name="slots",
            open=free > 0,
            detail=f"{free} of {slots} slots free" if free else f"all {slots} slots are busy",
            remedy="" if free else "start another worker, or give it more slots (-n)",
        ),
    )


def _no(name: str, detail: str, remedy: str) -> Gate:
    return Gate(name=name, open=False, detail=detail, remedy=remedy)


def _running(at: Situation) -> Explanation:
    job = at.job
    since = spell(max(at.now - (job.claimed_at or at.now), 0))
    here = any(worker.id == job.worker for worker in at.workers)
    gates = [
        Gate(
            name="worker",
            open=here,
            detail=f"worker {job.worker} {'is alive' if here else 'has not been heard of lately'}",
            remedy="" if here else "the job is taken back when its lease ends",
        )
    ]
    if job.lease_until is not None:
        left = job.lease_until - at.now
        state = f"ends in {spell(left)}" if left > 0 else f"lapsed {spell(-left)} ago"
        gates.append(
            Gate(
                name="lease",
                open=left > 0,
                detail=f"the lease {state} unless renewed",
                opens_at=job.lease_until,
            )
        )
    if job.cancel_requested:
        gates.append(_no("cancel", "it has been asked to stop", "the worker stops it at a renewal"))
    return Explanation(summary=f"running for {since} as attempt {job.attempt}", gates=tuple(gates))


def _ended(job: Job) -> Explanation:
    if job.state is State.SUCCEEDED:
        return Explanation(summary=f"succeeded in attempt {job.attempt}")
    error = f" {job.error.type}: {job.error.message}" if job.error is not None else ""
    match job.reason:
        case Reason.POISON:
            why = f"its lease lapsed {job.crashes} times (limit {job.crash_limit}): the worker "
            why += "crashed, froze or was cut off each time"
        case Reason.EXHAUSTED:
            why = f"it raised in {job.failures} of {job.max_attempts} attempts; the last:{error}"
        case Reason.REFUSED:
            why = f"it raised an error that is not tried again:{error}"
        case Reason.EXPIRED:
            why = "it had not started when it expired"
        case None:
            why = error.strip() or "no reason was recorded"
        case reason:
            why = f"{reason}{';' + error if error else ''}"
    return Explanation(summary=f"{job.state}: {why}", remedy=f"oxmill jobs retry {job.id}")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
