"""Why a job is where it is, and what has to happen before it runs."""

from __future__ import annotations

from typing import Final

from oxmill.model.flow import JoinPolicy
from oxmill.model.job import Attempt, Job, Reason
from oxmill.model.settlement import Outcome
from oxmill.model.state import State
from oxmill.model.value import Micros, Value
from oxmill.rules.duration import spell
from oxmill.rules.join import Turnout, overdue
from oxmill.rules.obstacles import limit_gates, rule_gates
from oxmill.rules.settle import UNKNOWN_TASK
from oxmill.rules.situation import Gate, Situation

PLAIN_ITEM: Final = "oxmill:bytes"
"""The task name of items of a plain work queue, which no worker runs."""


class Explanation(Value, frozen=True):
    """One sentence that says it all, and every gate behind it."""

    summary: str
    gates: tuple[Gate, ...] = ()
    remedy: str = ""
    """What a person can do about a job that has ended."""
    runs_at: Micros | None = None
    """For a job that has not started: the earliest moment at which every gate can be open, if that
    is known. Others may still be before it in line."""

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
        *rule_gates(at),
        *limit_gates(at),
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
    return Explanation(summary=summary, gates=gates, runs_at=_runs_at(at.now, closed))


def _runs_at(now: Micros, closed: list[Gate]) -> Micros | None:
    """When the last of the closed gates opens by itself, if all of them do."""
    moments = [gate.opens_at for gate in closed]
    known = [moment for moment in moments if moment is not None]
    return max([now, *known]) if len(known) == len(moments) else None


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
    detail = _held_for(job, len(at.missing))
    if at.missing:
        shown = [f"{other.id} is {other.state}" for other in at.missing[:5]]
        detail += f": {', '.join(shown)}" + (", …" if len(at.missing) > 5 else "")
    detail += _joined_by(job, at.now)
    remedy = f"oxmill flows show {job.flow}" if job.flow else ""
    return (Gate(name="dependencies", open=False, detail=detail, remedy=remedy),)


def _held_for(job: Job, missing: int) -> str:
    match job.reason:
        case Reason.CHILDREN:
            return f"it waits for {missing} of {_count(len(job.joined), 'job')} that it has spawned"
        case Reason.STAGED:
            return "its flow is still being enqueued; all of it starts when that is done"
        case None if job.after:
            return f"it waits for {missing} of {_count(len(job.after), 'job')} of its flow"
        case None:
            return "it waits for other jobs to end"
        case reason:
            return f"it is held ({reason})"


def _joined_by(job: Job, now: Micros) -> str:
    """When the join lets the job go, and what becomes of it at the deadline."""
    if job.join is None or job.reason == Reason.STAGED:
        return ""
    match job.join.policy:
        case JoinPolicy.ALL_SUCCEED:
            words = "it goes on when all have succeeded"
        case JoinPolicy.ALL_END:
            words = "it goes on when all have ended"
        case JoinPolicy.ANY:
            words = "it goes on when one has succeeded"
        case JoinPolicy.QUORUM:
            words = f"it goes on when {job.join.quorum} have succeeded"
    if job.join_until is not None:
        left = spell(max(job.join_until - now, 0))
        fires = overdue(job.join) is Turnout.FIRE
        words += f", or without the others in {left}" if fires else f", or fails in {left}"
    return f"; {words}"


def _due(at: Situation) -> tuple[Gate, ...]:
    job = at.job
    early = job.due_at - at.now
    if early <= 0:
        return (Gate(name="due time", open=True, detail=f"due since {spell(max(-early, 0))}"),)
    detail = f"it is due in {spell(early)}"
    remedy = f"oxmill jobs edit {job.id} --delay 0s"
    missed = _put_off(job)
    if missed is not None:
        detail += (
            f"; {missed.worker} took it last, but {missed.error.message}" if missed.error else ""
        )
        remedy = f"start a worker with the code that declares it, then: {remedy}"
    elif job.failures:
        detail += f", after failure {job.failures} of {job.max_attempts}"
        if job.error is not None:
            detail += f" ({job.error.type})"
    return (Gate(name="due time", open=False, detail=detail, opens_at=job.due_at, remedy=remedy),)


def _put_off(job: Job) -> Attempt | None:
    """The last attempt, if its worker did not know what it should run."""
    last = job.history[-1] if job.history else None
    unknown = last is not None and last.error is not None and last.error.type == UNKNOWN_TASK
    return last if unknown and last is not None and last.outcome == Outcome.SNOOZE else None


def _expiry(at: Situation) -> tuple[Gate, ...]:
    expires = at.job.expires_at
    if expires is None or at.job.attempt:  # only a job that was never claimed expires
        return ()
    if expires <= at.now:
        detail = f"it expired {spell(at.now - expires)} ago and will end as cancelled"
        return (Gate(name="expiry", open=False, detail=detail),)
    return (Gate(name="expiry", open=True, detail=f"expires in {spell(expires - at.now)}"),)


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
