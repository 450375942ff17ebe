"""The doorbell: wakes those who wait; without it everything still works, only later."""

from __future__ import annotations

import asyncio

import pytest

from oxmill.model.flow import FlowStep, Join, JoinPolicy
from oxmill.model.info import Beat, Command, Order, Sweep, WorkerInfo
from oxmill.model.query import Cancel, Edit, Filter, Purge, Redrive
from oxmill.model.rule import PutRules, Rule, RuleKind
from oxmill.model.schedule import Fire, PutSchedules, Schedule
from oxmill.model.settlement import Outcome
from oxmill.model.unique import OnConflict, UniqueKey
from oxmill.store.doorbell import CONTROL, SWEEP, Bell, ended, work
from oxmill.testing.conformance.world import (
    QUEUE,
    World,
    by_id,
    done,
    end,
    flow,
    new_job,
    node,
    start,
    take,
)
from oxmill.testing.face import Face

PAUSE = Rule(kind=RuleKind.PAUSE, target=QUEUE)


async def wait(world: World, bell: Bell, timeout: float) -> bool:
    """Wait through the face under test."""
    if world.face is Face.ASYNC:
        return await bell.arrive(timeout)
    return await asyncio.to_thread(bell.wait, timeout)


def listening(world: World, *topics: str) -> Bell:
    return world.driver.doorbell.listen(topics)


async def tells(world: World, bell: Bell) -> bool:
    """Whether the bell rings; one that is switched off stays silent, and that is right too."""
    if not world.rings:
        return not await wait(world, bell, 0)
    return await wait(world, bell, 5)


async def test_an_enqueue_rings_for_its_queues(world: World) -> None:
    with listening(world, work("q1")) as one, listening(world, work("q2")) as two:
        await world.enqueue(new_job("a", queue="q1"), new_job("b", queue="q2"))

        assert await tells(world, one)
        assert await tells(world, two)


async def test_a_ring_ends_a_wait_that_has_begun(world: World) -> None:
    with listening(world, work(QUEUE)) as bell:
        waiter = asyncio.create_task(wait(world, bell, 30 if world.rings else 0.1))
        await asyncio.sleep(0.01)  # let it begin; a ring that came too early would end it as well

        await world.enqueue("a")

        assert await asyncio.wait_for(waiter, 10) is world.rings


async def test_a_ring_before_the_wait_is_remembered(world: World) -> None:
    with listening(world, work(QUEUE)) as bell:
        await world.enqueue("a")
        await world.enqueue("b")

        assert await tells(world, bell)


async def test_a_wait_without_a_ring_ends_in_time(world: World) -> None:
    with world.driver.doorbell.listen([work(QUEUE)]) as bell:
        assert not await wait(world, bell, 0.01)
        assert not await wait(world, bell, 0)


async def test_a_redrive_rings_for_the_queue(world: World) -> None:
    await world.enqueue("a")
    (lease,) = await world.claim()
    await world.settle(lease, Outcome.FAIL)

    with listening(world, work(QUEUE)) as bell:
        await world.do(Redrive(filter=by_id("a")))

        assert await tells(world, bell)


async def test_a_resume_rings_for_the_queue(world: World) -> None:
    await world.do(PutRules(set=(PAUSE,)))

    with listening(world, work(QUEUE)) as bell:
        await world.do(PutRules(lift=(PAUSE.key,)))

        assert await tells(world, bell)


async def test_a_job_run_now_rings_for_the_queue(world: World) -> None:
    await world.enqueue(new_job("a", delay=world.span(60)))

    with listening(world, work(QUEUE)) as bell:
        await world.do(Edit(filter=by_id("a"), due_in=0))

        assert await tells(world, bell)


@pytest.mark.parametrize("outcome", [Outcome.RELEASE, Outcome.RETRY])
async def test_a_job_that_goes_back_rings_for_the_queue(world: World, outcome: Outcome) -> None:
    await world.enqueue("a")
    (lease,) = await world.claim()

    with listening(world, work(QUEUE)) as bell:
        await world.settle(lease, outcome)

        assert await tells(world, bell)


async def test_a_sweep_rings_for_what_it_found(world: World) -> None:
    await world.enqueue(new_job("a", delay=world.span(1)))
    await world.pass_time(world.span(2))

    with listening(world, work(QUEUE)) as bell:
        await world.do(Sweep())

        assert await tells(world, bell)


async def test_a_tick_rings_for_its_queue(world: World) -> None:
    await world.do(PutSchedules(put=(Schedule(name="s", job=new_job("x"), every=1),)))

    with listening(world, work(QUEUE)) as bell:
        await world.do(Fire(name="s", expected=None, next_at=None, jobs=(new_job("t"),)))

        assert await tells(world, bell)


@pytest.mark.parametrize("outcome", [Outcome.COMPLETE, Outcome.FAIL, Outcome.CANCEL])
async def test_the_end_of_a_job_rings_for_those_who_wait_for_it(
    world: World, outcome: Outcome
) -> None:
    await world.enqueue("a")
    (lease,) = await world.claim()

    with listening(world, ended("a")) as bell:
        await world.settle(lease, outcome)

        assert await tells(world, bell)


async def test_a_cancelled_job_rings_for_those_who_wait_for_it(world: World) -> None:
    await world.enqueue("a")

    with listening(world, ended("a")) as bell:
        await world.do(Cancel(filter=by_id("a")))

        assert await tells(world, bell)


FLOW_ID = "0190f3c2a1b47c3d8e5f60718293a4b5"
"""A flow id as callers make them; some stores keep such ids in another form."""


@pytest.mark.parametrize("flow_id", ["f", FLOW_ID])
@pytest.mark.parametrize("outcome", [Outcome.COMPLETE, Outcome.FAIL, Outcome.CANCEL])
async def test_the_end_of_a_flow_rings_for_those_who_wait_for_it(
    world: World, outcome: Outcome, flow_id: str
) -> None:
    first, last = (node(each, flow=flow_id) for each in ("a", "b"))
    await start(world, first, last, flow=flow(flow_id))
    await done(world, "a")
    lease = await take(world, "b")

    with listening(world, ended(flow_id)) as bell:
        await world.settle(lease, outcome)

        assert await tells(world, bell)


async def test_the_last_step_of_a_pipeline_rings_for_its_flow(world: World) -> None:
    await start(world, "a")
    await done(world, "a", flow=FlowStep(merge={"x": b"1"}, then=(node("b"),)))
    lease = await take(world, "b")

    with listening(world, ended("f")) as bell:
        await world.settle(lease, Outcome.COMPLETE, flow=FlowStep(merge={"y": b"2"}))

        assert await tells(world, bell)


@pytest.mark.parametrize("request_", [Cancel, Purge])
async def test_a_flow_that_is_called_off_rings_for_those_who_wait_for_it(
    world: World, request_: type[Cancel | Purge]
) -> None:
    await start(world, "a", node("b", "a"))

    with listening(world, ended("f")) as bell:
        await world.do(request_(filter=Filter(flow="f")))

        assert await tells(world, bell)


async def test_a_flow_that_a_sweep_ends_rings_for_those_who_wait_for_it(world: World) -> None:
    await start(world, node("a", crash_limit=1))
    await take(world, "a", lease=world.span(1))
    await world.pass_time(world.span(2))

    with listening(world, ended("f")) as bell:
        await world.do(Sweep())

        assert await tells(world, bell)


async def test_a_job_that_fails_with_what_it_is_after_rings_for_those_who_wait_for_it(
    world: World,
) -> None:
    await start(world, "a", node("b", "a"))
    lease = await take(world, "a")

    with listening(world, ended("b")) as bell:
        await world.settle(lease, Outcome.FAIL)

        assert await tells(world, bell)


async def test_a_cancelled_sibling_rings_for_those_who_wait_for_it(world: World) -> None:
    await start(world, "a", "b", node("c", "a", "b"))
    lease = await take(world, "a")

    with listening(world, ended("b")) as bell:
        await world.settle(lease, Outcome.FAIL)

        assert await tells(world, bell)


async def test_a_running_sibling_that_is_asked_to_stop_rings_for_its_worker(world: World) -> None:
    await start(world, "a", "b", node("c", "a", "b"))
    lease = await take(world, "a")
    await take(world, "b")

    with listening(world, CONTROL) as bell:
        await world.settle(lease, Outcome.FAIL)

        assert await tells(world, bell)


async def test_what_a_cancelled_job_takes_along_rings_for_those_who_wait_for_it(
    world: World,
) -> None:
    await start(world, "a", node("b", "a"))

    with listening(world, ended("b")) as bell:
        await world.do(Cancel(filter=by_id("a")))

        assert await tells(world, bell)


async def test_a_job_that_comes_too_late_for_its_join_rings(world: World) -> None:
    """It is after a job that has failed: it ends in the enqueue itself, and so does its flow."""
    await start(world, "a")
    await end(world, "a", Outcome.FAIL)

    with listening(world, ended("b")) as job, listening(world, ended("f")) as whole:
        await start(world, node("b", "a"))

        assert await tells(world, job)
        assert await tells(world, whole)


async def test_what_a_settlement_leaves_rings_for_a_sweeper(world: World) -> None:
    await start(world, "a")
    for first in range(0, world.driver.bounds.cleanup_jobs + 1, 50):
        await start(world, *(node(f"{first}-{n}", "a") for n in range(50)))
    lease = await take(world, "a")

    with listening(world, SWEEP) as bell:
        await world.settle(lease, Outcome.COMPLETE)

        assert await tells(world, bell)


async def test_what_an_enqueue_leaves_rings_for_a_sweeper(world: World) -> None:
    """The jobs of a large stage are let go in parts."""
    ids = [f"n{n}" for n in range(world.driver.bounds.cleanup_jobs + 1)]
    for first in range(0, len(ids), 50):
        await start(world, *ids[first : first + 50], stage="s")

    with listening(world, SWEEP) as bell:
        await start(world, "last", stage="s", publish="s")

        assert await tells(world, bell)


async def too_late(world: World, how: str) -> None:
    """A flow's first job, which the next claim ends: it has expired, or crashed for the last time."""
    if how == "expired":
        await start(world, node("a", expires_in=world.span(1)))
    else:
        await start(world, node("a", crash_limit=1))
        await take(world, "a", lease=world.span(1))


@pytest.mark.parametrize("how", ["expired", "poisoned"])
async def test_what_a_claim_leaves_rings_for_a_sweeper(world: World, how: str) -> None:
    await too_late(world, how)
    for first in range(0, world.driver.bounds.cleanup_jobs + 1, 50):
        await start(world, *(node(f"{first}-{n}", "a") for n in range(50)))
    await world.pass_time(world.span(2))

    with listening(world, SWEEP) as bell:
        assert await world.claim() == ()

        assert await tells(world, bell)


@pytest.mark.parametrize("how", ["expired", "poisoned"])
async def test_what_a_claim_ends_and_frees_rings(world: World, how: str) -> None:
    await too_late(world, how)
    freed = node("c", "a", join=Join(policy=JoinPolicy.ALL_END), queue="other")
    await start(world, node("b", "a"), freed)
    await world.pass_time(world.span(2))

    with listening(world, ended("b")) as job, listening(world, work("other")) as queue:
        assert await world.claim() == ()

        assert await tells(world, job)
        assert await tells(world, queue)


async def test_a_job_that_a_settlement_frees_rings_for_its_queue(world: World) -> None:
    await start(world, "a", node("b", "a", queue="other"))
    lease = await take(world, "a")

    with listening(world, work("other")) as bell:
        await world.settle(lease, Outcome.COMPLETE)

        assert await tells(world, bell)


async def test_a_child_and_its_parent_ring_for_their_queues(world: World) -> None:
    await start(world, "a")
    lease = await take(world, "a")
    child = node("c", queue="other")

    with listening(world, work("other")) as children, listening(world, work(QUEUE)) as parent:
        await world.settle(lease, Outcome.COMPLETE, flow=FlowStep(spawn=(child,), resume="on"))
        assert await tells(world, children)

        await done(world, "c")
        assert await tells(world, parent)


async def test_a_freed_successor_rings_for_its_queue(world: World) -> None:
    key = UniqueKey(key="k", on_conflict=OnConflict.RERUN)
    await world.enqueue(new_job("a", unique=key))
    (lease,) = await world.claim()
    await world.enqueue(new_job("b", unique=key, queue="other"))

    with listening(world, work("other")) as bell:
        await world.settle(lease, Outcome.COMPLETE)

        assert await tells(world, bell)


async def test_a_job_asked_to_stop_rings_for_its_worker(world: World) -> None:
    await world.enqueue("a")
    await world.claim()

    with listening(world, CONTROL) as bell:
        await world.do(Cancel(filter=by_id("a")))

        assert await tells(world, bell)


async def test_an_order_rings_for_its_worker(world: World) -> None:
    info = WorkerInfo(id="w", host="h", pid=1, version="1", queues=(), slots=1)
    await world.do(Beat(worker=info, ttl=world.span(60)))

    with listening(world, CONTROL) as bell:
        await world.do(Order(workers=("w",), command=Command.STOP))

        assert await tells(world, bell)


async def test_a_closed_bell_is_not_rung(world: World) -> None:
    with listening(world, work(QUEUE)) as bell:
        bell.close()
        bell.close()
        await world.enqueue("a")

        assert not await wait(world, bell, 0.02)


async def test_closing_the_driver_lets_an_open_bell_time_out(world: World) -> None:
    bell = world.driver.doorbell.listen([work(QUEUE)])

    world.driver.close()
    world.driver.close()

    assert not await wait(world, bell, 0.01)
    bell.close()


async def test_a_ring_never_raises(world: World) -> None:
    world.driver.doorbell.ring(())
    world.driver.doorbell.ring([work("nobody"), ended("none"), CONTROL])
    assert await world.claim() == ()


async def test_without_a_doorbell_looking_is_enough(world: World) -> None:
    await world.enqueue("a", new_job("b", delay=world.span(1)))

    (first,) = await world.claim(9)
    await world.settle(first, Outcome.COMPLETE)
    await world.pass_time(world.span(2))
    (second,) = await world.claim(9)

    assert (first.id, second.id) == ("a", "b")
