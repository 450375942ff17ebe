"""Claiming: due jobs go out in order, each to one holder."""

from __future__ import annotations

import pytest

from oxmill.errors import BadInput
from oxmill.model.claim import Claim, ClaimIds
from oxmill.model.job import Reason
from oxmill.model.query import Edit
from oxmill.model.settlement import Outcome
from oxmill.model.state import State
from oxmill.testing.conformance.world import QUEUE, World, almost, by_id, new_job


def claim(world: World, limit: int = 9, queues: tuple[str, ...] = (QUEUE,)) -> Claim:
    return Claim(queues=queues, limit=limit, lease=world.span(60), worker="w1", nonce=7)


async def names(world: World, limit: int = 9, queues: tuple[str, ...] = (QUEUE,)) -> list[str]:
    return [job.id for job in await world.claim(limit, queues=queues)]


async def test_an_empty_store_gives_nothing(world: World) -> None:
    answer = await world.do(claim(world))

    assert answer.jobs == ()
    assert answer.next_due is None


async def test_a_lease_holds_everything_a_run_needs(world: World) -> None:
    asked = new_job(
        "a",
        payload=b"bytes",
        content_type="text/plain",
        priority=3,
        max_attempts=5,
        timeout=world.span(9),
        group="acme",
        headers={"trace": "1"},
    )
    await world.enqueue(asked)

    answer = await world.do(claim(world))

    (lease,) = answer.jobs
    for name in "id queue task payload content_type priority max_attempts timeout group headers":
        assert getattr(lease, name, None) == getattr(asked, name, None), name
    job = await world.job("a")
    assert job is not None
    assert (job.state, job.worker, job.attempt) == (State.RUNNING, "w1", 1)
    assert (job.claimed_at, job.lease_until) == (answer.now, answer.until)
    assert lease.enqueued_at == job.enqueued_at
    assert answer.until == answer.now + world.span(60)


async def test_first_come_first_served(world: World) -> None:
    await world.enqueue("c", "a")
    await world.enqueue("b")

    assert await names(world) == ["c", "a", "b"]


async def test_smaller_priorities_go_first(world: World) -> None:
    await world.enqueue(
        new_job("late", priority=1),
        new_job("first", priority=-1),
        new_job("second"),
        new_job("third"),
    )

    assert await names(world) == ["first", "second", "third", "late"]


async def test_rank_counts_across_all_queues_named(world: World) -> None:
    await world.enqueue(
        new_job("a1", queue="a", priority=1),
        new_job("b1", queue="b", priority=0),
        new_job("a2", queue="a", priority=0),
        new_job("b2", queue="b", priority=-1),
        new_job("c1", queue="c", priority=-9),
    )

    assert await names(world, queues=("a", "b")) == ["b2", "b1", "a2", "a1"]


async def test_queues_not_named_are_left_alone(world: World) -> None:
    await world.enqueue(new_job("a", queue="one"), new_job("b", queue="two"))

    assert await names(world, queues=("two", "none-such")) == ["b"]
    job = await world.job("a")
    assert job is not None
    assert job.state is State.WAITING


async def test_a_queue_named_twice_counts_once(world: World) -> None:
    await world.enqueue("a", "b")

    assert await names(world, queues=(QUEUE, QUEUE)) == ["a", "b"]


async def test_no_more_than_asked(world: World) -> None:
    await world.enqueue(*(f"job-{number}" for number in range(10)))

    assert len(await world.claim(3)) == 3
    assert len(await world.claim(4)) == 4
    assert len(await world.claim(9)) == 3
    assert await world.claim(9) == ()


async def test_a_claimed_job_is_not_given_again(world: World) -> None:
    await world.enqueue("a")
    await world.claim()

    assert await world.claim() == ()


async def test_a_delayed_job_does_not_start_early(world: World) -> None:
    delay = world.span(10)
    await world.enqueue(new_job("a", delay=delay))

    await world.pass_time(almost(world, delay))
    early = await names(world)
    await world.pass_time(delay - almost(world, delay))

    assert early == []
    assert await names(world) == ["a"]


async def test_due_jobs_join_the_line_by_due_time_behind_what_waits(world: World) -> None:
    await world.enqueue(
        new_job("third", delay=world.span(3)),
        new_job("first", delay=world.span(1)),
        new_job("second", delay=world.span(2)),
        new_job("waits"),
    )
    await world.pass_time(world.span(5))
    await world.enqueue("waits too")

    assert await names(world) == ["waits", "waits too", "first", "second", "third"]


async def test_priority_counts_more_than_waiting_time(world: World) -> None:
    await world.enqueue(new_job("waits"), new_job("urgent", priority=-1, delay=world.span(1)))
    await world.pass_time(world.span(2))

    assert await names(world) == ["urgent", "waits"]


async def test_a_job_in_line_past_its_expiry_ends_as_expired(world: World) -> None:
    await world.enqueue(new_job("a", expires_in=world.span(3)), new_job("b"))
    await world.pass_time(world.span(4))

    assert await names(world) == ["b"]
    job = await world.job("a")
    assert job is not None
    assert (job.state, job.reason, job.attempt) == (State.CANCELLED, Reason.EXPIRED, 0)


async def test_a_job_that_started_in_time_does_not_expire(world: World) -> None:
    await world.enqueue(new_job("a", expires_in=world.span(3)))
    (lease,) = await world.claim()
    await world.settle(lease, Outcome.RETRY, delay=world.span(4))
    await world.pass_time(world.span(5))

    assert await names(world) == ["a"]


async def test_the_caller_learns_when_to_come_back(world: World) -> None:
    await world.enqueue(
        new_job("soon", delay=world.span(20)),
        new_job("later", delay=world.span(40)),
        new_job("elsewhere", delay=world.span(1), queue="other"),
    )
    soon = await world.job("soon")
    assert soon is not None

    answer = await world.do(claim(world))

    assert answer.next_due == soon.due_at


async def test_the_end_of_a_lease_is_a_reason_to_come_back(world: World) -> None:
    await world.enqueue("a", new_job("later", delay=world.span(5_000)))

    granted = await world.do(claim(world))
    after = await world.do(claim(world))

    assert granted.next_due == granted.until
    assert after.next_due == granted.until


async def test_a_full_claim_says_nothing_about_coming_back(world: World) -> None:
    await world.enqueue("a", "b", new_job("later", delay=world.span(9)))

    assert (await world.do(claim(world, limit=1))).next_due is None


@pytest.mark.parametrize("limit", [0, -1, 10**9])
async def test_a_senseless_number_of_jobs_is_refused(world: World, limit: int) -> None:
    await world.enqueue("a")

    with pytest.raises(BadInput):
        await world.do(claim(world, limit=limit))

    assert await names(world) == ["a"]


@pytest.mark.parametrize("lease", [0, -1, 2**60])
async def test_a_senseless_lease_is_refused(world: World, lease: int) -> None:
    await world.enqueue("a")

    with pytest.raises(BadInput):
        await world.claim(lease=lease)

    assert await names(world) == ["a"]


def claim_ids(world: World, *ids: str) -> ClaimIds:
    return ClaimIds(ids=ids, lease=world.span(60), worker="w1", nonce=11)


async def test_jobs_can_be_claimed_by_id_in_the_order_named(world: World) -> None:
    await world.enqueue("a", "b", new_job("c", queue="other"))

    answer = await world.do(claim_ids(world, "c", "a"))

    assert [job.id for job in answer.jobs] == ["c", "a"]
    assert {job.token.nonce for job in answer.jobs} == {11}
    assert await names(world) == ["b"]


async def test_claiming_by_id_gives_only_what_a_claim_could_give(world: World) -> None:
    await world.enqueue(
        new_job("running"),
        new_job("early", delay=world.span(50)),
        new_job("expired", expires_in=world.span(1)),
        new_job("due", delay=world.span(1)),
        new_job("ready"),
    )
    await world.do(claim_ids(world, "running"))
    await world.pass_time(world.span(2))

    hints = claim_ids(world, "running", "early", "expired", "none-such", "due", "ready", "ready")
    answer = await world.do(hints)

    assert [job.id for job in answer.jobs] == ["due", "ready"]


async def test_claiming_by_id_takes_back_a_lapsed_lease(world: World) -> None:
    await world.enqueue("a")
    await world.claim(lease=world.span(1))
    await world.pass_time(world.span(2))

    answer = await world.do(claim_ids(world, "a"))

    (lease,) = answer.jobs
    assert (lease.token.attempt, lease.crashes) == (2, 1)


async def test_an_edited_job_is_claimed_by_its_new_rank(world: World) -> None:
    await world.enqueue("a", "b", "c")
    await world.do(Edit(filter=by_id("c"), priority=-1))

    assert await names(world) == ["c", "a", "b"]
