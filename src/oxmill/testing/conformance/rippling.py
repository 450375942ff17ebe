"""Ripples: what one end sets off is bounded; sweeps do the rest, whoever has died meanwhile."""

from __future__ import annotations

from oxmill.model.flow import FlowStatus, FlowStep, Join, JoinPolicy, OnFailure
from oxmill.model.info import ListQueues, Sweep
from oxmill.model.query import Filter, Find, Purge, Redrive
from oxmill.model.settlement import Outcome, Settle, Settlement
from oxmill.model.state import State
from oxmill.store.capabilities import Capability
from oxmill.testing.conformance.world import (
    FLOW,
    World,
    by_id,
    done,
    end,
    flow_now,
    node,
    start,
    states,
    sweep_all,
    take,
)


async def many(world: World, *after: str, **options: object) -> list[str]:
    """More jobs of the flow than one step sees to."""
    ids = [f"n{n:04}" for n in range(world.driver.bounds.cleanup_jobs + 20)]
    for first in range(0, len(ids), 50):
        await start(world, *(node(each, *after, **options) for each in ids[first : first + 50]))
    return ids


async def number(world: World, state: State) -> int:
    """How many jobs of the flow are in this state."""
    info = await flow_now(world)
    assert info is not None
    return info.counts.get(state, 0)


async def test_many_dependents_are_freed_in_bounded_steps(world: World) -> None:
    await start(world, "a")
    ids = await many(world, "a")

    await done(world, "a")

    bound = world.driver.bounds.cleanup_jobs
    assert await number(world, State.WAITING) == bound
    assert await states(world, ids[bound - 1], ids[bound]) == {
        ids[bound - 1]: (State.WAITING, None),
        ids[bound]: (State.HELD, None),
    }
    await sweep_all(world)
    assert await number(world, State.WAITING) == len(ids)
    leases = await world.claim(1_000)
    assert [lease.id for lease in leases] == ids


async def test_a_sweep_does_no_more_than_it_is_asked_to(world: World) -> None:
    await start(world, "a")
    await many(world, "a")
    await done(world, "a")

    steps = [(await world.do(Sweep(limit=8))).more for _ in range(3)]

    assert steps == [True, True, False]


async def test_many_dependents_fail_in_bounded_steps(world: World) -> None:
    await start(world, "a")
    ids = await many(world, "a")
    await start(world, node("last", *ids[:50]))

    await end(world, "a", Outcome.FAIL)
    await sweep_all(world)

    info = await flow_now(world)
    assert info is not None
    assert (info.status, info.counts) == (FlowStatus.FAILED, {State.FAILED: len(ids) + 2})


async def test_many_siblings_are_cancelled_in_bounded_steps(world: World) -> None:
    await start(world, "bad")
    ids = await many(world)
    await start(world, node("join", "bad", *ids))

    await end(world, "bad", Outcome.FAIL)

    assert await states(world, "join") == {"join": (State.FAILED, "dependency")}
    assert 0 < await number(world, State.WAITING) <= 21
    await sweep_all(world)
    info = await flow_now(world)
    assert info is not None
    assert info.counts == {State.FAILED: 2, State.CANCELLED: len(ids)}
    assert info.status is FlowStatus.FAILED


async def test_siblings_that_others_want_do_not_hold_up_a_sweep(world: World) -> None:
    await start(world, "win")
    ids = await many(world)
    await start(world, node("any", "win", *ids, join=Join(policy=JoinPolicy.ANY)))
    await start(world, node("all", *ids))

    await done(world, "win")
    await sweep_all(world)

    assert await number(world, State.WAITING) == len(ids) + 1
    assert await number(world, State.CANCELLED) == 0


async def test_a_large_fan_in_fires_once_all_have_ended(world: World) -> None:
    world.require(Capability.FLOWS)
    await start(world, "p")
    third = min(100, world.driver.bounds.heavy_jobs // 3)
    children = tuple(node(f"c{n}") for n in range(3 * third))
    await done(world, "p", flow=FlowStep(spawn=children, resume="go"))
    for _ in range(3):
        leases = await world.claim(third)
        items = tuple(
            Settlement(id=each.id, token=each.token, outcome=Outcome.COMPLETE) for each in leases
        )
        assert await states(world, "p") == {"p": (State.HELD, "children")}
        await world.do(Settle(items=items))

    lease = await take(world, "p")

    assert lease.joined == tuple(child.id for child in children)


async def test_a_job_driven_again_before_all_learnt_of_its_end(world: World) -> None:
    """Those that had not been told yet wait for its next end."""
    await start(world, "a")
    ids = await many(world, "a")
    await end(world, "a", Outcome.FAIL)

    await world.do(Redrive(filter=by_id("a")))
    await sweep_all(world)

    bound = world.driver.bounds.cleanup_jobs
    assert await number(world, State.FAILED) == bound
    assert await number(world, State.HELD) == len(ids) - bound
    await done(world, "a")
    await sweep_all(world)
    assert await number(world, State.WAITING) == len(ids) - bound


async def test_a_purge_does_not_spoil_an_end_that_is_still_being_told(world: World) -> None:
    await start(world, "a")
    ids = await many(world, "a")
    await done(world, "a")

    await world.do(Purge(filter=by_id("a")))
    await sweep_all(world)

    assert await number(world, State.WAITING) == len(ids)


async def test_sweeps_tell_who_gained_and_who_ended(world: World) -> None:
    await start(world, "a", "b")
    await many(world, "a", queue="other")
    await done(world, "a")

    swept = await world.do(Sweep())

    assert swept.queues == ("other",)
    await end(world, "b", Outcome.FAIL)


async def test_counts_agree_after_ripples(world: World) -> None:
    await start(world, "a")
    await many(world, "a", join=Join(on_failure=OnFailure.COLLECT))
    await end(world, "a", Outcome.FAIL)
    await sweep_all(world)

    (queue,) = (await world.do(ListQueues(queues=("mail",)))).items
    jobs = 0
    cursor = None
    while True:
        found = Find(filter=Filter(flow=FLOW, states=(State.WAITING,)), limit=500, after=cursor)
        page = await world.do(found)
        jobs += len(page.jobs)
        if (cursor := page.next) is None:
            break

    assert queue.counts == {State.FAILED: 1, State.WAITING: jobs}
