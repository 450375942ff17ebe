"""Redriving: failed and cancelled jobs get a fresh start, and their past is kept."""

from __future__ import annotations

import pytest

from oxmill.model.job import LeasedJob
from oxmill.model.query import Cancel, Filter, Redrive
from oxmill.model.settlement import Failure, Outcome, Ruling
from oxmill.model.state import State
from oxmill.model.unique import UniqueKey
from oxmill.testing.conformance.world import QUEUE, World, by_id, new_job

BOOM = Failure(type="ValueError", message="boom")


async def failed(world: World, job_id: str = "a", **options: object) -> LeasedJob:
    """The lease under which a job has failed."""
    await world.enqueue(new_job(job_id, **options))
    (lease,) = await world.claim()
    await world.settle(lease, Outcome.FAIL, error=BOOM)
    return lease


async def test_a_failed_job_waits_again_with_fresh_counts(world: World) -> None:
    await failed(world)

    steered = await world.do(Redrive(filter=by_id("a")))

    job = await world.job("a")
    assert (steered.ids, steered.queues) == (("a",), (QUEUE,))
    assert job is not None
    assert (job.state, job.failures, job.crashes) == (State.WAITING, 0, 0)
    assert (job.result, job.error, job.reason, job.ended_at) == (None, None, None, None)


async def test_the_attempt_number_goes_on_and_history_is_kept(world: World) -> None:
    first = await failed(world)
    await world.do(Redrive(filter=by_id("a")))

    (second,) = await world.claim(worker="w2")
    await world.settle(second, Outcome.COMPLETE)

    job = await world.job("a")
    assert job is not None
    assert second.token.attempt == first.token.attempt + 1
    assert [(past.worker, past.outcome) for past in job.history] == [
        ("w1", Outcome.FAIL),
        ("w2", Outcome.COMPLETE),
    ]


@pytest.mark.parametrize("outcome", list(Outcome))
async def test_stale_tokens_stay_stale(world: World, outcome: Outcome) -> None:
    stale = await failed(world)
    await world.do(Redrive(filter=by_id("a")))
    waiting = await world.settle(stale, outcome)
    (lease,) = await world.claim()

    running = await world.settle(stale, outcome)

    assert (waiting.ruling, waiting.state) == (Ruling.LOST, State.WAITING)
    assert (running.ruling, running.state) == (Ruling.LOST, State.RUNNING)
    assert (await world.settle(lease, Outcome.COMPLETE)).ruling is Ruling.WON


async def test_a_poisonous_job_gets_all_its_crashes_back(world: World) -> None:
    await world.enqueue(new_job("a", crash_limit=2))
    for _ in range(2):
        await world.claim(lease=world.span(1))
        await world.pass_time(world.span(2))
    assert await world.claim() == ()
    await world.do(Redrive(filter=by_id("a")))

    (lease,) = await world.claim(lease=world.span(1))
    await world.pass_time(world.span(2))
    (after,) = await world.claim()

    assert (lease.crashes, after.crashes) == (0, 1)


async def test_it_joins_the_end_of_the_line(world: World) -> None:
    await failed(world)
    await world.enqueue("b")

    await world.do(Redrive(filter=by_id("a")))

    assert [job.id for job in await world.claim(9)] == ["b", "a"]


async def test_a_cancelled_job_can_be_redriven(world: World) -> None:
    await world.enqueue("a")
    await world.do(Cancel(filter=by_id("a"), reason="oops"))

    await world.do(Redrive(filter=by_id("a")))

    (lease,) = await world.claim()
    assert lease.token.attempt == 1
    job = await world.job("a")
    assert job is not None
    assert (job.reason, job.cancel_requested) == (None, False)


async def test_a_job_that_was_asked_to_stop_forgets_it(world: World) -> None:
    await world.enqueue("a")
    (lease,) = await world.claim()
    await world.do(Cancel(filter=by_id("a")))
    await world.settle(lease, Outcome.RELEASE)
    await world.do(Redrive(filter=by_id("a")))

    (again,) = await world.claim()

    assert (await world.settle(again, Outcome.RELEASE)).state is State.WAITING


async def test_an_expired_job_gets_its_chance(world: World) -> None:
    await world.enqueue(new_job("a", expires_in=world.span(1)))
    await world.pass_time(world.span(2))
    assert await world.claim() == ()

    await world.do(Redrive(filter=by_id("a")))

    assert [job.id for job in await world.claim()] == ["a"]


async def test_live_and_succeeded_jobs_are_left_alone(world: World) -> None:
    await world.enqueue("done", "running", "waiting", new_job("later", delay=world.span(9)))
    done, _ = await world.claim(2)
    await world.settle(done, Outcome.COMPLETE, result=b"1")
    ids = ("done", "running", "waiting", "later")
    before = [await world.job(each) for each in ids]

    steered = await world.do(Redrive(filter=by_id(*ids)))

    assert steered.ids == ()
    assert [await world.job(each) for each in ids] == before


async def test_a_job_whose_key_is_taken_is_left_alone(world: World) -> None:
    key = UniqueKey(key="k")
    await failed(world, unique=key)
    await world.enqueue(new_job("b", unique=key))
    before = await world.job("a")

    steered = await world.do(Redrive(filter=by_id("a")))

    assert (steered.ids, steered.more) == ((), False)
    assert await world.job("a") == before


async def test_a_redriven_job_takes_its_key_again(world: World) -> None:
    key = UniqueKey(key="k")
    await failed(world, unique=key)
    await world.do(Redrive(filter=by_id("a")))

    (answer,) = await world.enqueue(new_job("b", unique=key))

    assert answer.id == "a"
    assert await world.job("b") is None


async def test_only_one_of_two_with_the_same_key_is_redriven(world: World) -> None:
    key = UniqueKey(key="k")
    await failed(world, "a", unique=key)
    await failed(world, "b", unique=key)

    steered = await world.do(Redrive(filter=by_id("a", "b")))

    assert len(steered.ids) == 1
    assert len(await world.claim(9)) == 1


async def test_many_are_redriven_by_filter_in_bounded_calls(world: World) -> None:
    for number in range(5):
        await failed(world, f"job-{number}")
    request = Redrive(filter=Filter(states=(State.FAILED,)), limit=2)

    first = await world.do(request)
    second = await world.do(request)
    third = await world.do(request)

    assert [len(each.ids) for each in (first, second, third)] == [2, 2, 1]
    assert [each.more for each in (first, second, third)] == [True, True, False]
    assert len(await world.claim(9)) == 5
