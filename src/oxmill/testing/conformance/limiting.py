"""Concurrency: never more running at once than the queue and the group allow (I14)."""

from __future__ import annotations

from typing import Any

import pytest

from oxmill.model.claim import Claim, Claimed, ClaimIds, Hold, Renew, Renewal
from oxmill.model.info import ListQueues, Sweep
from oxmill.model.query import Cancel, Edit, Purge, Redrive
from oxmill.model.settlement import Outcome, Ruling
from oxmill.model.state import State
from oxmill.model.unique import OnConflict, UniqueKey
from oxmill.store.capabilities import Capability
from oxmill.store.doorbell import work
from oxmill.testing.conformance.doorbell import listening, tells
from oxmill.testing.conformance.world import QUEUE, World, by_id, new_job, of_group

ENDS: list[tuple[Outcome, dict[str, Any]]] = [
    (Outcome.COMPLETE, {}),
    (Outcome.FAIL, {}),
    (Outcome.CANCEL, {}),
    (Outcome.RELEASE, {}),
    (Outcome.RETRY, {}),
    (Outcome.RETRY, {"delay": 60_000_000}),
    (Outcome.SNOOZE, {"delay": 60_000_000}),
]
"""Every way in which a holder lets go of its job."""


async def asked(world: World, limit: int = 9, lease: int | None = None) -> Claimed:
    request = Claim(
        queues=(QUEUE,),
        limit=limit,
        lease=lease or world.span(600),
        worker="w",
        nonce=next(world.nonces),
    )
    answer = await world.do(request)
    assert isinstance(answer, Claimed)
    return answer


async def test_a_queue_runs_no_more_than_its_concurrency(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.configure(concurrency=3)
    await world.enqueue("a", "b", "c", "d", "e")

    assert await world.ids(2) == ["a", "b"]
    assert await world.ids(9) == ["c"]
    assert await world.ids(9) == []


async def test_a_group_runs_no_more_than_its_concurrency(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.configure(group_concurrency=2)
    await world.enqueue(*of_group("a", 4), *of_group("b", 1), *of_group(None, 4))

    assert sorted(await world.ids(9)) == ["a1", "a2", "b1", "n1", "n2", "n3", "n4"]
    assert await world.ids(9) == []


async def test_a_full_group_does_not_hold_up_others(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.configure(group_concurrency=1)
    await world.fill(*of_group("a", 300))
    await world.enqueue(*of_group("b", 1), new_job("low", priority=5))

    assert sorted(await world.ids(9)) == ["a1", "b1", "low"]


async def test_both_limits_hold_at_once(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.configure(concurrency=4, group_concurrency=2)
    await world.enqueue(*of_group("a", 4), *of_group("b", 1))

    assert await world.ids(9) == ["a1", "b1", "a2"]
    await world.enqueue(*of_group("c", 3))
    assert await world.ids(9) == ["c1"]


@pytest.mark.parametrize(("outcome", "details"), ENDS)
async def test_every_settlement_frees_the_queue(
    world: World, outcome: Outcome, details: dict[str, Any]
) -> None:
    world.require(Capability.LIMITS)
    await world.configure(concurrency=1)
    await world.enqueue("a", "b")
    (lease,) = await world.claim(9)

    answer = await world.settle(lease, outcome, **details)

    assert QUEUE in answer.gained
    assert len(await world.ids(9)) == 1


@pytest.mark.parametrize(("outcome", "details"), ENDS)
async def test_every_settlement_frees_the_group(
    world: World, outcome: Outcome, details: dict[str, Any]
) -> None:
    world.require(Capability.LIMITS)
    await world.configure(group_concurrency=1)
    await world.enqueue(*of_group("a", 2))
    (lease,) = await world.claim(9)
    assert await world.ids(9) == []

    answer = await world.settle(lease, outcome, **details)

    assert QUEUE in answer.gained
    assert len(await world.ids(9)) == 1


async def test_a_lapsed_lease_frees_the_queue_and_the_group(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.configure(concurrency=2, group_concurrency=1)
    await world.enqueue(*of_group("a", 2), *of_group("b", 2))
    await world.claim(9, lease=world.span(1))

    await world.pass_time(world.span(2))

    assert sorted(await world.ids(9)) == ["a1", "b1"]


async def test_an_old_lease_counts_until_it_is_taken_back(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.configure(queue="other", concurrency=1)
    await world.enqueue(new_job("a", queue="other"), new_job("b", queue="other"))
    await world.claim(queues=("other",), lease=world.span(1))
    await world.pass_time(world.span(2))

    # The claim takes the lease back first, so that there is room; the job at the head is the same.
    assert await world.ids(9, queues=("other",)) == ["a"]


async def test_a_poisoned_and_a_cancelled_job_free_the_group(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.configure(group_concurrency=1)
    await world.enqueue(new_job("p", group="a", crash_limit=1), *of_group("a", 2))
    await world.claim(lease=world.span(1))
    await world.pass_time(world.span(2))
    swept = await world.do(Sweep())
    assert swept.queues == (QUEUE,)
    (lease,) = await world.claim(lease=world.span(2))
    await world.do(Cancel(filter=by_id(lease.id)))
    assert await world.ids(9) == []

    await world.pass_time(world.span(3))

    assert await world.ids(9) == ["a2"]


async def test_a_holder_that_comes_back_too_late_is_refused_where_others_took_its_room(
    world: World,
) -> None:
    world.require(Capability.LIMITS)
    await world.configure(concurrency=1)
    await world.enqueue("a", new_job("b", priority=-1, delay=world.span(1)))
    (lease,) = await world.claim(lease=world.span(1))
    await world.pass_time(world.span(2))
    assert await world.ids(9) == ["b"]

    renewal = Renew(items=(Renewal(id="a", token=lease.token),), lease=world.span(60))
    refused = await world.do(renewal)

    assert refused.holds == (Hold.LOST,)
    job = await world.job("a")
    assert job is not None
    assert job.state is State.WAITING


async def test_a_holder_that_comes_back_late_is_heard_where_there_is_room(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.configure(concurrency=2, group_concurrency=1)
    await world.enqueue(new_job("a", group="g"))
    (lease,) = await world.claim(lease=world.span(1))
    await world.pass_time(world.span(2))
    await world.do(Sweep())

    renewal = Renew(items=(Renewal(id="a", token=lease.token),), lease=world.span(60))

    assert (await world.do(renewal)).holds == (Hold.KEPT,)
    assert await world.ids(9) == []


async def test_a_late_settlement_is_heard_even_without_room(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.configure(concurrency=1)
    await world.enqueue("a", new_job("b", priority=-1, delay=world.span(1)))
    (lease,) = await world.claim(lease=world.span(1))
    await world.pass_time(world.span(2))
    assert await world.ids(9) == ["b"]

    assert (await world.settle(lease, Outcome.COMPLETE)).ruling is Ruling.WON


async def test_named_jobs_keep_to_the_limits(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.configure(concurrency=3, group_concurrency=1)
    await world.enqueue(*of_group("a", 2), *of_group("b", 1), *of_group(None, 3))
    ids = ("a2", "a1", "n3", "b1", "n1")

    named = await world.do(ClaimIds(ids=ids, lease=world.span(60), worker="w", nonce=1))

    assert [job.id for job in named.jobs] == ["a2", "n3", "b1"]


async def test_limits_may_change_while_jobs_run(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.enqueue(*of_group("a", 3), *of_group("b", 3))
    first = await world.claim(3)

    await world.configure(concurrency=2)
    assert await world.ids(9) == []
    await world.settle(first[0], Outcome.COMPLETE)
    assert await world.ids(9) == []
    await world.settle(first[1], Outcome.COMPLETE)
    assert len(await world.ids(9)) == 1
    await world.configure(group_concurrency=2)
    assert len(await world.ids(9)) == 2
    await world.configure()

    assert await world.ids(9) == []


async def test_what_waited_behind_a_limit_comes_at_once_when_it_is_raised(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.configure(group_concurrency=1)
    await world.enqueue(*of_group("a", 4))
    assert await world.ids(9) == ["a1"]
    assert await world.ids(9) == []

    with listening(world, work(QUEUE)) as bell:
        await world.configure(group_concurrency=3)

        assert await tells(world, bell)
    assert await world.ids(9) == ["a2", "a3"]


async def test_a_settlement_rings_for_those_that_waited_for_room(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.configure(concurrency=1)
    await world.enqueue("a", "b")
    (lease,) = await world.claim()

    with listening(world, work(QUEUE)) as bell:
        await world.settle(lease, Outcome.COMPLETE)

        assert await tells(world, bell)


async def test_a_settlement_says_nothing_where_nothing_is_limited(world: World) -> None:
    await world.enqueue("a", "b")
    (lease,) = await world.claim()

    assert (await world.settle(lease, Outcome.COMPLETE)).gained == ()


async def test_a_full_queue_says_when_a_lease_ends(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.configure(concurrency=1)
    await world.enqueue("a", "b")

    answer = await asked(world, lease=world.span(60))

    assert len(answer.jobs) == 1
    assert answer.next_due == answer.until


async def test_the_store_tells_how_many_run(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.configure(concurrency=5, group_concurrency=1)
    await world.enqueue(*of_group("a", 2), *of_group("b", 1), "n")
    await world.claim(9)

    (info,) = (await world.do(ListQueues(queues=(QUEUE,), groups=("a", "z")))).items

    assert [(gate.group, gate.running) for gate in info.gates] == [(None, 3), ("a", 1), ("z", 0)]
    assert [(gate.room, gate.opens_at) for gate in info.gates] == [(None, None)] * 3


async def test_jobs_behind_a_limit_can_be_cancelled_and_redriven(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.configure(group_concurrency=1)
    await world.enqueue(*of_group("a", 3))
    (lease,) = await world.claim(9)
    assert await world.ids(9) == []

    await world.do(Cancel(filter=by_id("a2")))
    await world.settle(lease, Outcome.COMPLETE)
    (lease,) = await world.claim(9)
    assert lease.id == "a3"
    await world.do(Redrive(filter=by_id("a2")))
    assert await world.ids(9) == []
    await world.settle(lease, Outcome.COMPLETE)

    assert await world.ids(9) == ["a2"]


async def test_jobs_behind_a_limit_can_be_edited_purged_and_replaced(world: World) -> None:
    world.require(Capability.LIMITS)
    key = UniqueKey(key="k", on_conflict=OnConflict.REPLACE)
    await world.configure(group_concurrency=1)
    await world.enqueue(*of_group("a", 6), new_job("r", group="a", unique=key))
    (lease,) = await world.claim(9)
    assert await world.ids(9) == []

    await world.do(Edit(filter=by_id("a6"), priority=-1))
    await world.do(Edit(filter=by_id("a2"), queue="other"))
    await world.do(Purge(filter=by_id("a3")))
    await world.do(Edit(filter=by_id("a4"), due_in=world.span(600)))
    assert await world.ids(9, queues=(QUEUE, "other")) == ["a2"]
    await world.enqueue(new_job("other", group="b", unique=key))
    assert await world.ids(9) == ["r"]
    await world.settle(lease, Outcome.COMPLETE)

    (lease,) = await world.claim(9)
    assert lease.id == "a6"
    await world.settle(lease, Outcome.COMPLETE)
    assert await world.ids(9) == ["a5"]


async def test_a_group_keeps_its_turn_while_it_is_closed(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.configure(group_concurrency=1)
    await world.enqueue(*of_group("a", 2), *of_group("b", 1), *of_group("c", 1))
    (lease,) = await world.claim()
    assert await world.ids(9) == ["b1", "c1"]
    await world.enqueue(new_job("d1", group="d"))

    await world.settle(lease, Outcome.COMPLETE)

    assert await world.ids(1) == ["a2"]
