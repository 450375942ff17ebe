import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oxmill.model.bounds import Bounds
from oxmill.model.flow import FlowStep
from oxmill.model.job import LeasedJob, Reason
from oxmill.model.outcome import Cancel, Fail, RateLimited, Retry, Snooze
from oxmill.model.rule import Scope
from oxmill.model.settlement import Outcome, Settlement
from oxmill.model.token import Token
from oxmill.rules import settle

POLICY = Retry(20, jitter=False)


def leased(**changes):
    values = {
        "id": "j1",
        "queue": "default",
        "task": "t",
        "payload": b"{}",
        "content_type": "application/json",
        "token": Token(1, 7),
        "priority": 0,
        "failures": 0,
        "crashes": 0,
        "max_attempts": 20,
        "enqueued_at": 0,
        "timeout": None,
        "group": None,
        "headers": {},
        "flow": None,
        "parent": None,
        "progress": None,
        "unique": None,
    }
    return LeasedJob(**(values | changes))


def raise_and_catch(error):
    with pytest.raises(type(error)) as caught:
        raise error
    return caught.value


def after(error, policy=POLICY, **changes):
    return settle.raised(leased(**changes), raise_and_catch(error), policy, 0.5)


def test_a_result_completes():
    settlement = settle.completed(leased(), b"42")

    assert settlement == Settlement(
        id="j1", token=Token(1, 7), outcome=Outcome.COMPLETE, result=b"42"
    )


def test_a_result_over_the_limit_fails_for_good():
    settlement = settle.completed(leased(), b"x" * 11, Bounds(result_bytes=10))

    assert (settlement.outcome, settlement.reason) == (Outcome.FAIL, "refused")
    assert settlement.error.type == "TooBig"
    assert settlement.result is None


@pytest.mark.parametrize(("failures", "told"), [(0, "retry"), (1, "retry"), (2, "fail")])
def test_a_retry_without_an_attempt_left_is_foreseen_as_a_failure(failures, told):
    job = leased(failures=failures, max_attempts=3)
    assert settle.foreseen(job, settle.raised(job, ValueError(), Retry(3), 0.5)) == told


def test_other_outcomes_are_foreseen_as_they_are():
    job = leased(max_attempts=1)
    held = settle.completed(job, None, flow=FlowStep(resume="go#1"))

    assert settle.foreseen(job, settle.completed(job, b"1")) == "complete"
    assert settle.foreseen(job, settle.completed(job, None, flow=FlowStep())) == "complete"
    assert settle.foreseen(job, held) == "spawned"
    assert settle.foreseen(job, settle.snoozed(job, 5)) == "snooze"


def test_an_exception_is_tried_again_after_the_backoff():
    settlement = after(ValueError("nope"), failures=3)

    assert (settlement.outcome, settlement.delay) == (Outcome.RETRY, 8_000_000)
    assert (settlement.error.type, settlement.error.message) == ("ValueError", "nope")
    assert "raise_and_catch" in settlement.error.traceback


def test_an_exception_that_the_policy_does_not_name_fails_for_good():
    settlement = after(ValueError("nope"), Retry(on=(OSError,)))

    assert (settlement.outcome, settlement.reason) == (Outcome.FAIL, "refused")


def test_an_exception_to_give_up_on_fails_for_good():
    assert after(FileNotFoundError(), Retry(give_up_on=(OSError,))).outcome is Outcome.FAIL


@pytest.mark.parametrize("error", [SystemExit(3), asyncio.CancelledError(), GeneratorExit()])
def test_what_is_not_an_exception_decides_nothing_about_the_job(error):
    assert after(error).outcome is Outcome.RETRY


def test_retry_after_a_time_of_its_own():
    settlement = after(Retry(after="30s"))

    assert (settlement.outcome, settlement.delay) == (Outcome.RETRY, 30_000_000)
    assert settlement.error.type.endswith("Retry")


def test_retry_without_a_time_follows_the_policy():
    assert after(Retry(), failures=1).delay == 2_000_000


def test_a_retry_with_a_cause_records_the_cause():
    retry = Retry(after=1)
    retry.__cause__ = raise_and_catch(KeyError("upstream"))

    assert after(retry).error.type == "KeyError"


def test_snooze_uses_up_nothing():
    settlement = after(Snooze("5m"))

    assert (settlement.outcome, settlement.delay) == (Outcome.SNOOZE, 300_000_000)
    assert settlement.error is None


def test_cancel_ends_with_its_reason():
    settlement = after(Cancel("no longer needed"))

    assert (settlement.outcome, settlement.reason) == (Outcome.CANCEL, "no longer needed")


def test_fail_is_failed_for_good_with_its_reason():
    settlement = after(raise_and_catch(Fail("no such order")))

    assert (settlement.outcome, settlement.reason) == (Outcome.FAIL, Reason.REFUSED)
    assert (settlement.error.type, settlement.error.message) == ("Fail", "no such order")


@pytest.mark.parametrize(
    ("reason", "type_", "message"),
    [("no such order", "Fail", "no such order"), ("", "KeyError", "'upstream'")],
)
def test_a_fail_with_a_cause_keeps_it(reason, type_, message):
    fail = Fail(reason)
    fail.__cause__ = raise_and_catch(KeyError("upstream"))
    error = after(raise_and_catch(fail)).error

    assert (error.type, error.message) == (type_, message)
    assert "KeyError: 'upstream'" in error.traceback


def test_an_unknown_task_is_put_off_longer_each_time_up_to_five_minutes():
    delays = [
        settle.unknown_task(leased(token=Token(n, 0)), "t").delay / 1e6 for n in (1, 2, 3, 6, 99)
    ]

    assert delays == [10, 20, 40, 300, 300]


class Unspeakable(Exception):
    def __str__(self):
        raise RuntimeError


@pytest.mark.parametrize(
    "error",
    [Unspeakable(), ValueError("half \ud800 pair"), ValueError("nul \0 byte"), ValueError("é\0")],
)
def test_every_error_becomes_text_that_stores_take(error):
    failure = settle.failure_of(raise_and_catch(error))

    for text in (failure.type, failure.message, failure.traceback):
        assert "\0" not in text
        text.encode()


def test_a_huge_error_is_cut():
    failure = settle.failure_of(raise_and_catch(ValueError("x" * 10_000_000)))

    assert len(failure.message) <= 8_000
    assert len(failure.traceback) <= 24_000


def test_frames_of_the_worker_are_left_out_of_tracebacks():
    def task():
        raise ValueError("mine")

    frame = {"__name__": "oxmill.worker.execution", "task": task}
    exec("def perform():\n    task()\n", frame)
    error = caught_from(frame["perform"])

    trace = settle.failure_of(error).traceback

    assert "in task" in trace
    assert "in perform" not in trace


def caught_from(call):
    try:
        call()
    except ValueError as error:
        # The frame of this function stands for the event loop's: not part of what a worker sees.
        return error.with_traceback(error.__traceback__.tb_next)
    raise AssertionError


def test_a_settlement_that_cannot_be_stored_becomes_a_failure_that_says_why():
    given = settle.completed(leased(), b"x")

    told = settle.unstorable(given, ValueError("too odd"))

    assert (told.id, told.token, told.outcome) == (given.id, given.token, Outcome.FAIL)
    assert "too odd" in told.error.message


@given(text=st.text())
def test_storable_text_is_unchanged_where_it_can_be(text):
    clean = settle.storable(text)

    clean.encode()
    assert "\0" not in clean
    if "\0" not in text and all(not 0xD800 <= ord(c) < 0xE000 for c in text):
        assert clean == text


@pytest.mark.parametrize(
    ("signal", "closes"),
    [
        (RateLimited("30s"), Scope.GROUP),
        (RateLimited(30, scope="group"), Scope.GROUP),
        (RateLimited(30, scope="queue"), Scope.QUEUE),
    ],
)
def test_who_is_rate_limited_gives_the_job_back_and_closes_a_gate(signal, closes):
    settlement = after(signal)

    assert settlement == Settlement(
        id="j1", token=Token(1, 7), outcome=Outcome.RELEASE, delay=30_000_000, closes=closes
    )


def test_without_gates_the_job_alone_runs_later():
    told = settle.without_gates(after(RateLimited("30s")))

    assert told == settle.snoozed(leased(), 30_000_000)
    assert settle.without_gates(settle.released(leased())) == settle.released(leased())


@pytest.mark.parametrize(
    "signal", [Snooze("soon"), Snooze(-1), Snooze(None), Retry(after="soon"), RateLimited("later")]
)
def test_a_signal_that_makes_no_sense_fails_for_good(signal):
    settlement = settle.raised(leased(), signal, POLICY, 0.5)

    assert settlement.outcome is Outcome.FAIL
    assert settlement.reason == Reason.REFUSED
    assert settlement.error is not None
