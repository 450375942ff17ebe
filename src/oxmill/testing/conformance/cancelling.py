"""Cancelling: idle jobs end at once, running ones are asked to stop."""

from __future__ import annotations

import pytest

from oxmill.model.claim import Hold, Renew, Renewal
from oxmill.model.info import Sweep
from oxmill.model.job import LeasedJob, Reason
from oxmill.model.query import Cancel, Filter
from oxmill.model.settlement import Outcome, Ruling
from oxmill.model.state import State
from oxmill.testing.conformance.world import World, by_id, new_job


async def asked_to_stop(world: World, lease: int | None = None) -> LeasedJob:
    """A running job that was asked to stop."""
    await world.enqueue(new_job("a", crash_limit=5, max_attempts=1))
    (held,) = await world.claim(lease=world.span(3) if lease is None else lease)
    steered = await world.do(Cancel(filter=by_id("a"), reason="changed my mind"))
    assert (steered.ids, steered.asked) == ((), ("a",))
    return held


@pytest.mark.parametrize("delay", [0, 5], ids=["waiting", "scheduled"])
async def test_an_idle_job_ends_at_once(world: World, delay: int) -> None:
    await world.enqueue(new_job("a", delay=world.span(delay)))

    steered = await world.do(Cancel(filter=by_id("a"), reason="wrong address"))

    job = await world.job("a")
    assert (steered.ids, steered.asked, steered.more) == (("a",), (), False)
    assert job is not None
    assert (job.state, job.reason) == (State.CANCELLED, "wrong address")
    assert job.ended_at is not None
    await world.pass_time(world.span(6))
    assert await world.claim() == ()


async def test_without_a_reason_it_is_called_cancelled(world: World) -> None:
    await world.enqueue("a")

    await world.do(Cancel(filter=by_id("a")))

    job = await world.job("a")
    assert job is not None
    assert job.reason == Reason.CANCELLED


async def test_the_holder_learns_it_at_renewal_and_keeps_its_lease(world: World) -> None:
    held = await asked_to_stop(world)

    item = Renewal(id="a", token=held.token, progress=b"half way")
    answer = await world.do(Renew(items=(item,), lease=world.span(60)))

    job = await world.job("a")
    assert answer.holds == (Hold.CANCEL,)
    assert job is not None
    assert (job.state, job.cancel_requested) == (State.RUNNING, True)
    assert (job.progress, job.lease_until) == (b"half way", answer.until)


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (Outcome.COMPLETE, State.SUCCEEDED),
        (Outcome.FAIL, State.FAILED),
        (Outcome.CANCEL, State.CANCELLED),
        (Outcome.RETRY, State.CANCELLED),
        (Outcome.SNOOZE, State.CANCELLED),
        (Outcome.RELEASE, State.CANCELLED),
    ],
)
async def test_what_would_run_again_ends_as_cancelled(
    world: World, outcome: Outcome, state: State
) -> None:
    held = await asked_to_stop(world)

    answer = await world.settle(held, outcome, delay=world.span(1))
    again = await world.settle(held, outcome, delay=world.span(1))

    assert (answer.ruling, answer.state) == (Ruling.WON, state)
    assert again == answer
    await world.pass_time(world.span(2))
    assert await world.claim() == ()


@pytest.mark.parametrize("outcome", [Outcome.RELEASE, Outcome.CANCEL])
async def test_a_job_that_stopped_gives_the_reason_it_was_asked_with(
    world: World, outcome: Outcome
) -> None:
    held = await asked_to_stop(world)

    await world.settle(held, outcome)

    job = await world.job("a")
    assert job is not None
    assert job.reason == "changed my mind"


async def test_a_lapsed_lease_ends_as_cancelled_by_the_next_claim(world: World) -> None:
    await asked_to_stop(world)
    await world.pass_time(world.span(4))

    assert await world.claim(worker="w2") == ()

    job = await world.job("a")
    assert job is not None
    assert (job.state, job.reason) == (State.CANCELLED, "changed my mind")


async def test_a_lapsed_lease_ends_as_cancelled_by_a_sweep(world: World) -> None:
    await asked_to_stop(world)
    await world.pass_time(world.span(4))

    swept = await world.do(Sweep())

    job = await world.job("a")
    assert swept.ended == ("a",)
    assert job is not None
    assert job.state is State.CANCELLED


async def test_a_lapsed_job_that_waits_again_is_cancelled_for_good(world: World) -> None:
    await world.enqueue("a")
    (held,) = await world.claim(lease=world.span(3))
    await world.pass_time(world.span(4))
    await world.do(Sweep())

    steered = await world.do(Cancel(filter=by_id("a")))
    late = await world.settle(held, Outcome.COMPLETE)

    assert steered.ids == ("a",)
    assert (late.ruling, late.state) == (Ruling.LOST, State.CANCELLED)


async def test_ended_jobs_stay_as_they_are(world: World) -> None:
    await world.enqueue("a")
    (held,) = await world.claim()
    await world.settle(held, Outcome.COMPLETE)
    before = await world.job("a")

    steered = await world.do(Cancel(filter=by_id("a", "none-such")))

    assert (steered.ids, steered.asked) == ((), ())
    assert await world.job("a") == before


async def test_asking_twice_is_the_same_as_once(world: World) -> None:
    held = await asked_to_stop(world)

    await world.do(Cancel(filter=by_id("a"), reason="again"))

    assert (await world.settle(held, Outcome.COMPLETE)).state is State.SUCCEEDED


async def test_many_are_cancelled_by_filter_in_bounded_calls(world: World) -> None:
    await world.enqueue(*(f"job-{number}" for number in range(7)))
    await world.enqueue(new_job("other", queue="other"))
    request = Cancel(filter=Filter(queues=("mail",)), limit=3)

    answers = [await world.do(request) for _ in range(3)]

    assert [len(answer.ids) for answer in answers] == [3, 3, 1]
    assert [answer.more for answer in answers] == [True, True, False]
    other = await world.job("other")
    assert other is not None
    assert other.state is State.WAITING
    assert await world.claim() == ()


async def test_running_jobs_already_asked_do_not_stop_a_bounded_cancel(world: World) -> None:
    await world.enqueue("a", "b", "c", "d")
    await world.claim(2)
    request = Cancel(filter=Filter(queues=("mail",)), limit=2)

    for _ in range(6):
        if not (await world.do(request)).more:
            break

    states = [job.state for job in [await world.job("c"), await world.job("d")] if job]
    assert states == [State.CANCELLED, State.CANCELLED]
