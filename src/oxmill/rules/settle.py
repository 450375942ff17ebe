"""From what happened in a run to what the store is told: pure decisions, one function each."""

from __future__ import annotations

from types import TracebackType
from typing import Final

from oxmill.errors import TooBig
from oxmill.model.bounds import DEFAULT_BOUNDS, Bounds
from oxmill.model.flow import FlowStep
from oxmill.model.job import LeasedJob, Reason
from oxmill.model.outcome import Cancel, Fail, RateLimited, Retry, Signal, Snooze
from oxmill.model.rule import Scope
from oxmill.model.settings import SECOND
from oxmill.model.settlement import Failure, Outcome, Settlement
from oxmill.model.value import Micros
from oxmill.rules.backoff import delay_after
from oxmill.rules.duration import micros
from oxmill.rules.tracebacks import traceback_text

UNKNOWN_TASK: Final = "TaskNotFound"
UNKNOWN_FIRST: Final[Micros] = 10 * SECOND
UNKNOWN_LONGEST: Final[Micros] = 300 * SECOND
_MESSAGE: Final = 8_000
_TRACEBACK: Final = 24_000
"""Characters kept of an error, so that a huge one costs little on its way to the store, which
cuts it to its own bounds."""


def completed(
    job: LeasedJob,
    result: bytes | None,
    bounds: Bounds = DEFAULT_BOUNDS,
    flow: FlowStep | None = None,
) -> Settlement:
    """It returned: succeeded, or failed for good if the result is over the store's limit. With a
    step of its flow it goes on there, or is held until the jobs that it spawned have ended."""
    if result is not None and len(result) > bounds.result_bytes:
        return refused(
            job,
            TooBig(
                f"the result takes {len(result):,} bytes; the limit is {bounds.result_bytes:,}. "
                f"Store the data elsewhere and return a reference"
            ),
        )
    return Settlement(
        id=job.id, token=job.token, outcome=Outcome.COMPLETE, result=result, flow=flow
    )


def raised(job: LeasedJob, error: BaseException, policy: Retry, chance: float) -> Settlement:
    """It raised: a signal has its way; an error is tried again if the policy says so.

    Whether an attempt is left is for the store to say. What is not an `Exception` at all, such as
    `SystemExit` or a cancellation from inside, is no decision about the job: it is tried again. A
    policy that cannot be followed fails the job for good and says why.
    """
    if isinstance(error, Signal):
        return signalled(job, error, policy, chance)
    try:
        give_up = isinstance(error, policy.give_up_on)
        if give_up or (isinstance(error, Exception) and not isinstance(error, policy.on)):
            return refused(job, error)
        return again(job, failure_of(error), policy, chance)
    except Exception as trouble:  # noqa: BLE001 - a run without a conclusion would hold its slot for ever
        trouble.__context__ = error
        return refused(job, trouble)


def signalled(job: LeasedJob, signal: Signal, policy: Retry, chance: float) -> Settlement:
    """The task said itself how its run ends, by raising or by returning a signal. One that makes no
    sense, such as a delay of "soon", fails the job for good and says why."""
    try:
        return _meant(job, signal, policy, chance)
    except Exception as error:  # noqa: BLE001 - a run without a conclusion would hold its slot for ever
        return refused(job, error)


def _meant(job: LeasedJob, signal: Signal, policy: Retry, chance: float) -> Settlement:
    match signal:
        case Snooze():
            return snoozed(job, micros(signal.delay))
        case RateLimited():
            scope = Scope.QUEUE if signal.scope == "queue" else Scope.GROUP
            return rate_limited(job, micros(signal.retry_after), scope)
        case Cancel():
            return cancelled(job, signal.reason or None)
        case Fail():
            cause = None if signal.reason else signal.__cause__
            return refused(job, cause or signal)
        case Retry(after=after) if after is not None:
            return _retried(job, failure_of(signal.__cause__ or signal), micros(after))
        case _:
            return again(job, failure_of(signal.__cause__ or signal), policy, chance)


def again(job: LeasedJob, failure: Failure, policy: Retry, chance: float) -> Settlement:
    """One attempt used up, and another one after the policy's backoff, if one is left."""
    return _retried(job, failure, delay_after(policy, job.failures + 1, chance))


def refused(job: LeasedJob, error: BaseException) -> Settlement:
    """Failed for good: trying again cannot help, or must not happen."""
    return Settlement(
        id=job.id,
        token=job.token,
        outcome=Outcome.FAIL,
        error=failure_of(error),
        reason=Reason.REFUSED,
    )


def unreadable(job: LeasedJob, fault: str) -> Settlement:
    """Failed for good: the store cannot tell what the job is, so it must not run as something else."""
    return Settlement(
        id=job.id,
        token=job.token,
        outcome=Outcome.FAIL,
        error=Failure(
            type="UnreadableJob",
            message=storable(
                f"what the store holds about this job cannot be read, so it was not run: {fault}. "
                f"Mend or purge it, and enqueue the work again"
            ),
        ),
        reason=Reason.REFUSED,
    )


def unknown_task(job: LeasedJob, name: str) -> Settlement:
    """Put off without using up an attempt: a worker with newer code may know what is to run, which
    is the task, or a function in which it goes on. What was missing is kept with the attempt."""
    delay = min(UNKNOWN_FIRST << min(job.token.attempt - 1, 10), UNKNOWN_LONGEST)
    what = "task" if name == job.task else "step"
    return Settlement(
        id=job.id,
        token=job.token,
        outcome=Outcome.SNOOZE,
        delay=delay,
        error=Failure(
            type=UNKNOWN_TASK,
            message=storable(
                f"the worker knows no {what} {name!r}; put off for one with newer code"
            )[:_MESSAGE],
        ),
    )


def snoozed(job: LeasedJob, delay: Micros) -> Settlement:
    """Run again later; uses up nothing."""
    return Settlement(id=job.id, token=job.token, outcome=Outcome.SNOOZE, delay=delay)


def released(job: LeasedJob) -> Settlement:
    """Back to its old place in line; uses up nothing."""
    return Settlement(id=job.id, token=job.token, outcome=Outcome.RELEASE)


def unprepared(job: LeasedJob) -> Settlement:
    """Put off without using up an attempt: the store did not give what the run needs."""
    return snoozed(job, SECOND)


def goes_on(settlement: Settlement) -> bool:
    """Whether the job is held to go on later, though this run has completed."""
    return settlement.flow is not None and settlement.flow.resume is not None


SPAWNED: Final = "spawned"
_COMPLETE: Final = Outcome.COMPLETE.value


def foreseen(job: LeasedJob, settlement: Settlement) -> str:
    """What the store will make of a settlement, as the log tells it: a retry without an attempt left
    fails the job, and a run that has spawned others has not completed it."""
    outcome = settlement.outcome
    if outcome is Outcome.COMPLETE:
        return SPAWNED if settlement.flow is not None and goes_on(settlement) else _COMPLETE
    if outcome is Outcome.RETRY and job.failures + 1 >= job.max_attempts:
        return Outcome.FAIL.value
    return outcome.value


def rate_limited(job: LeasedJob, length: Micros, scope: Scope) -> Settlement:
    """Back to its old place in line, behind a gate that stays closed for this long."""
    return Settlement(
        id=job.id, token=job.token, outcome=Outcome.RELEASE, delay=length, closes=scope
    )


def without_gates(settlement: Settlement) -> Settlement:
    """What a store that has no gates to close is told instead: this job alone runs later."""
    if settlement.closes is None:
        return settlement
    return Settlement(
        id=settlement.id,
        token=settlement.token,
        outcome=Outcome.SNOOZE,
        delay=settlement.delay,
    )


def cancelled(job: LeasedJob, reason: str | None = None) -> Settlement:
    """Ended because somebody asked it to; without a reason here, for the one that was given then."""
    return Settlement(id=job.id, token=job.token, outcome=Outcome.CANCEL, reason=reason)


def unstorable(settlement: Settlement, error: BaseException) -> Settlement:
    """What is told instead of a settlement that the store cannot take: a failure that says why."""
    return Settlement(
        id=settlement.id,
        token=settlement.token,
        outcome=Outcome.FAIL,
        error=Failure(
            type="UnstorableOutcome",
            message=storable(f"the outcome {settlement.outcome} could not be stored: {error}"),
        ),
        reason=Reason.REFUSED,
    )


def _retried(job: LeasedJob, failure: Failure, delay: Micros) -> Settlement:
    return Settlement(id=job.id, token=job.token, outcome=Outcome.RETRY, error=failure, delay=delay)


def failure_of(error: BaseException) -> Failure:
    """An error as recorded: always storable text, never raises, whatever the error does."""
    kind = type(error)
    plain = kind.__module__ == "builtins" or kind.__module__.startswith("oxmill.")
    name = kind.__qualname__ if plain else f"{kind.__module__}.{kind.__qualname__}"
    return Failure(
        type=storable(name)[:200],
        message=storable(_text(error))[:_MESSAGE],
        traceback=storable(_trace(error))[-_TRACEBACK:],
    )


def _text(error: BaseException) -> str:
    try:
        return str(error)[: 2 * _MESSAGE]
    except Exception as trouble:  # noqa: BLE001 - an error that cannot be told is still recorded
        return f"<str() of this error raised {type(trouble).__name__}>"


def _trace(error: BaseException) -> str:
    if error.__traceback__ is None:
        return ""
    try:
        return traceback_text(error, _below_the_worker(error.__traceback__))
    except Exception as trouble:  # noqa: BLE001 - as above
        return f"<the traceback could not be written: {type(trouble).__name__}>"


def _below_the_worker(trace: TracebackType) -> TracebackType:
    """The part of a traceback that is the user's: the worker's own frames on top say nothing."""
    inner: TracebackType | None = trace
    while inner is not None:
        if not str(inner.tb_frame.f_globals.get("__name__")).startswith("oxmill.worker"):
            return inner
        inner = inner.tb_next
    return trace


def storable(text: str) -> str:
    """Text that every store takes: no half surrogates, no NUL."""
    if text.isascii():
        return text.replace("\0", "\\0")
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")
