"""Stages: what is larger than a batch comes in unseen, and is published in one step."""

from __future__ import annotations

import pytest

from oxmill.errors import BadInput
from oxmill.model.flow import FlowStatus, FlowStep, Join, ListFlows, OnFailure
from oxmill.model.info import Prune, Sweep
from oxmill.model.job import Enqueue, Verdict
from oxmill.model.query import Cancel, Filter, Find, Redrive
from oxmill.model.settings import DAY
from oxmill.model.settlement import Outcome, Settle, Settlement
from oxmill.model.state import State
from oxmill.store.capabilities import Capability
from oxmill.testing.conformance.world import (
    FLOW,
    World,
    by_id,
    done,
    end,
    flow,
    flow_now,
    new_job,
    node,
    ready,
    start,
    states,
    take,
)


async def test_staged_jobs_are_held_and_the_flow_is_not_seen(world: World) -> None:
    answers = await start(world, "a", node("b", "a"), stage="s")

    assert [answer.state for answer in answers] == [State.HELD, State.HELD]
    assert await ready(world) == []
    assert (await world.do(ListFlows())).items == ()
    assert set((await states(world, "a", "b")).values()) == {(State.HELD, "staged")}


async def test_a_published_stage_runs_as_a_whole(world: World) -> None:
    await start(world, "a", "b", stage="s")
    await start(world, node("c", "a", "b"), stage="s")
    answers = await start(world, node("d", "c"), node("e", queue="other"), stage="s", publish="s")

    assert [answer.state for answer in answers] == [State.HELD, State.WAITING]
    assert answers[-1].gained == ("mail", "other")
    assert await ready(world) == ["a", "b", "e"]
    for job_id in ("a", "b", "c", "d", "e"):
        await done(world, job_id)
    info = await flow_now(world)
    assert info is not None
    assert (info.status, info.counts) == (FlowStatus.SUCCEEDED, {State.SUCCEEDED: 5})


async def test_publishing_twice_is_the_same_as_once(world: World) -> None:
    await start(world, "a", stage="s")
    for _ in range(2):
        await world.do(Enqueue(jobs=(), flow=flow(), publish="s"))
        await world.do(Enqueue(jobs=(), publish="s"))

    assert await ready(world) == ["a"]


async def test_a_stage_that_is_not_there_cannot_be_published(world: World) -> None:
    world.require(Capability.FLOWS)
    with pytest.raises(BadInput):
        await start(world, "a", publish="s")
    assert await world.job("a") is None


async def test_a_repeated_chunk_is_itself(world: World) -> None:
    await start(world, "a", stage="s")
    (answer,) = await start(world, "a", stage="s")
    await start(world, "b", stage="s", publish="s")

    assert answer.verdict is Verdict.DUPLICATE
    assert await ready(world) == ["a", "b"]


async def test_jobs_that_come_to_a_published_stage_run(world: World) -> None:
    await start(world, "a", stage="s", publish="s")
    await start(world, "b", stage="s")

    assert await ready(world) == ["a", "b"]


async def test_what_nobody_publishes_is_dropped_after_a_day(world: World) -> None:
    world.require(Capability.VIRTUAL_TIME)
    await start(world, "a", node("b", "a"), stage="s")
    await world.pass_time(DAY - 1)
    await world.do(Prune())
    assert (await states(world, "a"))["a"] == (State.HELD, "staged")

    await world.pass_time(1)
    one = await world.do(Prune(limit=1))
    two = await world.do(Prune())

    assert (one.jobs, one.more) == (1, True)
    assert (two.jobs, two.more) == (1, False)
    assert await states(world, "a", "b") == {"a": None, "b": None}
    with pytest.raises(BadInput):
        await world.do(Enqueue(jobs=(), publish="s"))
    await start(world, "a", stage="s", publish="s")
    assert await ready(world) == ["a"]


async def test_a_published_stage_is_kept(world: World) -> None:
    world.require(Capability.VIRTUAL_TIME)
    await start(world, "a", stage="s", publish="s")
    await world.pass_time(2 * DAY)
    await world.do(Prune())

    assert await ready(world) == ["a"]


async def test_a_flow_ends_although_something_is_staged(world: World) -> None:
    await start(world, "a")
    await start(world, "b", stage="s")
    await done(world, "a")
    ended = await flow_now(world)
    await world.do(Enqueue(jobs=(), publish="s"))
    again = await flow_now(world)
    await done(world, "b")

    assert ended is not None
    assert ended.status is FlowStatus.SUCCEEDED
    assert again is not None
    assert again.status is FlowStatus.RUNNING


async def test_staged_jobs_may_be_cancelled(world: World) -> None:
    await start(world, "a", node("b", "a"), node("c", "a", join=COLLECT), "d", stage="s")
    await world.do(Cancel(filter=by_id("a")))
    assert await states(world, "b", "c") == {
        "b": (State.HELD, "staged"),
        "c": (State.HELD, "staged"),
    }

    await world.do(Enqueue(jobs=(), publish="s"))

    assert await states(world, "a", "b", "c", "d") == {
        "a": (State.CANCELLED, "cancelled"),
        "b": (State.FAILED, "dependency"),
        "c": (State.WAITING, None),
        "d": (State.WAITING, None),
    }


async def test_a_stage_of_which_all_was_cancelled_ends_with_its_publication(world: World) -> None:
    await start(world, "a", stage="s")
    await world.do(Cancel(filter=by_id("a")))
    await world.do(Enqueue(jobs=(), publish="s"))

    info = await flow_now(world)
    assert info is not None
    assert info.status is FlowStatus.FAILED


async def test_a_staged_job_that_is_driven_again_is_staged_again(world: World) -> None:
    await start(world, "a", stage="s")
    await world.do(Cancel(filter=by_id("a")))

    await world.do(Redrive(filter=by_id("a")))

    assert await states(world, "a") == {"a": (State.HELD, "staged")}
    await world.do(Enqueue(jobs=(), publish="s"))
    assert await ready(world) == ["a"]


async def test_a_deadline_begins_with_the_publication(world: World) -> None:
    join = Join(deadline=world.span(10), on_failure=OnFailure.IGNORE)
    await start(world, "a", node("b", "a", join=join), stage="s")
    await world.pass_time(world.span(20))
    await world.do(Sweep())
    await world.do(Enqueue(jobs=(), publish="s"))
    assert await states(world, "b") == {"b": (State.HELD, None)}

    await world.pass_time(world.span(11))
    await world.do(Sweep())

    assert await ready(world) == ["a", "b"]


async def test_a_large_flow_is_all_there_or_not_at_all(world: World) -> None:
    """Chunks come in unseen; one small step publishes them, sweeps let the rest of them go."""
    world.require(Capability.FLOWS)
    many = 2 * world.driver.bounds.cleanup_jobs + 50
    ids = [f"n{n}" for n in range(many)]
    chunk = min(world.driver.bounds.batch_jobs, world.driver.bounds.heavy_jobs, 500)
    for first in range(0, many, chunk):
        await start(world, *ids[first : first + chunk], stage="s")
    assert await ready(world) == []
    await start(world, node("end", *ids[:200]), stage="s", publish="s")
    page = await world.do(Find(filter=Filter(flow=FLOW, states=(State.HELD,)), limit=1))
    assert page.jobs

    while (await world.do(Sweep())).more:
        pass

    info = await flow_now(world)
    assert info is not None
    assert info.counts == {State.WAITING: many, State.HELD: 1}


STAGED = {"parent": "p"}


async def test_staged_children_count_with_the_others(world: World) -> None:
    await start(world, "p")
    lease = await take(world, "p")
    await start(world, node("c1", **STAGED), node("c2", **STAGED), stage="s")
    step = FlowStep(spawn=(node("c3"),), publish="s", resume="go")
    answer = await world.settle(lease, Outcome.COMPLETE, flow=step)

    assert (answer.state, answer.gained) == (State.HELD, ("mail",))
    for job_id in ("c1", "c2", "c3"):
        assert await states(world, "p") == {"p": (State.HELD, "children")}
        await done(world, job_id)
    assert (await take(world, "p")).joined == ("c1", "c2", "c3")


async def test_staged_children_of_a_job_without_a_flow(world: World) -> None:
    world.require(Capability.FLOWS)
    await world.enqueue("p")
    lease = await take(world, "p")
    child = new_job("c", flow="p", parent="p")
    await start(world, child, flow=flow("p", name="send"), stage="s")
    await world.settle(lease, Outcome.COMPLETE, flow=FlowStep(publish="s", resume="go"))

    await done(world, "c")

    assert (await take(world, "p")).joined == ("c",)
    info = await flow_now(world, "p")
    assert info is not None
    assert info.counts == {State.SUCCEEDED: 1, State.RUNNING: 1}


async def test_what_a_dead_attempt_staged_comes_along(world: World) -> None:
    await start(world, "p")
    await take(world, "p", lease=world.span(1))
    await start(world, node("c1", **STAGED), node("c2", **STAGED), stage="s1")
    await world.pass_time(world.span(2))
    lease = await take(world, "p")
    await start(world, node("c1", **STAGED), node("c2", **STAGED), stage="s2")

    await world.settle(lease, Outcome.COMPLETE, flow=FlowStep(publish="s2", resume="go"))

    assert await ready(world) == ["c1", "c2"]
    await done(world, "c1")
    await done(world, "c2")
    assert (await take(world, "p")).joined == ("c1", "c2")


async def test_staged_children_that_failed_before_get_a_fresh_start(world: World) -> None:
    await start(world, "p")
    lease = await take(world, "p")
    children = (node("c1", **STAGED), node("c2", **STAGED))
    await start(world, *children, stage="s1")
    await world.settle(lease, Outcome.COMPLETE, flow=FlowStep(publish="s1", resume="go"))
    await done(world, "c1")
    await end(world, "c2", Outcome.FAIL)
    await world.do(Redrive(filter=by_id("p")))
    lease = await take(world, "p")
    await start(world, *children, stage="s2")
    assert await states(world, "c1", "c2") == {
        "c1": (State.SUCCEEDED, None),
        "c2": (State.HELD, "staged"),
    }

    await world.settle(lease, Outcome.COMPLETE, flow=FlowStep(publish="s2", resume="go"))

    assert await ready(world) == ["c2"]
    await done(world, "c2")
    assert (await take(world, "p")).joined == ("c1", "c2")


async def test_a_publication_meets_a_prune(world: World) -> None:
    """Either all of the stage will run or the publication is refused."""
    world.require(Capability.VIRTUAL_TIME)
    await start(world, "a", "b", stage="s")
    await world.pass_time(DAY)

    try:
        await world.at_once(Enqueue(jobs=(), publish="s"), Prune(), Prune())
        published = ["a", "b"]
    except BadInput:
        published = []

    while (await world.do(Prune())).more:
        pass
    assert await ready(world) == published
    assert len((await world.do(ListFlows())).items) == len(published) // 2
    assert [job for job in published if await world.job(job) is None] == []


async def test_a_stage_is_published_and_children_end_at_the_same_time(world: World) -> None:
    await start(world, "a", "b", stage="s")
    await start(world, "x")
    lease = await take(world, "x")

    await world.at_once(
        Enqueue(jobs=(), publish="s"),
        Settle(items=(Settlement(id="x", token=lease.token, outcome=Outcome.COMPLETE),)),
    )

    assert await ready(world) == ["a", "b"]
    info = await flow_now(world)
    assert info is not None
    assert (info.status, info.counts) == (
        FlowStatus.RUNNING,
        {State.SUCCEEDED: 1, State.WAITING: 2},
    )


COLLECT = Join(on_failure=OnFailure.COLLECT)
