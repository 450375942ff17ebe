"""Rates: never more starts in a window than burst and rate allow (I13); `RateLimited` closes."""

from __future__ import annotations

from typing import Any

import pytest

from oxmill.model.claim import ClaimIds
from oxmill.model.info import ListQueues
from oxmill.model.query import Cancel
from oxmill.model.rule import Scope
from oxmill.model.settlement import Outcome
from oxmill.model.state import State
from oxmill.store.capabilities import Capability
from oxmill.testing.conformance.limiting import asked
from oxmill.testing.conformance.world import QUEUE, World, almost, by_id, new_job, of_group


def every(length: int, burst: int = 1) -> str:
    """A rate of one start per this length of time."""
    return f"1/{length}us burst {burst}"


async def test_a_queue_starts_no_more_than_its_burst_at_once(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.configure(rate=every(world.span(600), burst=3))
    await world.enqueue("a", "b", "c", "d", "e")

    assert await world.ids(2) == ["a", "b"]
    assert await world.ids(9) == ["c"]
    assert await world.ids(9) == []


async def test_a_rate_lets_the_next_job_start_in_time(world: World) -> None:
    world.require(Capability.LIMITS)
    length = world.span(4)
    await world.configure(rate=every(length))
    await world.enqueue("a", "b", "c")
    assert await world.ids(9) == ["a"]

    await world.pass_time(almost(world, length))
    early = await world.ids(9)
    await world.pass_time(length - almost(world, length))

    assert early == []
    assert await world.ids(9) == ["b"]
    assert await world.ids(9) == []


async def test_a_rest_saves_no_more_than_the_burst(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.configure(rate=every(world.span(1), burst=2))
    await world.enqueue("a", "b", "c", "d")

    await world.pass_time(world.span(10))

    # Little enough time passes within one claim.
    assert await world.ids(9) == ["a", "b"]


async def test_starts_count_and_not_ends(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.configure(rate=every(world.span(600)))
    await world.enqueue("a", "b")
    (lease,) = await world.claim(9)

    await world.settle(lease, Outcome.RELEASE)

    assert await world.ids(9) == []


async def test_each_group_has_its_own_rate(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.configure(group_rate=every(world.span(600), burst=2))
    await world.enqueue(*of_group("a", 4), *of_group("b", 1), *of_group(None, 4))

    assert sorted(await world.ids(9)) == ["a1", "a2", "b1", "n1", "n2", "n3", "n4"]
    assert await world.ids(9) == []


async def test_named_jobs_keep_to_the_rate(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.configure(rate=every(world.span(600), 3), group_rate=every(world.span(600)))
    await world.enqueue(*of_group("a", 2), *of_group("b", 2), "n", "m")
    ids = ("a2", "a1", "b1", "m", "n")

    named = await world.do(ClaimIds(ids=ids, lease=world.span(60), worker="w", nonce=1))

    assert [job.id for job in named.jobs] == ["a2", "b1", "m"]
    assert await world.ids(9) == []


async def test_a_rate_may_change_while_jobs_wait(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.configure(rate=every(world.span(600)))
    await world.enqueue("a", "b", "c", "d")
    assert await world.ids(9) == ["a"]

    await world.configure(rate=every(world.span(600), burst=3))
    assert await world.ids(9) == ["b", "c"]
    await world.configure()

    assert await world.ids(9) == ["d"]


async def test_a_closed_rate_says_when_it_opens(world: World) -> None:
    world.require(Capability.LIMITS)
    length = world.span(50)
    await world.configure(rate=every(length))
    await world.enqueue("a", "b")

    answer = await asked(world)
    later = await asked(world)

    assert answer.next_due == later.next_due == answer.now + length


async def test_a_closed_group_says_when_it_opens(world: World) -> None:
    world.require(Capability.LIMITS)
    length = world.span(50)
    await world.configure(group_rate=every(length))
    await world.enqueue(*of_group("a", 2))

    answer = await asked(world)
    later = await asked(world)
    (info,) = (await world.do(ListQueues(queues=(QUEUE,), groups=("a",)))).items

    assert answer.next_due == later.next_due == answer.now + length
    assert [(gate.room, gate.opens_at) for gate in info.gates] == [
        (None, None),
        (0, answer.now + length),
    ]


async def test_the_store_tells_what_a_rate_has_left(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.configure(rate=every(world.span(600), burst=3))
    await world.enqueue("a")
    await world.claim()

    (info,) = (await world.do(ListQueues(queues=(QUEUE,), groups=("g",)))).items

    assert [(gate.room, gate.opens_at) for gate in info.gates] == [(2, None), (None, None)]


# --- RateLimited ----------------------------------------------------------------------------------


async def limited(world: World, scope: Scope, length: int, **options: Any) -> None:
    """Claim one job and give it back, because somebody upstream asks to wait."""
    (lease,) = await world.claim(**options)
    answer = await world.settle(lease, Outcome.RELEASE, closes=scope, delay=length)
    assert answer.state is State.WAITING


async def test_a_holder_may_close_its_group(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.enqueue(*of_group("a", 2), *of_group("b", 1), "n")

    await limited(world, Scope.GROUP, world.span(600))

    assert sorted(await world.ids(9)) == ["b1", "n"]
    job = await world.job("a1")
    assert job is not None
    assert (job.failures, job.crashes) == (0, 0)


async def test_a_closed_group_opens_in_time_and_in_order(world: World) -> None:
    world.require(Capability.LIMITS)
    length = world.span(4)
    await world.enqueue(*of_group("a", 2))
    await limited(world, Scope.GROUP, length)

    await world.pass_time(almost(world, length))
    early = await world.ids(9)
    await world.pass_time(length - almost(world, length))

    assert early == []
    assert await world.ids(9) == ["a1", "a2"]


@pytest.mark.parametrize(("scope", "group"), [(Scope.QUEUE, "a"), (Scope.GROUP, None)])
async def test_a_holder_may_close_its_queue(world: World, scope: Scope, group: str | None) -> None:
    world.require(Capability.LIMITS)
    length = world.span(5)
    await world.enqueue(
        new_job("x", group=group), new_job("y", group="b"), new_job("o", queue="other")
    )

    await limited(world, scope, length)
    answer = await asked(world)

    assert answer.jobs == ()
    assert answer.next_due is not None
    assert answer.now < answer.next_due <= answer.now + length
    assert await world.ids(9, queues=(QUEUE, "other")) == ["o"]
    await world.pass_time(length)
    assert await world.ids(9) == ["x", "y"]


async def test_the_longer_closing_counts(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.enqueue(*of_group("a", 3))
    one, two = await world.claim(2)

    await world.settle(one, Outcome.RELEASE, closes=Scope.GROUP, delay=world.span(600))
    await world.settle(two, Outcome.RELEASE, closes=Scope.GROUP, delay=world.span(1))
    await world.pass_time(world.span(2))

    assert await world.ids(9) == []


async def test_a_group_is_closed_in_its_queue_only(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.enqueue(*of_group("a", 1), new_job("o", queue="other", group="a"))

    await limited(world, Scope.GROUP, world.span(600))

    assert await world.ids(9, queues=(QUEUE, "other")) == ["o"]


async def test_a_repeated_answer_does_not_close_for_longer(world: World) -> None:
    world.require(Capability.LIMITS)
    length = world.span(4)
    await world.enqueue(*of_group("a", 1))
    (lease,) = await world.claim()
    await world.settle(lease, Outcome.RELEASE, closes=Scope.GROUP, delay=length)
    await world.pass_time(length // 2)

    await world.settle(lease, Outcome.RELEASE, closes=Scope.GROUP, delay=length)
    await world.pass_time(length // 2)

    assert await world.ids(9) == ["a1"]


async def test_a_job_asked_to_stop_still_closes_the_gate(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.enqueue(*of_group("a", 2))
    (lease,) = await world.claim()
    await world.do(Cancel(filter=by_id("a1")))

    answer = await world.settle(lease, Outcome.RELEASE, closes=Scope.GROUP, delay=world.span(600))

    assert answer.state is State.CANCELLED
    assert await world.ids(9) == []


async def test_named_jobs_do_not_pass_a_closed_group(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.enqueue(*of_group("a", 2), *of_group("b", 1))
    await limited(world, Scope.GROUP, world.span(600))

    named = await world.do(
        ClaimIds(ids=("a1", "a2", "b1"), lease=world.span(60), worker="w", nonce=1)
    )

    assert [job.id for job in named.jobs] == ["b1"]
