"""Fan-out at run time: a job makes children, is held without a slot, and goes on when they ended."""

from __future__ import annotations

import pytest

from oxmill.model.claim import Hold, Renew, Renewal
from oxmill.model.flow import FlowStatus, FlowStep, Join, JoinPolicy, OnFailure
from oxmill.model.info import ListQueues, Sweep
from oxmill.model.query import Cancel, Purge, Redrive
from oxmill.model.settlement import Outcome, Ruling, Settle, Settlement
from oxmill.model.state import State
from oxmill.model.unique import OnConflict, UniqueKey
from oxmill.store.capabilities import Capability
from oxmill.testing.conformance.world import (
    FLOW,
    World,
    by_id,
    done,
    end,
    flow_now,
    new_job,
    node,
    ready,
    start,
    states,
    take,
)

TWO = FlowStep(spawn=(node("c1"), node("c2")), resume="gather")
COLLECT = Join(on_failure=OnFailure.COLLECT)


async def spawned(world: World, step: FlowStep = TWO) -> None:
    """A parent that is held for its children."""
    await start(world, "p")
    await done(world, "p", flow=step)


async def test_a_parent_is_held_without_lease_or_slot(world: World) -> None:
    await start(world, "p")
    lease = await take(world, "p")

    answer = await world.settle(lease, Outcome.COMPLETE, flow=TWO)

    assert (answer.ruling, answer.state, answer.gained) == (Ruling.WON, State.HELD, ("mail",))
    job = await world.job("p")
    assert job is not None
    assert (job.state, job.reason, job.lease_until) == (State.HELD, "children", None)
    assert (job.joined, job.resume) == (("c1", "c2"), "gather")
    renewed = await world.do(
        Renew(items=(Renewal(id="p", token=lease.token),), lease=world.span(9))
    )
    assert renewed.holds == (Hold.LOST,)
    assert await ready(world) == ["c1", "c2"]


async def test_children_know_their_parent_and_its_flow(world: World) -> None:
    step = FlowStep(spawn=(new_job("c1", priority=3), new_job("c2", queue="other")), resume="go")
    await spawned(world, step)

    leases = {each.id: each for each in await world.claim(9, queues=("mail", "other"))}

    assert {(each.parent, each.flow) for each in leases.values()} == {("p", FLOW)}
    assert leases["c1"].priority == 3


async def test_a_parent_goes_on_when_its_children_have_ended(world: World) -> None:
    await spawned(world)
    await done(world, "c2")
    assert await ready(world) == ["c1"]
    answer = await done(world, "c1")

    lease = await take(world, "p")

    assert answer.gained == ("mail",)
    assert (lease.resume, lease.joined, lease.token.attempt) == ("gather", ("c1", "c2"), 2)
    ended = await world.settle(lease, Outcome.COMPLETE, result=b"2")
    assert ended.state is State.SUCCEEDED
    info = await flow_now(world)
    assert info is not None
    assert info.status is FlowStatus.SUCCEEDED


async def test_a_continuation_that_is_tried_again_is_the_same(world: World) -> None:
    await spawned(world, FlowStep(spawn=(node("c1"),), resume="gather"))
    await done(world, "c1")
    await end(world, "p", Outcome.RETRY)
    await take(world, "p", lease=world.span(1))
    await world.pass_time(world.span(2))

    lease = await take(world, "p")

    assert (lease.resume, lease.joined) == ("gather", ("c1",))
    assert (lease.failures, lease.crashes) == (1, 1)


async def test_without_children_it_goes_on_at_once(world: World) -> None:
    join = Join(policy=JoinPolicy.QUORUM, quorum=2)
    await start(world, "p")
    answer = await done(world, "p", flow=FlowStep(resume="go", join=join))

    lease = await take(world, "p")

    assert answer.state is State.WAITING
    assert (lease.resume, lease.joined) == ("go", ())


async def test_a_job_may_spawn_again(world: World) -> None:
    await spawned(world, FlowStep(spawn=(node("c1"),), resume="one"))
    await done(world, "c1")
    await done(world, "p", flow=FlowStep(spawn=(node("c2"),), resume="two"))
    assert await ready(world) == ["c2"]
    await done(world, "c2")

    lease = await take(world, "p")

    assert (lease.resume, lease.joined) == ("two", ("c2",))


async def test_children_have_children(world: World) -> None:
    await spawned(world, FlowStep(spawn=(node("c"),), resume="top"))
    await done(world, "c", flow=FlowStep(spawn=(node("g1"), node("g2")), resume="middle"))
    assert await ready(world) == ["g1", "g2"]
    await done(world, "g1")
    await done(world, "g2")
    assert await ready(world) == ["c"]
    await done(world, "c")

    assert await ready(world) == ["p"]


async def test_a_plain_job_that_spawns_begins_a_flow(world: World) -> None:
    world.require(Capability.FLOWS)
    await world.enqueue("p")
    await done(world, "p", flow=FlowStep(spawn=(new_job("c"),), resume="go"))

    lease = await take(world, "c")
    info = await flow_now(world, "p")

    assert (lease.flow, lease.parent) == ("p", "p")
    assert info is not None
    assert (info.name, info.counts) == ("send", {State.HELD: 1, State.RUNNING: 1})


async def test_a_failed_child_fails_its_parent_and_cancels_the_others(world: World) -> None:
    await spawned(world)
    await end(world, "c1", Outcome.FAIL)

    assert await states(world, "p", "c2") == {
        "p": (State.FAILED, "dependency"),
        "c2": (State.CANCELLED, "sibling"),
    }
    info = await flow_now(world)
    assert info is not None
    assert info.status is FlowStatus.FAILED


async def test_a_parent_may_collect_failures(world: World) -> None:
    await spawned(world, FlowStep(spawn=TWO.spawn, resume="go", join=COLLECT))
    await end(world, "c1", Outcome.FAIL)
    assert await states(world, "p") == {"p": (State.HELD, "children")}
    await done(world, "c2")

    assert (await take(world, "p")).joined == ("c1", "c2")


async def test_a_parent_may_go_on_with_the_first(world: World) -> None:
    join = Join(policy=JoinPolicy.ANY)
    await spawned(world, FlowStep(spawn=TWO.spawn, resume="go", join=join))

    await done(world, "c2")

    assert await states(world, "p", "c1") == {
        "p": (State.WAITING, None),
        "c1": (State.CANCELLED, "sibling"),
    }


async def test_a_repeated_spawn_is_one(world: World) -> None:
    await start(world, "p")
    lease = await take(world, "p")
    item = Settlement(id="p", token=lease.token, outcome=Outcome.COMPLETE, flow=TWO)
    (one,) = await world.do(Settle(items=(item,)))
    (two,) = await world.do(Settle(items=(item,)))
    await done(world, "c1")
    await done(world, "c2")
    (three,) = await world.do(Settle(items=(item,)))

    assert [each.ruling for each in (one, two, three)] == [Ruling.WON] * 3
    assert [each.state for each in (one, two, three)] == [State.HELD, State.HELD, State.WAITING]
    assert await ready(world) == ["p"]


async def test_a_parent_that_is_driven_again_finds_its_children(world: World) -> None:
    """Succeeded children count, failed ones get a fresh start, and nothing is made twice."""
    await spawned(world)
    await done(world, "c1")
    await end(world, "c2", Outcome.FAIL)
    await world.do(Redrive(filter=by_id("p")))
    lease = await take(world, "p")
    assert (lease.resume, lease.joined) == (None, ())

    await world.settle(lease, Outcome.COMPLETE, flow=TWO)

    assert await ready(world) == ["c2"]
    await done(world, "c2")
    again = await take(world, "p")
    assert (again.resume, again.joined) == ("gather", ("c1", "c2"))
    job = await world.job("c1")
    assert job is not None
    assert job.attempt == 1


async def test_children_that_have_all_succeeded_before_are_enough(world: World) -> None:
    await spawned(world, FlowStep(spawn=(node("c1"),), resume="one"))
    await done(world, "c1")
    await end(world, "p", Outcome.FAIL)
    await world.do(Redrive(filter=by_id("p")))

    answer = await done(world, "p", flow=FlowStep(spawn=(node("c1"),), resume="one"))

    assert answer.state is State.WAITING
    assert (await take(world, "p")).resume == "one"


async def test_a_job_asked_to_stop_makes_no_children(world: World) -> None:
    await start(world, "p")
    lease = await take(world, "p")
    await world.do(Cancel(filter=by_id("p"), reason="enough"))

    step = FlowStep(spawn=TWO.spawn, merge={"x": b"1"}, resume="go")
    answer = await world.settle(lease, Outcome.COMPLETE, flow=step)

    assert (answer.ruling, answer.state) == (Ruling.WON, State.CANCELLED)
    assert await states(world, "p", "c1") == {"p": (State.CANCELLED, "enough"), "c1": None}
    info = await flow_now(world)
    assert info is not None
    assert (info.state, info.status) == ({}, FlowStatus.FAILED)


async def test_a_cancelled_parent_takes_its_children_with_it(world: World) -> None:
    await spawned(world, FlowStep(spawn=TWO.spawn, resume="go", join=COLLECT))
    await take(world, "c1")

    steered = await world.do(Cancel(filter=by_id("p")))

    assert steered.ids == ("p",)
    job = await world.job("c1")
    assert job is not None
    assert job.cancel_requested
    assert await states(world, "c2") == {"c2": (State.CANCELLED, "sibling")}


async def test_a_purged_child_counts_as_failed(world: World) -> None:
    await spawned(world)

    await world.do(Purge(filter=by_id("c1")))

    assert await states(world, "p") == {"p": (State.FAILED, "dependency")}


async def test_a_poisonous_child_counts_as_failed(world: World) -> None:
    await spawned(world, FlowStep(spawn=(node("c1", crash_limit=1),), resume="go"))
    await take(world, "c1", lease=world.span(1))
    await world.pass_time(world.span(2))

    assert await ready(world) == []
    assert await states(world, "p") == {"p": (State.FAILED, "dependency")}


async def test_a_deadline_counts_from_the_spawn(world: World) -> None:
    await start(world, "p")
    await world.pass_time(world.span(20))
    join = Join(deadline=world.span(10))
    await done(world, "p", flow=FlowStep(spawn=TWO.spawn, resume="go", join=join))
    await world.do(Sweep())
    assert await states(world, "p") == {"p": (State.HELD, "children")}

    await world.pass_time(world.span(11))
    await world.do(Sweep())

    assert await states(world, "p", "c1") == {
        "p": (State.FAILED, "deadline"),
        "c1": (State.CANCELLED, "sibling"),
    }


async def test_children_that_nobody_waits_for_run_on(world: World) -> None:
    await start(world, "p")
    answer = await done(world, "p", flow=FlowStep(spawn=(node("c1"),)))

    assert answer.state is State.SUCCEEDED
    assert await ready(world) == ["c1"]
    await end(world, "c1", Outcome.FAIL)
    info = await flow_now(world)
    assert info is not None
    assert info.status is FlowStatus.FAILED


async def test_a_child_that_waits_for_its_parent_counts_as_failed(world: World) -> None:
    await start(world, "p", node("next", "p"))
    step = FlowStep(spawn=(node("c1", "next"), node("c2")), resume="go", join=COLLECT)
    await done(world, "p", flow=step)

    assert await ready(world) == ["c2"]
    await done(world, "c2")
    await done(world, "p")
    for job_id in ("next", "c1"):
        await done(world, job_id)

    info = await flow_now(world)
    assert info is not None
    assert info.status is FlowStatus.SUCCEEDED


async def test_a_job_held_for_its_children_counts_as_started(world: World) -> None:
    """For its unique key: one more run follows it, and nobody replaces what it was asked to do."""
    world.require(Capability.FLOWS)
    key = UniqueKey(key="k", on_conflict=OnConflict.REPLACE)
    await world.enqueue(new_job("p", unique=key))
    await done(world, "p", flow=FlowStep(spawn=(new_job("c"),), resume="go"))

    (answer,) = await world.enqueue(new_job("p2", unique=key, payload=b"new"))

    assert (answer.id, answer.state) == ("p2", State.HELD)
    await done(world, "c")
    await done(world, "p")
    assert await ready(world) == ["p2"]


async def test_a_purged_parent_gives_its_key_back(world: World) -> None:
    world.require(Capability.FLOWS)
    key = UniqueKey(key="k")
    await world.enqueue(new_job("p", unique=key))
    await done(world, "p", flow=FlowStep(spawn=(new_job("c"),), resume="go"))

    await world.do(Purge(filter=by_id("p")))

    (answer,) = await world.enqueue(new_job("p2", unique=key))
    assert (answer.id, answer.state) == ("p2", State.WAITING)


async def test_a_taken_id_of_another_flow_counts_as_failed(world: World) -> None:
    world.require(Capability.FLOWS)
    await world.enqueue("c1")
    await spawned(world, FlowStep(spawn=(node("c1"),), resume="go"))

    assert await states(world, "p", "c1") == {
        "p": (State.FAILED, "dependency"),
        "c1": (State.WAITING, None),
    }


async def test_the_last_two_children_may_end_at_the_same_time(world: World) -> None:
    await spawned(world)
    leases = await world.claim(2)

    answers = await world.at_once(
        *(
            Settle(items=(Settlement(id=each.id, token=each.token, outcome=Outcome.COMPLETE),))
            for each in leases
        )
    )

    assert sorted(answer[0].gained for answer in answers) == [(), ("mail",)]
    assert await ready(world) == ["p"]


async def test_a_parent_fires_or_is_cancelled(world: World) -> None:
    await spawned(world, FlowStep(spawn=(node("c1"),), resume="go"))
    lease = await take(world, "c1")

    _, steered = await world.at_once(
        Settle(items=(Settlement(id="c1", token=lease.token, outcome=Outcome.COMPLETE),)),
        Cancel(filter=by_id("p")),
    )

    assert steered.ids == ("p",)
    assert (await states(world, "p"))["p"] == (State.CANCELLED, "cancelled")
    assert await ready(world) == []


@pytest.mark.parametrize("together", [True, False])
async def test_a_batch_of_settlements_closes_all_its_edges(world: World, *, together: bool) -> None:
    children = tuple(node(f"c{n}") for n in range(5))
    await spawned(world, FlowStep(spawn=children, resume="go"))
    leases = await world.claim(9)
    items = tuple(
        Settlement(id=each.id, token=each.token, outcome=Outcome.COMPLETE) for each in leases
    )

    if together:
        answers = await world.do(Settle(items=items))
        assert [answer.gained for answer in answers] == [()] * 4 + [("mail",)]
    else:
        for item in items:
            await world.do(Settle(items=(item,)))

    assert await ready(world) == ["p"]
    (queue,) = (await world.do(ListQueues(queues=("mail",)))).items
    assert queue.counts == {State.SUCCEEDED: 5, State.WAITING: 1}
