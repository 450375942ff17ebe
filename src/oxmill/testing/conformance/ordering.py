"""Ordered groups: one job at a time, strictly in order (I16)."""

from __future__ import annotations

import pytest

from oxmill.model.claim import ClaimIds
from oxmill.model.info import ListQueues
from oxmill.model.query import Cancel, Edit, Purge, Redrive
from oxmill.model.rule import PutRules, Rule, RuleKind, Scope
from oxmill.model.settlement import Outcome
from oxmill.model.state import State
from oxmill.model.unique import OnConflict, UniqueKey
from oxmill.store.capabilities import Capability
from oxmill.testing.conformance.limiting import asked
from oxmill.testing.conformance.world import QUEUE, World, almost, by_id, new_job, of_group


async def test_one_job_of_an_ordered_group_runs_at_a_time(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.configure(ordered_groups=True)
    await world.enqueue(*of_group("a", 3), *of_group("b", 2), *of_group(None, 2))

    first = await world.claim(9)
    assert sorted(job.id for job in first) == ["a1", "b1", "n1", "n2"]
    for lease in first:
        await world.settle(lease, Outcome.COMPLETE)

    assert sorted(await world.ids(9)) == ["a2", "b2"]


async def test_a_wider_group_concurrency_does_not_loosen_the_order(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.configure(ordered_groups=True, group_concurrency=5)
    await world.enqueue(*of_group("a", 3))

    assert await world.ids(9) == ["a1"]


@pytest.mark.parametrize("outcome", [Outcome.RETRY, Outcome.SNOOZE])
async def test_a_job_tried_again_keeps_its_place_and_the_others_wait(
    world: World, outcome: Outcome
) -> None:
    world.require(Capability.LIMITS)
    length = world.span(4)
    await world.configure(ordered_groups=True)
    await world.enqueue(*of_group("a", 2), *of_group("b", 1))
    (lease,) = await world.claim()

    answer = await world.settle(lease, outcome, delay=length)
    assert answer.state is State.WAITING
    assert await world.ids(9) == ["b1"]
    await world.pass_time(almost(world, length))
    early = await world.ids(9)
    await world.pass_time(length - almost(world, length))

    assert early == []
    assert await world.ids(9) == ["a1"]


@pytest.mark.parametrize("outcome", [Outcome.RETRY, Outcome.SNOOZE, Outcome.RELEASE])
async def test_a_job_tried_again_at_once_is_the_next(world: World, outcome: Outcome) -> None:
    world.require(Capability.LIMITS)
    await world.configure(ordered_groups=True)
    await world.enqueue(*of_group("a", 2))
    (lease,) = await world.claim()

    await world.settle(lease, outcome)

    assert await world.ids(9) == ["a1"]


async def test_a_lapsed_job_is_the_next(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.configure(ordered_groups=True)
    await world.enqueue(*of_group("a", 2))
    await world.claim(lease=world.span(1))

    await world.pass_time(world.span(2))

    assert await world.ids(9) == ["a1"]


@pytest.mark.parametrize("outcome", [Outcome.COMPLETE, Outcome.FAIL, Outcome.CANCEL])
async def test_an_ended_job_lets_the_next_one_start(world: World, outcome: Outcome) -> None:
    world.require(Capability.LIMITS)
    await world.configure(ordered_groups=True)
    await world.enqueue(*of_group("a", 2))
    (lease,) = await world.claim()

    await world.settle(lease, outcome)

    assert await world.ids(9) == ["a2"]


# -- what a job that is to be tried again keeps shut ---------------------------------------------


async def retried(world: World, *, unique: UniqueKey | None = None) -> None:
    """The first of an ordered group is to be tried again in a long time, and a claim has seen it."""
    world.require(Capability.LIMITS)
    await world.configure(ordered_groups=True)
    await world.enqueue(new_job("a1", group="a", unique=unique), new_job("a2", group="a"))
    await world.enqueue(new_job("worse", group="a", priority=1))
    (lease,) = await world.claim()
    await world.settle(lease, Outcome.RETRY, delay=world.span(600))
    assert await world.ids(9) == []


async def test_a_job_tried_again_says_when(world: World) -> None:
    await retried(world)

    job = await world.job("a1")

    assert job is not None
    assert job.due_at == (job.history[-1].ended_at or 0) + world.span(600)
    assert (await asked(world)).next_due == job.due_at


@pytest.mark.parametrize("steer", [Cancel, Purge])
async def test_a_group_opens_when_the_job_it_waits_for_leaves(world: World, steer: type) -> None:
    await retried(world)

    answer = await world.do(steer(filter=by_id("a1")))

    assert answer.queues == (QUEUE,)
    assert await world.ids(9) == ["a2"]


async def test_a_group_opens_when_the_job_it_waits_for_is_due_now(world: World) -> None:
    await retried(world)

    answer = await world.do(Edit(filter=by_id("a1"), due_in=0))

    assert answer.queues == (QUEUE,)
    assert await world.ids(9) == ["a1"]


async def test_a_group_opens_when_the_job_it_waits_for_is_put_off(world: World) -> None:
    await retried(world)

    await world.do(Edit(filter=by_id("a1"), due_in=world.span(900)))

    assert await world.ids(9) == ["a2"]


async def test_a_group_opens_when_the_job_it_waits_for_is_moved(world: World) -> None:
    await retried(world)

    answer = await world.do(Edit(filter=by_id("a1"), queue="other"))

    moved = await world.job("a1")
    assert moved is not None
    assert moved.state is State.SCHEDULED
    assert QUEUE in answer.queues
    assert await world.ids(9, queues=("other",)) == []
    assert await world.ids(9) == ["a2"]


async def test_a_group_opens_when_the_job_it_waits_for_is_replaced(world: World) -> None:
    key = UniqueKey(key="k", on_conflict=OnConflict.REPLACE)
    await retried(world, unique=key)

    await world.enqueue(new_job("new", group="a", unique=key))

    assert await world.ids(9) == ["a1"]


async def test_a_refused_batch_leaves_a_group_shut(world: World) -> None:
    key = UniqueKey(key="k", on_conflict=OnConflict.REPLACE)
    await retried(world, unique=key)

    await world.enqueue(new_job("new", group="a", unique=key), new_job("a2", payload=b"2"))

    assert await world.ids(9) == []


async def test_a_group_opens_once_a_job_that_it_waited_for_is_driven_again(world: World) -> None:
    await retried(world)
    await world.do(Cancel(filter=by_id("a1")))

    await world.do(Redrive(filter=by_id("a1")))

    assert await world.ids(9) == ["a2"]


async def test_another_priority_alone_opens_nothing(world: World) -> None:
    await retried(world)

    await world.do(Edit(filter=by_id("a1"), priority=-1))
    assert await world.ids(9) == []
    await world.do(Edit(filter=by_id("a1"), due_in=0))

    assert await world.ids(9) == ["a1"]


async def test_a_group_that_others_have_shut_too_stays_shut(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.enqueue(*of_group("a", 4))
    one, two, three = await world.claim(3)
    await world.configure(ordered_groups=True)
    await world.settle(one, Outcome.RETRY, delay=world.span(600))
    await world.settle(two, Outcome.RETRY, delay=world.span(600))
    await world.settle(three, Outcome.RELEASE, closes=Scope.GROUP, delay=world.span(300))

    await world.do(Cancel(filter=by_id("a1")))
    assert await world.ids(9) == []
    await world.do(Cancel(filter=by_id("a2")))

    assert await world.ids(9) == []


async def test_a_job_without_a_group_goes_behind_as_ever(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.configure(ordered_groups=True)
    await world.enqueue("a", "b")
    (lease,) = await world.claim()

    await world.settle(lease, Outcome.RETRY)

    assert await world.ids(9) == ["b", "a"]


async def test_a_job_behind_a_gate_of_its_own_holds_up_its_group_alone(world: World) -> None:
    world.require(Capability.LIMITS | Capability.SCOPED_RULES)
    await world.configure(ordered_groups=True)
    await world.enqueue(
        new_job("a1", group="a", task="slow"), new_job("a2", group="a"), *of_group("b", 1)
    )
    pause = Rule(kind=RuleKind.PAUSE, target="slow", scope=Scope.TASK)
    await world.do(PutRules(set=(pause,)))

    assert await world.ids(9) == ["b1"]
    assert await world.ids(9) == []
    await world.do(PutRules(lift=(pause.key,)))

    assert await world.ids(9) == ["a1"]


@pytest.mark.parametrize("steer", [Cancel, Purge])
async def test_without_its_held_up_head_the_group_goes_on(world: World, steer: type) -> None:
    world.require(Capability.LIMITS | Capability.SCOPED_RULES)
    await world.configure(ordered_groups=True)
    await world.enqueue(new_job("a1", group="a", task="slow"), new_job("a2", group="a"))
    await world.do(PutRules(set=(Rule(kind=RuleKind.PAUSE, target="slow", scope=Scope.TASK),)))
    assert await world.ids(9) == []

    await world.do(steer(filter=by_id("a1")))

    assert await world.ids(9) == ["a2"]


async def test_a_held_up_group_says_when_its_head_may_start(world: World) -> None:
    world.require(Capability.LIMITS | Capability.SCOPED_RULES)
    await world.configure(ordered_groups=True)
    await world.enqueue(new_job("a1", group="a", task="slow"), new_job("a2", group="a"))
    ends = (await world.do(ListQueues())).now + world.span(60)
    pause = Rule(kind=RuleKind.PAUSE, target="slow", scope=Scope.TASK, expires_at=ends)
    await world.do(PutRules(set=(pause,)))

    answer = await asked(world)
    again = await asked(world)

    assert (answer.jobs, again.jobs) == ((), ())
    assert answer.next_due == again.next_due == ends


async def test_jobs_set_aside_before_come_back_when_the_group_becomes_ordered(
    world: World,
) -> None:
    world.require(Capability.LIMITS | Capability.SCOPED_RULES)
    await world.enqueue(new_job("a1", group="a", task="slow"), "n")
    pause = Rule(kind=RuleKind.PAUSE, target="slow", scope=Scope.TASK)
    await world.do(PutRules(set=(pause,)))
    assert await world.ids(9) == ["n"]
    await world.configure(ordered_groups=True)
    await world.enqueue(new_job("a2", group="a"))

    assert await world.ids(9) == []
    await world.do(PutRules(lift=(pause.key,)))

    assert await world.ids(9) == ["a1"]


async def test_only_the_first_of_an_ordered_group_is_given_by_name(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.configure(ordered_groups=True)
    await world.enqueue(*of_group("a", 2), *of_group("b", 2))

    named = await world.do(
        ClaimIds(ids=("a2", "a1", "b1", "b2"), lease=world.span(60), worker="w", nonce=1)
    )

    assert [job.id for job in named.jobs] == ["a1", "b1"]
