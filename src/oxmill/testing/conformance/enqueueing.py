"""Enqueueing: jobs come in once, whole, and all of a batch or none of it."""

from __future__ import annotations

from typing import Any

import pytest

from oxmill.errors import BadInput, NotSupported, TooBig
from oxmill.model.bounds import MAX_PRIORITY
from oxmill.model.info import ListQueues
from oxmill.model.job import Enqueue, Enqueued, Verdict
from oxmill.model.query import Find, Purge
from oxmill.model.settlement import Outcome
from oxmill.model.state import State
from oxmill.model.unique import UniqueKey
from oxmill.store.capabilities import Capability
from oxmill.testing.conformance.world import QUEUE, World, by_id, new_job


async def test_a_new_job_waits_in_line(world: World) -> None:
    (answer,) = await world.enqueue("a")

    assert answer == Enqueued(id="a", verdict=Verdict.CREATED, state=State.WAITING)
    assert [job.id for job in await world.claim(5)] == ["a"]


async def test_a_job_is_recorded_as_it_was_asked_for(world: World) -> None:
    asked = new_job(
        "a",
        queue="reports",
        task="render",
        payload=b"\x00\xffraw",
        content_type="application/octet-stream",
        priority=-7,
        max_attempts=4,
        crash_limit=2,
        timeout=world.span(30),
        group="acme",
        fields={"user_id": 62, "city": "Lyon"},
        tags=("nightly", "big"),
        headers={"traceparent": "00-ab-cd-01"},
    )

    await world.enqueue(asked)

    job = await world.job("a")
    assert job is not None
    same = (
        "id queue task payload content_type priority max_attempts crash_limit timeout group "
        "fields tags headers"
    )
    for name in same.split():
        assert getattr(job, name) == getattr(asked, name), name
    assert (job.state, job.attempt, job.failures, job.crashes) == (State.WAITING, 0, 0, 0)
    assert (job.result, job.error, job.reason, job.history) == (None, None, None, ())
    assert job.due_at == job.enqueued_at > 0


async def test_answers_come_in_the_order_of_the_batch(world: World) -> None:
    await world.enqueue("b")

    answers = await world.enqueue("c", "b", "a")

    assert [answer.id for answer in answers] == ["c", "b", "a"]
    verdicts = [answer.verdict for answer in answers]
    assert verdicts == [Verdict.CREATED, Verdict.DUPLICATE, Verdict.CREATED]


async def test_an_empty_batch_does_nothing(world: World) -> None:
    assert await world.enqueue() == ()


async def test_a_repeated_enqueue_makes_one_job(world: World) -> None:
    await world.enqueue("a")
    before = await world.job("a")

    (answer,) = await world.enqueue("a")

    assert answer == Enqueued(id="a", verdict=Verdict.DUPLICATE, state=State.WAITING)
    assert await world.job("a") == before
    assert len(await world.claim(5)) == 1


async def test_a_repeat_with_other_options_leaves_the_job_as_it_is(world: World) -> None:
    await world.enqueue("a")
    before = await world.job("a")

    (answer,) = await world.enqueue(new_job("a", priority=5, delay=world.span(9), tags=("x",)))

    assert answer.verdict is Verdict.DUPLICATE
    assert await world.job("a") == before


@pytest.mark.parametrize("other", [{"queue": "elsewhere"}, {"task": "other"}, {"payload": b"[]"}])
async def test_an_id_taken_by_other_content_is_a_conflict(
    world: World, other: dict[str, Any]
) -> None:
    await world.enqueue("a")
    before = await world.job("a")

    (answer,) = await world.enqueue(new_job("a", **other))

    assert answer.verdict is Verdict.ID_CONFLICT
    assert answer.id == "a"
    assert await world.job("a") == before


async def test_a_refused_batch_stores_nothing(world: World) -> None:
    await world.enqueue("b")

    answers = await world.enqueue(
        new_job("a"), new_job("b", payload=b"other"), new_job("c", queue="new-queue")
    )

    blamed = [answer.id for answer in answers if answer.verdict is Verdict.ID_CONFLICT]
    assert blamed == ["b"]
    assert await world.job("a") is None
    assert await world.job("c") is None
    queues = await world.do(ListQueues())
    assert [(queue.name, queue.counts) for queue in queues.items] == [(QUEUE, {State.WAITING: 1})]


async def test_the_same_job_twice_in_a_batch_is_made_once(world: World) -> None:
    answers = await world.enqueue("a", "a")

    assert [answer.verdict for answer in answers] == [Verdict.CREATED, Verdict.DUPLICATE]
    assert len(await world.claim(5)) == 1


async def test_one_id_with_two_contents_in_a_batch_is_a_conflict(world: World) -> None:
    answers = await world.enqueue(new_job("a"), new_job("a", payload=b"other"))

    assert answers[1].verdict is Verdict.ID_CONFLICT
    assert await world.job("a") is None


async def test_a_repeat_names_the_state_the_job_has_reached(world: World) -> None:
    await world.enqueue("a")
    (lease,) = await world.claim()
    (running,) = await world.enqueue("a")
    await world.settle(lease, Outcome.COMPLETE)

    (ended,) = await world.enqueue("a")

    assert running == Enqueued(id="a", verdict=Verdict.DUPLICATE, state=State.RUNNING)
    assert ended == Enqueued(id="a", verdict=Verdict.DUPLICATE, state=State.SUCCEEDED)
    assert await world.claim() == ()


async def test_a_purged_id_may_be_used_again(world: World) -> None:
    await world.enqueue("a")
    await world.do(Purge(filter=by_id("a")))

    (answer,) = await world.enqueue(new_job("a", payload=b"other"))

    assert answer.verdict is Verdict.CREATED
    assert [job.payload for job in await world.claim()] == [b"other"]


async def test_a_delayed_job_is_scheduled(world: World) -> None:
    (answer,) = await world.enqueue(new_job("a", delay=world.span(30)))

    job = await world.job("a")
    assert answer.state is State.SCHEDULED
    assert job is not None
    assert job.state is State.SCHEDULED
    assert job.due_at == job.enqueued_at + world.span(30)


async def test_run_at_counts_more_than_a_delay(world: World) -> None:
    await world.enqueue("now")
    now = await world.job("now")
    assert now is not None
    later = now.enqueued_at + world.span(1_000)

    (answer,) = await world.enqueue(new_job("a", run_at=later, delay=world.span(1)))

    job = await world.job("a")
    assert job is not None
    assert answer.state is State.SCHEDULED
    assert job.due_at == later


async def test_a_moment_in_the_past_is_now(world: World) -> None:
    (answer,) = await world.enqueue(new_job("a", run_at=1))

    assert answer.state is State.WAITING
    assert [job.id for job in await world.claim()] == ["a"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"priority": MAX_PRIORITY + 1},
        {"priority": -MAX_PRIORITY - 1},
        {"max_attempts": 0},
        {"crash_limit": 0},
        {"delay": -1},
        {"run_at": -1},
        {"run_at": 2**60},
        {"expires_in": -1},
        {"keep": -1},
        {"timeout": -1},
        {"fields": {"big": 2**63}},
        {"fields": {"flag": True}},
        {"priority": 1.5},
        {"timeout": 1.5},
        {"payload": "text"},
        {"content_type": b"text/plain"},
        {"tags": "tag"},
        {"tags": ("tag", 1)},
        {"headers": {"trace": 1}},
        {"headers": {1: "trace"}},
        {"unique": UniqueKey(key="k", within=1.5)},  # type: ignore[arg-type]
        {"fields": {"flags": (1, True)}},
        {"fields": {"nested": ((1,),)}},
        {"fields": {"half": 0.5}},
        {"fields": {"many": tuple(range(1_001))}},
    ],
    ids=str,
)
async def test_a_job_that_makes_no_sense_is_refused_with_its_batch(
    world: World, wrong: dict[str, Any]
) -> None:
    with pytest.raises(BadInput):
        await world.enqueue(new_job("a"), new_job("b", **wrong))

    assert (await world.do(Find())).jobs == ()


async def test_the_whole_range_of_priorities_is_kept_in_order(world: World) -> None:
    ranks = [MAX_PRIORITY, 1, 0, -1, -MAX_PRIORITY]
    await world.enqueue(*(new_job(f"p{rank}", priority=rank) for rank in ranks))

    assert [job.priority for job in await world.claim(9)] == sorted(ranks)


async def test_a_large_batch_keeps_its_order(world: World) -> None:
    ids = [f"job-{number}" for number in range(min(1_500, world.driver.bounds.batch_jobs))]

    await world.enqueue(*ids)

    taken = [job.id for _ in range(15) for job in await world.claim(100)]
    assert taken == ids


async def test_a_batch_over_the_limit_is_refused_whole(world: World) -> None:
    many = tuple(new_job(str(number)) for number in range(world.driver.bounds.batch_jobs + 1))

    with pytest.raises(TooBig):
        await world.do(Enqueue(jobs=many))

    assert (await world.do(Find())).jobs == ()


async def test_more_heavy_jobs_than_a_step_may_take_are_refused_whole(world: World) -> None:
    most = world.driver.bounds.heavy_jobs
    many = tuple(new_job(str(number), fields={"user": number}) for number in range(most + 1))

    with pytest.raises(TooBig):
        await world.do(Enqueue(jobs=many))

    assert (await world.do(Find())).jobs == ()


async def test_flows_are_refused_where_they_are_not_supported(world: World) -> None:
    if Capability.FLOWS in world.driver.capabilities:
        pytest.skip("this store supports flows")

    with pytest.raises(NotSupported):
        await world.enqueue(new_job("a", flow="f"))

    assert await world.job("a") is None
