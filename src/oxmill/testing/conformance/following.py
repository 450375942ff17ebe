"""The job that follows: at most one runs after the live holder of its unique key."""

from __future__ import annotations

from typing import Any

import pytest

from oxmill.model.info import Prune, Sweep
from oxmill.model.job import Enqueued, LeasedJob, Reason, Verdict
from oxmill.model.query import Cancel, Purge
from oxmill.model.settlement import Outcome
from oxmill.model.state import TERMINAL, State
from oxmill.model.unique import OnConflict, Until
from oxmill.testing.conformance.unique import ENDS, holder_in, keyed, state_of
from oxmill.testing.conformance.world import World, by_id


async def followed(world: World, mode: OnConflict = OnConflict.RERUN, **options: Any) -> LeasedJob:
    """The lease of a running holder that has the successor `next`."""
    lease = await holder_in(world, State.RUNNING)
    assert lease is not None
    (answer,) = await world.enqueue(keyed("next", mode, payload=b"next", **options))
    assert answer == Enqueued(id="next", verdict=Verdict.CREATED, state=State.HELD)
    return lease


@pytest.mark.parametrize("mode", [OnConflict.RERUN, OnConflict.REPLACE])
async def test_one_run_follows_a_running_holder(world: World, mode: OnConflict) -> None:
    lease = await followed(world, mode)
    held = await world.job("next")
    assert await world.claim() == ()

    await world.settle(lease, Outcome.COMPLETE)

    assert held is not None
    assert held.reason == Reason.RERUN
    (then,) = await world.claim(9)
    assert (then.id, then.payload) == ("next", b"next")


async def test_a_further_rerun_is_a_duplicate_of_the_successor(world: World) -> None:
    await followed(world)
    before = await world.job("next")

    (answer,) = await world.enqueue(keyed("third", OnConflict.RERUN, payload=b"third"))

    assert answer == Enqueued(id="next", verdict=Verdict.DUPLICATE, state=State.HELD)
    assert await world.job("next") == before
    assert await world.job("third") is None


async def test_a_further_replacement_replaces_the_successor(world: World) -> None:
    lease = await followed(world)

    (answer,) = await world.enqueue(keyed("third", OnConflict.REPLACE, payload=b"third"))
    await world.settle(lease, Outcome.COMPLETE)

    assert answer == Enqueued(id="next", verdict=Verdict.REPLACED, state=State.HELD)
    assert [(job.id, job.payload) for job in await world.claim(9)] == [("next", b"third")]


@pytest.mark.parametrize("mode", [OnConflict.SKIP, OnConflict.RAISE])
async def test_the_key_stays_the_holders_while_a_successor_is_held(
    world: World, mode: OnConflict
) -> None:
    await followed(world)

    (answer,) = await world.enqueue(keyed("third", mode))

    assert (answer.id, answer.state) == ("holder", State.RUNNING)
    assert await world.job("third") is None


@pytest.mark.parametrize("state", sorted(TERMINAL))
async def test_the_successor_is_freed_whatever_the_holder_ends_in(
    world: World, state: State
) -> None:
    lease = await followed(world)

    await world.settle(lease, ENDS[state])

    successor = await world.job("next")
    assert successor is not None
    assert (successor.state, successor.reason) == (State.WAITING, None)
    (answer,) = await world.enqueue(keyed("third"))
    assert (answer.id, answer.verdict) == ("next", Verdict.DUPLICATE)


async def test_the_successor_of_a_poisonous_holder_is_freed(world: World) -> None:
    await world.enqueue(keyed("holder", crash_limit=1))
    await world.claim(lease=world.span(3))
    await world.enqueue(keyed("next", OnConflict.RERUN))
    await world.pass_time(world.span(4))

    await world.do(Sweep())

    assert await state_of(world, "holder") is State.FAILED
    assert [job.id for job in await world.claim(9)] == ["next"]


async def test_a_holder_that_runs_again_keeps_its_successor_waiting(world: World) -> None:
    lease = await followed(world)
    await world.settle(lease, Outcome.RETRY)

    assert [job.id for job in await world.claim(9)] == ["holder"]
    assert await state_of(world, "next") is State.HELD


async def test_a_freed_successor_keeps_its_due_time(world: World) -> None:
    lease = await followed(world, delay=world.span(5))
    await world.settle(lease, Outcome.COMPLETE)
    early = await state_of(world, "next")
    await world.pass_time(world.span(6))

    assert early is State.SCHEDULED
    assert [job.id for job in await world.claim()] == ["next"]


async def test_a_freed_successor_joins_the_end_of_the_line(world: World) -> None:
    lease = await followed(world)
    await world.enqueue("other")

    await world.settle(lease, Outcome.COMPLETE)

    assert [job.id for job in await world.claim(9)] == ["other", "next"]


async def test_cancelling_the_idle_holder_frees_the_successor(world: World) -> None:
    lease = await followed(world)
    await world.settle(lease, Outcome.RELEASE)

    steered = await world.do(Cancel(filter=by_id("holder")))

    assert (steered.ids, steered.queues) == (("holder",), ("mail",))
    assert [job.id for job in await world.claim(9)] == ["next"]


async def test_purging_the_holder_frees_the_successor(world: World) -> None:
    lease = await followed(world)
    await world.settle(lease, Outcome.RELEASE)

    steered = await world.do(Purge(filter=by_id("holder")))

    assert (steered.ids, steered.queues) == (("holder",), ("mail",))
    assert [job.id for job in await world.claim(9)] == ["next"]
    (answer,) = await world.enqueue(keyed("third"))
    assert answer.id == "next"


@pytest.mark.parametrize("remove", [Cancel, Purge])
async def test_without_its_successor_the_holder_may_get_another(world: World, remove: Any) -> None:
    lease = await followed(world)
    await world.do(remove(filter=by_id("next")))

    (answer,) = await world.enqueue(keyed("third", OnConflict.RERUN))
    await world.settle(lease, Outcome.COMPLETE)

    assert answer == Enqueued(id="third", verdict=Verdict.CREATED, state=State.HELD)
    assert [job.id for job in await world.claim(9)] == ["third"]


async def test_an_expired_successor_leaves_the_key_alone(world: World) -> None:
    lease = await followed(world, expires_in=world.span(5))
    await world.pass_time(world.span(6))
    await world.do(Sweep())

    (answer,) = await world.enqueue(keyed("third"))
    await world.settle(lease, Outcome.COMPLETE)

    assert await state_of(world, "next") is State.CANCELLED
    assert (answer.id, answer.verdict) == ("holder", Verdict.DUPLICATE)
    assert await world.claim(9) == ()


async def test_a_successor_is_not_forgotten_when_the_keys_time_has_passed(world: World) -> None:
    await world.enqueue(keyed("holder", until=Until.STARTED, within=world.span(3)))
    (lease,) = await world.claim()
    await world.enqueue(keyed("next", OnConflict.RERUN, until=Until.STARTED))
    await world.pass_time(world.span(4))
    await world.do(Prune())

    (third,) = await world.enqueue(keyed("third", OnConflict.RERUN, until=Until.STARTED))
    await world.settle(lease, Outcome.COMPLETE)

    assert (third.id, third.verdict) == ("next", Verdict.DUPLICATE)
    assert [job.id for job in await world.claim(9)] == ["next"]


async def test_a_chain_of_reruns_frees_one_after_the_other(world: World) -> None:
    lease = await followed(world)
    await world.settle(lease, Outcome.COMPLETE)
    (second,) = await world.claim()
    await world.enqueue(keyed("third", OnConflict.RERUN))

    held = await state_of(world, "third")
    await world.settle(second, Outcome.FAIL)

    assert held is State.HELD
    assert [job.id for job in await world.claim(9)] == ["third"]
