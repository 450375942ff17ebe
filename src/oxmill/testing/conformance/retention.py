"""Retention: ended jobs are kept as long as asked, and no longer."""

from __future__ import annotations

import pytest

from oxmill.model.info import ListQueues, Prune
from oxmill.model.job import Verdict
from oxmill.model.query import Cancel, Filter, Find
from oxmill.model.settings import PutSettings, QueueSettings
from oxmill.model.settlement import Outcome, Ruling
from oxmill.model.state import State
from oxmill.testing.conformance.world import QUEUE, World, almost, by_id, new_job


async def test_a_job_with_nothing_to_keep_is_deleted_as_it_ends(world: World) -> None:
    await world.enqueue(new_job("a", keep=0, fields={"user": 1}, tags=("t",)))
    (lease,) = await world.claim()

    won = await world.settle(lease, Outcome.COMPLETE, result=b"1")
    gone = await world.settle(lease, Outcome.COMPLETE, result=b"1")

    assert (won.ruling, won.state) == (Ruling.WON, State.SUCCEEDED)
    assert (gone.ruling, gone.state) == (Ruling.GONE, None)
    assert await world.job("a") is None
    assert (await world.do(Find())).jobs == ()


async def test_what_one_batch_kept_says_nothing_about_the_next(world: World) -> None:
    """Drivers may try first what was true of the last batch; they must not believe it."""
    for number, keep in enumerate((0, 0, None, None, 0, 0, None, 0, None)):
        job_id = f"job-{number}"
        await world.enqueue(new_job(job_id, keep=keep))
        (lease,) = await world.claim()

        won = await world.settle(lease, Outcome.COMPLETE)

        assert won.ruling is Ruling.WON
        assert (await world.job(job_id) is None) is (keep == 0)


async def test_its_id_may_be_used_again(world: World) -> None:
    await world.enqueue(new_job("a", keep=0))
    (lease,) = await world.claim()
    await world.settle(lease, Outcome.COMPLETE)

    (answer,) = await world.enqueue(new_job("a", payload=b"other"))

    assert answer.verdict is Verdict.CREATED
    (again,) = await world.claim()
    assert again.payload == b"other"


async def test_nothing_to_keep_means_nothing_after_a_cancel_either(world: World) -> None:
    await world.enqueue(new_job("a", keep=0))

    steered = await world.do(Cancel(filter=by_id("a")))

    assert steered.ids == ("a",)
    assert await world.job("a") is None


async def test_a_job_that_goes_on_is_not_deleted(world: World) -> None:
    await world.enqueue(new_job("a", keep=0))
    (lease,) = await world.claim()

    await world.settle(lease, Outcome.RETRY)

    assert [job.id for job in await world.claim()] == ["a"]


async def test_an_ended_job_is_pruned_after_its_time(world: World) -> None:
    keep = world.span(6)
    await world.enqueue(new_job("a", keep=keep), new_job("live", keep=world.span(1)))
    (lease,) = await world.claim()
    await world.settle(lease, Outcome.COMPLETE)

    await world.pass_time(almost(world, keep))
    early = await world.do(Prune())
    await world.pass_time(keep - almost(world, keep))
    late = await world.do(Prune())

    assert (early.jobs, late.jobs) == (0, 1)
    assert await world.job("a") is None
    assert await world.job("live") is not None


@pytest.mark.parametrize("outcome", [Outcome.COMPLETE, Outcome.FAIL, Outcome.CANCEL])
async def test_the_queue_says_how_long_to_keep_what_does_not_say_it(
    world: World, outcome: Outcome
) -> None:
    short, long = world.span(3), world.span(3_000)
    settings = QueueSettings(
        keep_succeeded=short if outcome is Outcome.COMPLETE else long,
        keep_failed=short if outcome is Outcome.FAIL else long,
        keep_cancelled=short if outcome is Outcome.CANCEL else long,
    )
    await world.do(PutSettings(queue=QUEUE, settings=settings))
    await world.enqueue("a", new_job("b", keep=long))
    for lease in await world.claim(2):
        await world.settle(lease, outcome)

    await world.pass_time(world.span(4))
    pruned = await world.do(Prune())

    assert pruned.jobs == 1
    assert await world.job("a") is None
    assert await world.job("b") is not None


async def test_a_queue_may_keep_nothing(world: World) -> None:
    await world.do(PutSettings(queue=QUEUE, settings=QueueSettings(keep_succeeded=0)))
    await world.enqueue("a", "b")
    a, b = await world.claim(2)

    await world.settle(a, Outcome.COMPLETE)
    await world.settle(b, Outcome.FAIL)

    assert await world.job("a") is None
    assert await world.job("b") is not None


async def test_new_settings_hold_for_later_ends(world: World) -> None:
    await world.enqueue("a")
    (lease,) = await world.claim()
    await world.do(PutSettings(queue=QUEUE, settings=QueueSettings(keep_succeeded=0)))

    await world.settle(lease, Outcome.COMPLETE)

    assert await world.job("a") is None


async def test_pruning_is_bounded_and_says_whether_more_is_left(world: World) -> None:
    await world.enqueue(*(new_job(f"job-{number}", keep=world.span(1)) for number in range(5)))
    for lease in await world.claim(5):
        await world.settle(lease, Outcome.COMPLETE)
    await world.pass_time(world.span(2))

    answers = [await world.do(Prune(limit=2)) for _ in range(3)]

    assert [answer.jobs for answer in answers] == [2, 2, 1]
    assert [answer.more for answer in answers] == [True, True, False]


async def test_a_pruned_job_leaves_nothing_but_the_totals(world: World) -> None:
    await world.enqueue(new_job("a", keep=world.span(1), fields={"user": 7}, tags=("t",)))
    (lease,) = await world.claim()
    await world.settle(lease, Outcome.COMPLETE)
    await world.pass_time(world.span(2))

    await world.do(Prune())

    (queue,) = (await world.do(ListQueues(queues=(QUEUE,)))).items
    assert (dict(queue.counts), dict(queue.totals)) == ({}, {State.SUCCEEDED: 1})
    assert (await world.settle(lease, Outcome.COMPLETE)).ruling is Ruling.GONE
    for wanted in (Filter(fields={"user": 7}), Filter(tag="t"), Filter()):
        assert (await world.do(Find(filter=wanted))).jobs == ()
