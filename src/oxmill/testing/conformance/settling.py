"""Settling: every lease ends in one way, and the winner may say it twice."""

from __future__ import annotations

from typing import Any

import pytest

from oxmill.errors import BadInput, TooBig
from oxmill.model.claim import Claim
from oxmill.model.job import Attempt, LeasedJob, Reason
from oxmill.model.query import Purge, Redrive
from oxmill.model.settlement import Failure, Outcome, Ruling, Settle, Settled, Settlement
from oxmill.model.state import State
from oxmill.model.token import Token
from oxmill.store.plan import together
from oxmill.testing.conformance.world import QUEUE, World, almost, by_id, new_job

BOOM = Failure(type="ValueError", message="boom", traceback="Traceback …")


async def leased(world: World, job_id: str = "a", **options: Any) -> LeasedJob:
    await world.enqueue(new_job(job_id, **options))
    (lease,) = await world.claim()
    assert lease.id == job_id
    return lease


async def line(world: World) -> list[str]:
    return [job.id for job in await world.claim(9)]


async def test_a_completed_job_has_succeeded_with_its_result(world: World) -> None:
    lease = await leased(world)

    answer = await world.settle(lease, Outcome.COMPLETE, result=b"\x00 42")

    job = await world.job("a")
    assert answer == Settled(id="a", ruling=Ruling.WON, state=State.SUCCEEDED, queue=QUEUE)
    assert job is not None
    assert (job.state, job.result, job.error) == (State.SUCCEEDED, b"\x00 42", None)
    assert job.ended_at is not None
    assert job.lease_until is None
    assert await world.claim() == ()


async def test_a_failed_job_keeps_its_error_and_is_not_tried_again(world: World) -> None:
    lease = await leased(world)

    answer = await world.settle(lease, Outcome.FAIL, error=BOOM)

    job = await world.job("a")
    assert answer.state is State.FAILED
    assert job is not None
    assert (job.state, job.error, job.failures) == (State.FAILED, BOOM, 1)
    assert job.reason == Reason.REFUSED
    assert await world.claim() == ()


async def test_a_failure_may_give_its_own_reason(world: World) -> None:
    lease = await leased(world)

    await world.settle(lease, Outcome.FAIL, error=BOOM, reason="no such task")

    job = await world.job("a")
    assert job is not None
    assert job.reason == "no such task"


async def test_a_task_may_cancel_itself(world: World) -> None:
    lease = await leased(world)

    answer = await world.settle(lease, Outcome.CANCEL, reason="not needed any more")

    job = await world.job("a")
    assert answer.state is State.CANCELLED
    assert job is not None
    assert (job.state, job.reason) == (State.CANCELLED, "not needed any more")
    assert job.failures == 0
    assert await world.claim() == ()


async def test_a_cancellation_without_a_reason_is_called_cancelled(world: World) -> None:
    lease = await leased(world)

    await world.settle(lease, Outcome.CANCEL)

    job = await world.job("a")
    assert job is not None
    assert job.reason == Reason.CANCELLED


async def test_a_retried_job_comes_back_after_its_delay(world: World) -> None:
    lease = await leased(world)

    answer = await world.settle(lease, Outcome.RETRY, error=BOOM, delay=world.span(3))

    job = await world.job("a")
    assert answer.state is State.SCHEDULED
    assert job is not None
    assert (job.state, job.failures, job.error) == (State.SCHEDULED, 1, BOOM)
    assert job.history[-1].ended_at is not None
    assert abs(job.due_at - job.history[-1].ended_at - world.span(3)) < world.span(0.1)
    assert await line(world) == []
    await world.pass_time(world.span(4))
    (again,) = await world.claim()
    assert (again.token.attempt, again.failures) == (2, 1)


@pytest.mark.parametrize("outcome", [Outcome.RETRY, Outcome.SNOOZE])
async def test_a_delay_of_nothing_means_the_end_of_the_line(world: World, outcome: Outcome) -> None:
    lease = await leased(world)
    await world.enqueue("b")

    answer = await world.settle(lease, outcome, delay=0)

    assert answer.state is State.WAITING
    assert await line(world) == ["b", "a"]


async def test_a_snoozed_job_comes_back_and_has_used_up_nothing(world: World) -> None:
    lease = await leased(world, max_attempts=1)

    delay = world.span(6)
    answer = await world.settle(lease, Outcome.SNOOZE, delay=delay)

    job = await world.job("a")
    assert answer.state is State.SCHEDULED
    assert job is not None
    assert (job.state, job.failures, job.crashes) == (State.SCHEDULED, 0, 0)
    await world.pass_time(almost(world, delay))
    assert await line(world) == []
    await world.pass_time(delay - almost(world, delay))
    assert await line(world) == ["a"]


async def test_a_snooze_may_say_why(world: World) -> None:
    lease = await leased(world)

    await world.settle(lease, Outcome.SNOOZE, delay=world.span(6), error=BOOM)

    job = await world.job("a")
    assert job is not None
    assert (job.state, job.failures, job.error) == (State.SCHEDULED, 0, BOOM)
    assert [(each.outcome, each.error) for each in job.history] == [("snooze", BOOM)]


async def test_a_released_job_goes_back_to_its_place_and_has_used_up_nothing(
    world: World,
) -> None:
    lease = await leased(world, max_attempts=1, crash_limit=1)
    await world.enqueue("b")

    answer = await world.settle(lease, Outcome.RELEASE)

    job = await world.job("a")
    assert answer == Settled(id="a", ruling=Ruling.WON, state=State.WAITING, queue=QUEUE)
    assert job is not None
    assert (job.failures, job.crashes, job.attempt) == (0, 0, 1)
    assert await line(world) == ["a", "b"]


async def test_a_promoted_job_goes_back_to_the_place_it_was_given_last(world: World) -> None:
    await world.enqueue(new_job("a", delay=world.span(1)), new_job("b"))
    await world.pass_time(world.span(2))
    leases = await world.claim(2)
    assert [lease.id for lease in leases] == ["b", "a"]

    for lease in reversed(leases):
        await world.settle(lease, Outcome.RELEASE)

    assert await line(world) == ["b", "a"]


@pytest.mark.parametrize("limit", [1, 2, 4])
async def test_attempts_are_bounded(world: World, limit: int) -> None:
    await world.enqueue(new_job("a", max_attempts=limit))
    states = []
    for _ in range(limit):
        (lease,) = await world.claim()
        states.append((await world.settle(lease, Outcome.RETRY, error=BOOM)).state)

    job = await world.job("a")
    assert states == [State.WAITING] * (limit - 1) + [State.FAILED]
    assert job is not None
    assert (job.state, job.reason) == (State.FAILED, Reason.EXHAUSTED)
    assert (job.failures, job.error) == (limit, BOOM)
    assert await line(world) == []


async def test_releases_and_snoozes_are_not_bounded(world: World) -> None:
    await world.enqueue(new_job("a", max_attempts=1, crash_limit=1))
    for outcome in [Outcome.RELEASE, Outcome.SNOOZE] * 3:
        (lease,) = await world.claim()
        await world.settle(lease, outcome)

    (lease,) = await world.claim()
    assert (lease.token.attempt, lease.failures, lease.crashes) == (7, 0, 0)


@pytest.mark.parametrize("outcome", list(Outcome))
async def test_the_winner_may_repeat_itself(world: World, outcome: Outcome) -> None:
    lease = await leased(world)
    first = await world.settle(lease, outcome, delay=world.span(5), result=b"1", error=BOOM)
    before = await world.job("a")
    await world.pass_time(world.span(1))

    again = await world.settle(lease, outcome, delay=world.span(5), result=b"1", error=BOOM)

    assert first.ruling is Ruling.WON
    assert again == first
    assert await world.job("a") == before


@pytest.mark.parametrize("second", list(Outcome))
@pytest.mark.parametrize("first", list(Outcome))
async def test_a_second_thought_of_the_same_holder_is_lost(
    world: World, first: Outcome, second: Outcome
) -> None:
    if first is second:
        return
    lease = await leased(world)
    won = await world.settle(lease, first, result=b"1")
    before = await world.job("a")

    lost = await world.settle(lease, second, result=b"2", error=BOOM, reason="other")

    assert (lost.ruling, lost.state) == (Ruling.LOST, won.state)
    assert await world.job("a") == before


async def test_the_repeat_of_the_last_retry_says_that_the_job_has_failed(world: World) -> None:
    lease = await leased(world, max_attempts=1)
    await world.settle(lease, Outcome.RETRY)

    again = await world.settle(lease, Outcome.RETRY)

    assert (again.ruling, again.state) == (Ruling.WON, State.FAILED)


async def test_a_repeat_after_the_next_claim_is_lost(world: World) -> None:
    lease = await leased(world)
    await world.settle(lease, Outcome.RELEASE)
    await world.claim(worker="w2")

    again = await world.settle(lease, Outcome.RELEASE)

    assert (again.ruling, again.state) == (Ruling.LOST, State.RUNNING)


async def test_a_repeat_after_a_redrive_is_lost(world: World) -> None:
    lease = await leased(world)
    await world.settle(lease, Outcome.FAIL)
    await world.do(Redrive(filter=by_id("a")))

    again = await world.settle(lease, Outcome.FAIL)

    assert (again.ruling, again.state) == (Ruling.LOST, State.WAITING)
    assert await line(world) == ["a"]


async def test_a_job_that_is_not_there_is_gone(world: World) -> None:
    lease = await leased(world)
    await world.settle(lease, Outcome.COMPLETE)
    await world.do(Purge(filter=by_id("a")))

    answer = await world.settle(lease, Outcome.COMPLETE)

    assert answer == Settled(id="a", ruling=Ruling.GONE, state=None)


async def test_a_job_that_was_never_claimed_cannot_be_settled(world: World) -> None:
    await world.enqueue("a")
    before = await world.job("a")
    item = Settlement(id="a", token=Token(0, 0), outcome=Outcome.COMPLETE)

    (answer,) = await world.do(Settle(items=(item,)))

    assert (answer.ruling, answer.state) == (Ruling.LOST, State.WAITING)
    assert await world.job("a") == before


async def test_settlements_of_a_batch_are_judged_each_for_itself(world: World) -> None:
    await world.enqueue("a", "b", "c", "d")
    a, b, c, d = await world.claim(4)
    await world.settle(b, Outcome.RELEASE)
    items = (
        Settlement(id="c", token=c.token, outcome=Outcome.COMPLETE, result=b"c"),
        Settlement(id="b", token=b.token, outcome=Outcome.COMPLETE),
        Settlement(id="none-such", token=Token(1, 1), outcome=Outcome.COMPLETE),
        Settlement(id="a", token=a.token, outcome=Outcome.RETRY, delay=world.span(9)),
        Settlement(id="d", token=d.token, outcome=Outcome.FAIL, error=BOOM),
        Settlement(id="d", token=d.token, outcome=Outcome.FAIL, error=BOOM),
        Settlement(id="c", token=c.token, outcome=Outcome.FAIL, error=BOOM),
    )

    answers = await world.do(Settle(items=items))

    assert [(answer.id, answer.ruling, answer.state) for answer in answers] == [
        ("c", Ruling.WON, State.SUCCEEDED),
        ("b", Ruling.LOST, State.WAITING),
        ("none-such", Ruling.GONE, None),
        ("a", Ruling.WON, State.SCHEDULED),
        ("d", Ruling.WON, State.FAILED),
        ("d", Ruling.WON, State.FAILED),
        ("c", Ruling.LOST, State.SUCCEEDED),
    ]


async def test_a_forged_token_loses_and_leaves_the_rest_of_its_batch_alone(world: World) -> None:
    a, b = await leased(world, "a"), await leased(world, "b")
    forged = (Token(a.token.attempt, -a.token.nonce), Token(-1, a.token.nonce))
    items = (
        *(Settlement(id="a", token=t, outcome=Outcome.COMPLETE, result=b"1") for t in forged),
        Settlement(id="b", token=b.token, outcome=Outcome.COMPLETE, result=b"2"),
    )

    answers = await world.do(Settle(items=items))

    job = await world.job("b")
    assert job is not None
    assert [answer.ruling for answer in answers] == [Ruling.LOST, Ruling.LOST, Ruling.WON]
    assert (job.state, job.result) == (State.SUCCEEDED, b"2")


async def test_an_empty_batch_of_settlements_is_answered_empty(world: World) -> None:
    assert await world.do(Settle(items=())) == ()


async def test_history_holds_every_attempt(world: World) -> None:
    await world.enqueue("a")
    expected = []
    for number, (outcome, error) in enumerate(
        [(Outcome.RETRY, BOOM), (Outcome.RELEASE, None), (Outcome.SNOOZE, None)], start=1
    ):
        (lease,) = await world.claim(worker=f"w{number}")
        running = await world.job("a")
        assert running is not None
        assert running.history[-1].outcome is None
        await world.pass_time(world.span(1))
        await world.settle(lease, outcome, error=error)
        expected.append((number, f"w{number}", outcome, error))
    await world.claim(worker="w4", lease=world.span(1))
    await world.pass_time(world.span(2))
    (lease,) = await world.claim(worker="w5")
    await world.settle(lease, Outcome.COMPLETE)

    job = await world.job("a")

    assert job is not None
    told = [(past.attempt, past.worker, past.outcome, past.error) for past in job.history]
    assert told == [*expected, (4, "w4", "lapse", None), (5, "w5", Outcome.COMPLETE, None)]
    moments = [moment for past in job.history for moment in (past.claimed_at, past.ended_at)]
    assert moments == sorted(moments, key=lambda moment: moment or 0)


async def test_a_running_attempt_is_part_of_the_history(world: World) -> None:
    await leased(world)

    job = await world.job("a")

    assert job is not None
    assert job.claimed_at is not None
    assert job.history == (Attempt(attempt=1, worker="w1", claimed_at=job.claimed_at),)


async def test_settle_and_claim_travel_together(world: World) -> None:
    await world.enqueue("a", "b", "c")
    first, second = await world.claim(2)
    settle = Settle(
        items=(
            Settlement(id="a", token=first.token, outcome=Outcome.COMPLETE),
            Settlement(id="b", token=second.token, outcome=Outcome.RETRY),
        )
    )
    claim = Claim(queues=(QUEUE,), limit=9, lease=world.span(60), worker="w1", nonce=5)

    settled, claimed = await world.perform(
        together(world.driver.settling.settle(settle), world.driver.claiming.claim(claim))
    )

    assert [answer.state for answer in settled] == [State.SUCCEEDED, State.WAITING]
    assert [(job.id, job.token) for job in claimed.jobs] == [("c", Token(1, 5)), ("b", Token(2, 5))]


async def test_a_result_over_the_limit_is_refused_and_the_lease_lives_on(world: World) -> None:
    lease = await leased(world)

    with pytest.raises(TooBig):
        await world.settle(
            lease, Outcome.COMPLETE, result=b"x" * (world.driver.bounds.result_bytes + 1)
        )

    job = await world.job("a")
    assert job is not None
    assert job.state is State.RUNNING
    assert (await world.settle(lease, Outcome.FAIL)).ruling is Ruling.WON


@pytest.mark.parametrize("delay", [-1, 2**60])
async def test_a_senseless_delay_is_refused(world: World, delay: int) -> None:
    lease = await leased(world)
    before = await world.job("a")

    with pytest.raises(BadInput):
        await world.settle(lease, Outcome.RETRY, delay=delay)

    assert await world.job("a") == before


async def test_a_long_error_is_cut_not_refused(world: World) -> None:
    lease = await leased(world)
    limit = world.driver.bounds.error_bytes
    long = Failure(type="E", message="m" * limit, traceback="t" * limit + "the end")

    answer = await world.settle(lease, Outcome.FAIL, error=long)

    job = await world.job("a")
    assert answer.ruling is Ruling.WON
    assert job is not None
    assert job.error is not None
    assert len(job.error.message.encode()) + len(job.error.traceback.encode()) <= limit
    assert job.error.message.startswith("mmm")
    assert job.error.traceback.endswith("the end")


@pytest.mark.parametrize("reason", ["half \ud800 of it", "long " * 100_000], ids=["half", "long"])
@pytest.mark.parametrize("outcome", [Outcome.FAIL, Outcome.CANCEL])
async def test_an_odd_reason_stops_no_settlement(
    world: World, outcome: Outcome, reason: str
) -> None:
    await world.enqueue("a", "b")
    a, b = await world.claim(2)
    items = (
        Settlement(id="a", token=a.token, outcome=outcome, reason=reason),
        Settlement(id="b", token=b.token, outcome=Outcome.COMPLETE),
    )

    answers = await world.do(Settle(items=items))

    job = await world.job("a")
    assert [answer.ruling for answer in answers] == [Ruling.WON, Ruling.WON]
    assert job is not None
    assert job.reason is not None
    assert job.reason.startswith(reason[:4])
    assert len(job.reason.encode()) < world.driver.bounds.error_bytes + 10


async def test_an_error_with_half_a_character_is_recorded_all_the_same(world: World) -> None:
    lease = await leased(world)
    odd = Failure(type="E", message="half \ud800 and NUL \x00", traceback="\udfff")

    answer = await world.settle(lease, Outcome.FAIL, error=odd)

    job = await world.job("a")
    assert answer.ruling is Ruling.WON
    assert job is not None
    assert job.error is not None
    assert job.error.message.startswith("half ")
