"""Flows as a whole: how they begin, what they share, when they end, and who finds them."""

from __future__ import annotations

from typing import Any

import pytest

from oxmill.errors import BadInput, OxmillError
from oxmill.model.flow import FlowStatus, FlowStep, Join, JoinPolicy, ListFlows, NewFlow, OnFailure
from oxmill.model.info import Prune
from oxmill.model.job import Enqueue, NewJob, Verdict
from oxmill.model.query import Cancel, Filter, Find, Purge, Redrive
from oxmill.model.schedule import PutSchedules, Schedule
from oxmill.model.settings import DAY
from oxmill.model.settlement import Outcome, Ruling, Settle, Settlement
from oxmill.model.state import State
from oxmill.model.unique import UniqueKey
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


async def test_a_job_runs_after_those_it_is_after(world: World) -> None:
    answers = await start(world, "a", "b", node("c", "a", "b"))

    assert [answer.state for answer in answers] == [State.WAITING, State.WAITING, State.HELD]
    assert await ready(world) == ["a", "b"]
    await done(world, "a")
    assert await ready(world) == ["b"]
    await done(world, "b")
    assert await ready(world) == ["c"]


async def test_a_job_tells_what_it_was_after(world: World) -> None:
    await start(world, "a", "b", node("c", "b", "a", "b"))

    job = await world.job("c")
    page = await world.do(Find(filter=Filter(flow=FLOW), limit=1))

    assert job is not None
    assert (job.flow, job.after, job.joined) == (FLOW, ("b", "a"), ())
    assert [(each.id, each.flow, each.after) for each in page.jobs] == [("c", FLOW, ())]


async def test_a_flow_enqueued_again_is_itself(world: World) -> None:
    await start(world, "a", node("b", "a"))
    await done(world, "a")

    answers = await start(world, "a", node("b", "a"))

    assert [answer.verdict for answer in answers] == [Verdict.DUPLICATE] * 2
    assert [answer.state for answer in answers] == [State.SUCCEEDED, State.WAITING]
    info = await flow_now(world)
    assert info is not None
    assert info.counts == {State.SUCCEEDED: 1, State.WAITING: 1}


async def test_a_flow_with_a_taken_id_leaves_no_trace(world: World) -> None:
    world.require(Capability.FLOWS)
    await world.enqueue(new_job("b", payload=b"other"))

    answers = await start(world, "a", "b", node("c", "b"))

    assert [answer.verdict for answer in answers] == [
        Verdict.CREATED,
        Verdict.ID_CONFLICT,
        Verdict.CREATED,
    ]
    assert await flow_now(world) is None
    assert (await states(world, "a", "c")) == {"a": None, "c": None}


async def test_fields_merge_one_by_one(world: World) -> None:
    await start(world, "a", "b", flow=flow(state={"x": b"0", "y": b"0"}))
    one, two = await world.claim(2)

    await world.settle(one, Outcome.COMPLETE, flow=FlowStep(merge={"x": b"1", "z": b"\x00"}))
    await world.settle(two, Outcome.COMPLETE, flow=FlowStep(merge={"y": b"2"}))

    info = await flow_now(world)
    assert info is not None
    assert info.state == {"x": b"1", "y": b"2", "z": b"\x00"}


async def test_merges_at_the_same_time_all_count(world: World) -> None:
    names = [f"n{n}" for n in range(8)]
    await start(world, *names)
    leases = await world.claim(8)

    await world.at_once(
        *(
            Settle(
                items=(
                    Settlement(
                        id=lease.id,
                        token=lease.token,
                        outcome=Outcome.COMPLETE,
                        flow=FlowStep(merge={lease.id: lease.id.encode()}),
                    ),
                )
            )
            for lease in leases
        )
    )

    info = await flow_now(world)
    assert info is not None
    assert info.state == {name: name.encode() for name in names}
    assert (info.status, info.counts) == (FlowStatus.SUCCEEDED, {State.SUCCEEDED: 8})


async def test_a_lease_comes_with_the_fields_that_the_job_reads(world: World) -> None:
    state = {"x": b"1", "y": b"2"}
    jobs = (
        node("some", reads=("x", "missing")),
        node("none"),
        node("nothing", reads=()),
        node("other", reads=("y",)),
    )
    await start(world, *jobs, flow=flow(state=state))

    leases = await world.claim(4)

    assert [lease.flow_state for lease in leases] == [{"x": b"1"}, None, {}, {"y": b"2"}]
    assert [lease.flow for lease in leases] == [FLOW] * 4


async def test_a_step_sees_what_the_last_one_merged(world: World) -> None:
    await start(world, node("a"))
    following = node("b", flow=None, reads=("x",))
    answer = await done(world, "a", flow=FlowStep(merge={"x": b"1"}, then=(following,)))

    lease = await take(world, "b")

    assert answer.state is State.SUCCEEDED
    assert lease.flow == FLOW
    assert lease.flow_state == {"x": b"1"}
    info = await flow_now(world)
    assert info is not None
    assert info.status is FlowStatus.RUNNING


async def test_a_pipeline_ends_with_its_last_step(world: World) -> None:
    await start(world, "s1")
    await done(world, "s1", flow=FlowStep(then=(node("s2", queue="other"),)))
    gained = (await done(world, "s2", flow=FlowStep(then=(node("s3"),)))).gained
    assert gained == ("mail",)

    await done(world, "s3", flow=FlowStep(merge={"end": b"1"}))

    info = await flow_now(world)
    assert info is not None
    assert (info.status, info.counts) == (FlowStatus.SUCCEEDED, {State.SUCCEEDED: 3})
    assert info.ended_at is not None
    assert info.state == {"end": b"1"}


async def test_next_steps_may_wait_for_others(world: World) -> None:
    await start(world, "a", "b")
    await done(world, "a", flow=FlowStep(then=(node("c", "b"),)))

    assert await ready(world) == ["b"]
    await done(world, "b")
    assert await ready(world) == ["c"]


async def test_a_repeated_completion_makes_nothing_twice(world: World) -> None:
    await start(world, "a")
    lease = await take(world, "a")
    item = Settlement(
        id="a",
        token=lease.token,
        outcome=Outcome.COMPLETE,
        flow=FlowStep(merge={"x": b"1"}, then=(node("b"),)),
    )
    (first,) = await world.do(Settle(items=(item,)))
    await done(world, "b", flow=FlowStep(merge={"x": b"2"}))

    (second,) = await world.do(Settle(items=(item,)))

    assert (first.ruling, second.ruling) == (Ruling.WON, Ruling.WON)
    assert second.gained == ()
    info = await flow_now(world)
    assert info is not None
    assert (info.state, info.counts) == ({"x": b"2"}, {State.SUCCEEDED: 2})


async def test_a_lost_lease_changes_nothing(world: World) -> None:
    await start(world, "a")
    stale = await take(world, "a", lease=world.span(1))
    await world.pass_time(world.span(2))
    await take(world, "a")

    step = FlowStep(merge={"x": b"1"}, then=(node("b"),), spawn=(node("c"),), resume="go")
    answer = await world.settle(stale, Outcome.COMPLETE, flow=step)

    assert answer.ruling is Ruling.LOST
    assert await states(world, "a", "b", "c") == {
        "a": (State.RUNNING, None),
        "b": None,
        "c": None,
    }
    info = await flow_now(world)
    assert info is not None
    assert info.state == {}


async def test_a_plain_job_with_a_step_begins_a_flow(world: World) -> None:
    world.require(Capability.FLOWS)
    await world.enqueue("a")
    await done(world, "a", flow=FlowStep(merge={"x": b"1"}, then=(new_job("b"),)))

    info = await flow_now(world, "a")

    assert info is not None
    assert (info.name, info.state, info.status) == ("send", {"x": b"1"}, FlowStatus.RUNNING)
    job = await world.job("b")
    assert job is not None
    assert (job.flow, job.parent) == ("a", None)


@pytest.mark.parametrize("outcome", [Outcome.FAIL, Outcome.CANCEL])
async def test_a_flow_fails_by_a_job_that_nobody_waited_for(world: World, outcome: Outcome) -> None:
    await start(world, "a", "b")
    await end(world, "a", outcome)
    running = await flow_now(world)
    await done(world, "b")

    info = await flow_now(world)

    assert running is not None
    assert running.status is FlowStatus.RUNNING
    assert info is not None
    assert info.status is FlowStatus.FAILED


async def test_a_failure_that_was_dealt_with_does_not_fail_the_flow(world: World) -> None:
    collect = Join(on_failure=OnFailure.COLLECT)
    await start(world, "a", node("b", "a", join=collect))
    await end(world, "a", Outcome.FAIL)
    await done(world, "b")

    info = await flow_now(world)

    assert info is not None
    assert info.status is FlowStatus.SUCCEEDED


async def test_a_redriven_job_takes_the_flow_up_again(world: World) -> None:
    await start(world, "a", node("b", "a"), node("c", "b"))
    await end(world, "a", Outcome.FAIL)
    assert await states(world, "b", "c") == {
        "b": (State.FAILED, "dependency"),
        "c": (State.FAILED, "dependency"),
    }

    steered = await world.do(Redrive(filter=Filter(flow=FLOW)))

    assert set(steered.ids) == {"a", "b", "c"}
    assert steered.queues == ("mail",)
    info = await flow_now(world)
    assert info is not None
    assert (info.status, info.ended_at) == (FlowStatus.RUNNING, None)
    for job_id in ("a", "b", "c"):
        assert await ready(world) == [job_id]
        await done(world, job_id)
    info = await flow_now(world)
    assert info is not None
    assert info.status is FlowStatus.SUCCEEDED


async def test_a_redriven_job_fails_again_if_what_it_is_after_was_not(world: World) -> None:
    await start(world, "a", node("b", "a"))
    await end(world, "a", Outcome.FAIL)

    steered = await world.do(Redrive(filter=by_id("b")))

    assert steered.ids == ("b",)
    assert steered.queues == ()
    assert await states(world, "b") == {"b": (State.FAILED, "dependency")}


async def test_a_redriven_job_waits_only_for_what_has_not_succeeded(world: World) -> None:
    await start(world, "a", "b", node("c", "a", "b"))
    await done(world, "a")
    await end(world, "b", Outcome.FAIL)

    await world.do(Redrive(filter=Filter(flow=FLOW)))

    assert await ready(world) == ["b"]
    await done(world, "b")
    assert await ready(world) == ["c"]


async def test_jobs_are_kept_as_long_as_their_flow(world: World) -> None:
    await start(world, node("a", keep=0), "b", flow=flow(keep=world.span(5)))
    await done(world, "a")
    await world.pass_time(world.span(9))
    await world.do(Prune())
    assert (await states(world, "a"))["a"] == (State.SUCCEEDED, None)
    await done(world, "b")
    await world.do(Prune())
    assert (await flow_now(world)) is not None

    await world.pass_time(world.span(6))
    one = await world.do(Prune(limit=1))
    two = await world.do(Prune(limit=1))

    assert (one.jobs, one.more) == (1, True)
    assert (two.jobs, two.more) == (1, False)
    assert await flow_now(world) is None
    assert await states(world, "a", "b") == {"a": None, "b": None}


async def test_how_long_a_flow_is_kept_depends_on_its_end(world: World) -> None:
    world.require(Capability.VIRTUAL_TIME)
    await start(world, "a")
    await start(world, node("b", flow="g"), flow=flow("g"))
    await done(world, "a")
    await end(world, "b", Outcome.FAIL)

    await world.pass_time(2 * DAY)
    await world.do(Prune())
    assert (await flow_now(world), (await flow_now(world, "g")) is None) == (None, False)
    await world.pass_time(29 * DAY)
    await world.do(Prune())

    assert await flow_now(world, "g") is None


async def test_flows_are_found_by_what_they_are(world: World) -> None:
    await start(world, node("a1", flow="a"), flow=flow("a", fields={"user": 1, "kind": "x"}))
    await start(world, node("b1", flow="b"), flow=flow("b", name="export", fields={"user": "1"}))
    await start(world, node("c1", flow="c"), flow=flow("c", fields={"user": 1}))
    await done(world, "a1")
    await end(world, "b1", Outcome.FAIL)

    async def found(**wanted: Any) -> list[str]:
        return [each.id for each in (await world.do(ListFlows(**wanted))).items]

    assert await found() == ["c", "b", "a"]
    assert await found(ids=("a", "c", "none-such")) == ["c", "a"]
    assert await found(name="export") == ["b"]
    assert await found(fields={"user": 1}) == ["c", "a"]
    assert await found(fields={"user": "1"}) == ["b"]
    assert await found(fields={"user": 1, "kind": "x"}) == ["a"]
    assert await found(fields={"kind": "y"}) == []
    assert await found(status=FlowStatus.RUNNING) == ["c"]
    assert await found(status=FlowStatus.SUCCEEDED) == ["a"]
    assert await found(status=FlowStatus.FAILED, name="import") == []


async def test_flows_come_page_by_page(world: World) -> None:
    for n in range(5):
        await start(world, node(f"j{n}", flow=f"f{n}"), flow=flow(f"f{n}"))

    seen: list[str] = []
    cursor = None
    for _ in range(3):
        page = await world.do(ListFlows(limit=2, after=cursor))
        seen += [each.id for each in page.items]
        cursor = page.next

    assert seen == ["f4", "f3", "f2", "f1", "f0"]
    assert cursor is None


@pytest.mark.parametrize("wanted", [{"limit": 0}, {"after": "x"}])
async def test_a_page_that_makes_no_sense_is_refused(world: World, wanted: Any) -> None:
    world.require(Capability.FLOWS)
    with pytest.raises(BadInput):
        await world.do(ListFlows(**wanted))


async def test_a_flow_is_told_as_it_was_given(world: World) -> None:
    await start(world, "a", flow=flow(state={"x": b"\xff\x00"}, fields={"user": 1, "ü": "ö"}))

    info = await flow_now(world)

    assert info is not None
    assert (info.id, info.name, info.state) == (FLOW, "import", {"x": b"\xff\x00"})
    assert info.fields == {"user": 1, "ü": "ö"}
    assert info.ended_at is None


async def test_a_flow_is_cancelled_as_a_whole(world: World) -> None:
    await start(world, "a", "b", node("c", "a", "b"), node("d", "c"))
    lease = await take(world, "a")

    steered = await world.do(Cancel(filter=Filter(flow=FLOW)))

    assert (set(steered.ids), steered.asked) == ({"b", "c", "d"}, ("a",))
    assert set((await states(world, "b", "c", "d")).values()) == {(State.CANCELLED, "cancelled")}
    await world.settle(lease, Outcome.RELEASE)
    info = await flow_now(world)
    assert info is not None
    assert (info.status, info.counts) == (FlowStatus.FAILED, {State.CANCELLED: 4})


async def test_a_purged_job_is_a_failed_end_for_those_that_wait(world: World) -> None:
    await start(world, "a", "b", node("c", "a"), node("d", "b", join=COLLECT))

    steered = await world.do(Purge(filter=by_id("a", "b")))

    assert steered.queues == ("mail",)
    assert await states(world, "c", "d") == {
        "c": (State.FAILED, "dependency"),
        "d": (State.WAITING, None),
    }


async def test_a_flow_that_lost_a_job_has_failed(world: World) -> None:
    await start(world, "a", "b")
    await world.do(Purge(filter=by_id("b")))
    await done(world, "a")

    info = await flow_now(world)

    assert info is not None
    assert (info.status, info.counts) == (FlowStatus.FAILED, {State.SUCCEEDED: 1})


COLLECT = Join(on_failure=OnFailure.COLLECT)
ANY_TWO = Join(policy=JoinPolicy.QUORUM, quorum=2)


@pytest.mark.parametrize(
    "request_",
    [
        Enqueue(jobs=(node("a", flow="g"),), flow=flow()),
        Enqueue(jobs=(new_job("a"),), flow=flow()),
        Enqueue(jobs=(node("a"),)),
        Enqueue(jobs=(new_job("a", after=("b",)),)),
        Enqueue(jobs=(new_job("a"),), stage="s"),
        Enqueue(jobs=(), flow=flow()),
        Enqueue(jobs=(node("a", unique=UniqueKey(key="k")),), flow=flow()),
        Enqueue(jobs=(node("a", "b"), node("b")), flow=flow()),
        Enqueue(jobs=(node("a", "a"),), flow=flow()),
        Enqueue(jobs=(node("a"), node("b", "a", join=ANY_TWO)), flow=flow()),
        Enqueue(jobs=(node("a"), node("b", "a", join=Join(policy=JoinPolicy.QUORUM))), flow=flow()),
        Enqueue(jobs=(node("a", join=COLLECT),), flow=flow()),
        Enqueue(jobs=(node("a"),), flow=NewFlow(id="", name="n")),
        Enqueue(jobs=(node("a"),), flow=flow(fields={"x": 1.5})),
        Enqueue(jobs=(node("a"),), flow=flow(state={"": b""})),
        Enqueue(jobs=(node("a"), node("b", "a", join=Join(deadline=-1))), flow=flow()),
        Enqueue(jobs=(node("a"),), flow=flow(), publish="none-such"),
    ],
)
async def test_a_flow_that_does_not_hold_together_is_refused(
    world: World, request_: Enqueue
) -> None:
    world.require(Capability.FLOWS)
    with pytest.raises(BadInput):
        await world.do(request_)
    assert await world.job("a") is None
    assert await flow_now(world) is None


@pytest.mark.parametrize(
    ("outcome", "step"),
    [
        (Outcome.FAIL, FlowStep(merge={"x": b""})),
        (Outcome.COMPLETE, FlowStep(merge={"": b""})),
        (Outcome.COMPLETE, FlowStep(spawn=(node("a"),), resume="go")),
        (Outcome.COMPLETE, FlowStep(spawn=(node("b", "a"),), resume="go")),
        (Outcome.COMPLETE, FlowStep(spawn=(node("b"),), join=ANY_TWO, resume="go")),
        (Outcome.COMPLETE, FlowStep(then=(node("b", unique=UniqueKey(key="k")),))),
        (Outcome.COMPLETE, FlowStep(then=(node("b", headers={"h": 1}),))),
        (Outcome.COMPLETE, FlowStep(resume="")),
    ],
)
async def test_a_step_that_cannot_be_done_is_refused(
    world: World, outcome: Outcome, step: FlowStep
) -> None:
    await start(world, "a")
    lease = await take(world, "a")
    with pytest.raises(OxmillError):
        await world.settle(lease, outcome, flow=step)
    assert await states(world, "a", "b") == {"a": (State.RUNNING, None), "b": None}


async def test_schedules_make_no_jobs_of_flows(world: World) -> None:
    job = NewJob(id="x", queue="q", task="t", payload=b"", flow=FLOW)
    with pytest.raises(OxmillError):
        await world.do(PutSchedules(put=(Schedule(name="s", job=job, every=1_000_000),)))
