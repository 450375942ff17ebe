"""Batches of steps: jobs of many flows that end together, each with what it does to its own."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from oxmill.model.flow import FlowStatus, FlowStep, Join, JoinPolicy
from oxmill.model.info import ListQueues
from oxmill.model.job import LeasedJob, NewJob
from oxmill.model.query import Filter, Find
from oxmill.model.settlement import Failure, Outcome, Ruling, Settle, Settled, Settlement
from oxmill.model.state import State
from oxmill.store.capabilities import Capability
from oxmill.testing.conformance.world import (
    QUEUE,
    World,
    done,
    flow,
    flow_now,
    new_job,
    node,
    ready,
    start,
    states,
    take,
)


def step(lease: LeasedJob, *then: NewJob, **merge: bytes) -> Settlement:
    """A lease that ends with these next steps and fields."""
    did = FlowStep(merge=merge, then=then)
    return Settlement(id=lease.id, token=lease.token, outcome=Outcome.COMPLETE, flow=did)


def of(flow_id: str, job_id: str, **options: Any) -> NewJob:
    """A job of this flow, which reads nothing unless it says so."""
    return node(job_id, **({"flow": flow_id, "reads": ()} | options))


def ended(lease: LeasedJob) -> Settlement:
    """A lease that ends and does nothing to a flow."""
    return Settlement(id=lease.id, token=lease.token, outcome=Outcome.COMPLETE)


async def begin(world: World, *flows: str) -> list[LeasedJob]:
    """Flows of one job each, whose jobs run."""
    for name in flows:
        await start(world, of(name, f"{name}.0"), flow=flow(name))
    return [await take(world, f"{name}.0") for name in flows]


async def settle(world: World, *items: Settlement) -> tuple[Settled, ...]:
    """Settle them together."""
    answers: tuple[Settled, ...] = await world.do(Settle(items=items))
    return answers


async def counted(world: World) -> dict[State, int]:
    """How many jobs of the queue are in each state."""
    (info,) = (await world.do(ListQueues(queues=(QUEUE,)))).items
    return {state: n for state, n in info.counts.items() if n}


async def test_each_step_of_a_batch_does_its_own(world: World) -> None:
    leases = await begin(world, "a", "b", "c")
    made = [of(lease.flow or "", f"{lease.flow}.1", reads=("x",)) for lease in leases[:2]]

    answers = await settle(
        world,
        step(leases[1], made[1], x=b"2"),
        step(leases[0], made[0], x=b"1", y=b"0"),
        step(leases[2], x=b"3"),
    )

    assert [(each.ruling, each.state, each.queue) for each in answers] == [
        (Ruling.WON, State.SUCCEEDED, QUEUE)
    ] * 3
    assert [each.gained for each in answers] == [(), (), (QUEUE,)]
    assert await counted(world) == {State.WAITING: 2, State.SUCCEEDED: 3}
    told = await world.claim(9)
    assert [(lease.id, lease.flow, lease.flow_state) for lease in told] == [
        ("b.1", "b", {"x": b"2"}),
        ("a.1", "a", {"x": b"1"}),
    ]
    infos = [await flow_now(world, name) for name in "abc"]
    assert [(each.status, each.state) for each in infos if each is not None] == [
        (FlowStatus.RUNNING, {"x": b"1", "y": b"0"}),
        (FlowStatus.RUNNING, {"x": b"2"}),
        (FlowStatus.SUCCEEDED, {"x": b"3"}),
    ]


async def test_steps_of_one_flow_in_a_batch_all_count(world: World) -> None:
    names = [f"f.{number}" for number in range(4)]
    await start(world, *names)
    leases = [await take(world, name) for name in names]

    await settle(
        world,
        step(leases[0], of("f", "next"), x=b"first", y=b"only"),
        step(leases[1], x=b"second"),
        step(leases[2], of("f", "more"), of("f", "most"), x=b"last"),
    )

    info = await flow_now(world)
    assert info is not None
    assert info.state == {"x": b"last", "y": b"only"}
    assert info.counts == {State.SUCCEEDED: 3, State.WAITING: 3, State.RUNNING: 1}
    await settle(world, step(leases[3]))
    for name in ("next", "more", "most"):
        info = await flow_now(world)
        assert info is not None
        assert info.ended_at is None
        await done(world, name)
    info = await flow_now(world)
    assert info is not None
    assert (info.status, info.counts) == (FlowStatus.SUCCEEDED, {State.SUCCEEDED: 7})


async def test_next_steps_that_are_there_stay_as_they_are(world: World) -> None:
    a, b = await begin(world, "a", "b")
    await start(world, of("b", "b.1", payload=b"first"), flow=flow("b"))

    answers = await settle(
        world,
        step(a, of("a", "a.1")),
        step(b, of("b", "b.1", payload=b"second"), x=b"1"),
    )

    assert [each.ruling for each in answers] == [Ruling.WON] * 2
    assert await ready(world) == ["b.1", "a.1"]
    there, info = await world.job("b.1"), await flow_now(world, "b")
    assert there is not None
    assert info is not None
    assert there.payload == b"first"
    assert (info.state, info.counts) == ({"x": b"1"}, {State.SUCCEEDED: 1, State.WAITING: 1})


async def test_a_next_step_named_twice_is_made_once(world: World) -> None:
    await start(world, "a", "b")
    a, b = await take(world, "a"), await take(world, "b")

    await settle(world, step(a, of("f", "next")), step(b, of("f", "next")))

    info = await flow_now(world)
    assert info is not None
    assert info.counts == {State.SUCCEEDED: 2, State.WAITING: 1}
    await done(world, "next")
    info = await flow_now(world)
    assert info is not None
    assert info.status is FlowStatus.SUCCEEDED


async def test_a_lost_lease_harms_no_other_step(world: World) -> None:
    await start(world, of("a", "a.0"), flow=flow("a"))
    stale = await take(world, "a.0", lease=world.span(1))
    await world.pass_time(world.span(2))
    fresh = await take(world, "a.0")
    (b,) = await begin(world, "b")

    answers = await settle(
        world, step(stale, of("a", "a.1"), x=b"stale"), step(b, of("b", "b.1"), x=b"1")
    )

    assert [each.ruling for each in answers] == [Ruling.LOST, Ruling.WON]
    assert await ready(world) == ["b.1"]
    (won,) = await settle(world, step(fresh, of("a", "a.1"), x=b"fresh"))
    assert won.ruling is Ruling.WON
    info = await flow_now(world, "a")
    assert info is not None
    assert info.state == {"x": b"fresh"}


async def test_steps_and_other_ends_come_in_one_batch(world: World) -> None:
    a, b, c = await begin(world, "a", "b", "c")
    await world.enqueue("plain")
    plain = await take(world, "plain")
    error = Failure(type="ValueError", message="no")
    failed = Settlement(id=b.id, token=b.token, outcome=Outcome.RETRY, error=error)

    answers = await settle(
        world,
        step(a, of("a", "a.1"), x=b"1"),
        failed,
        ended(plain),
        step(c),
    )

    assert [each.state for each in answers] == [
        State.SUCCEEDED,
        State.WAITING,
        State.SUCCEEDED,
        State.SUCCEEDED,
    ]
    assert sorted(await ready(world)) == ["a.1", "b.0"]
    again = await take(world, "b.0")
    assert (again.token.attempt, again.failures, again.flow_state) == (3, 1, {})
    await settle(world, step(again, of("b", "b.1", reads=("x",)), x=b"2"))
    job = await world.job("b.0")
    assert job is not None
    assert job.history[0].error == error
    assert (await take(world, "b.1")).flow_state == {"x": b"2"}


PAYLOADS = (b"one", b"two", b"one", b"one", b"six")
READS = (("x",), ("x",), ("x", "y"), ("y",), ("x",))


async def alike(world: World) -> dict[str, LeasedJob]:
    """Leases of jobs that have equal sizes in all they have, with other jobs among them."""
    for number, (payload, reads) in enumerate(zip(PAYLOADS, READS, strict=True)):
        name = f"f{number}"
        job = of(name, f"{name}.0", payload=payload, reads=reads, crash_limit=3 + number // 4)
        state = {"x": b"%d" % number, "y": b"-%d" % number}
        await start(world, job, flow=flow(name, state=state))
        await world.enqueue(new_job(f"p{number}.0", payload=payload))
    return {lease.id: lease for lease in await world.claim(99)}


async def test_leases_that_look_alike_have_each_their_own(world: World) -> None:
    leases = await alike(world)

    steps = [leases[f"f{number}.0"] for number in range(5)]
    assert [leases[f"p{number}.0"].payload for number in range(5)] == [*PAYLOADS]
    assert [lease.payload for lease in steps] == [*PAYLOADS]
    assert [lease.flow_state for lease in steps] == [
        {"x": b"0"},
        {"x": b"1"},
        {"x": b"2", "y": b"-2"},
        {"y": b"-3"},
        {"x": b"4"},
    ]


async def test_ends_that_look_alike_have_each_their_own(world: World) -> None:
    results, after = (b"1", None, b"null", b"22", b"1"), (b"old", b"new", b"old", b"new", b"new")
    leases, items = await alike(world), list[Settlement]()
    for number in range(5):
        lease, plain = leases[f"f{number}.0"], leases[f"p{number}.0"]
        made = of(f"f{number}", f"f{number}.1", payload=after[number], reads=("x",))
        end = step(lease, made, **{"xyx"[number % 3]: b"+%d" % number})
        items += (replace(end, result=results[number]), ended(plain))

    assert {each.ruling for each in await settle(world, *items)} == {Ruling.WON}

    for number in range(5):
        job, then = await world.job(f"f{number}.0"), await world.job(f"f{number}.1")
        info = await flow_now(world, f"f{number}")
        assert job is not None
        assert then is not None
        assert info is not None
        assert (job.state, job.payload) == (State.SUCCEEDED, PAYLOADS[number])
        assert (job.result, then.payload) == (results[number], after[number])
        changed = {"xyx"[number % 3]: b"+%d" % number}
        assert info.state == {"x": b"%d" % number, "y": b"-%d" % number} | changed


async def test_who_waits_for_a_job_is_let_go_by_its_step(world: World) -> None:
    join = Join(policy=JoinPolicy.ALL_SUCCEED)
    await start(world, "a", "b", node("c", "a", "b", join=join))
    a, b = await take(world, "a"), await take(world, "b")

    (answer,) = await settle(world, step(a, of("f", "next"), x=b"1"))
    assert answer.gained == (QUEUE,)
    assert await ready(world) == ["next"]
    await settle(world, step(b, y=b"2"))

    assert await ready(world) == ["next", "c"]
    await done(world, "next")
    info = await flow_now(world)
    assert info is not None
    assert info.status is FlowStatus.RUNNING
    await done(world, "c")
    info = await flow_now(world)
    assert info is not None
    assert (info.status, info.state) == (FlowStatus.SUCCEEDED, {"x": b"1", "y": b"2"})


async def test_a_last_step_ends_a_flow_as_its_other_jobs_did(world: World) -> None:
    await start(world, "a", "b", flow=flow(keep=world.span(5)))
    a, b = await take(world, "a"), await take(world, "b")
    await world.settle(b, Outcome.FAIL, error=Failure(type="ValueError"))
    info = await flow_now(world)
    assert info is not None
    assert info.status is FlowStatus.RUNNING

    await settle(world, step(a, x=b"1"))

    info = await flow_now(world)
    assert info is not None
    assert (info.status, info.state) == (FlowStatus.FAILED, {"x": b"1"})
    assert info.ended_at is not None


async def test_next_steps_keep_what_they_were_given(world: World) -> None:
    (a,) = await begin(world, "a")
    later = of("a", "later", delay=world.span(3), parent="somebody", keep=0)
    found = of(
        "elsewhere", "found", queue="other", priority=7, fields={"user": 62}, tags=("x",), keep=0
    )

    (answer,) = await settle(world, step(a, later, found))

    assert answer.gained == ("other",)
    assert await states(world, "later", "found") == {
        "later": (State.SCHEDULED, None),
        "found": (State.WAITING, None),
    }
    (page,) = (await world.do(Find(filter=Filter(fields={"user": 62})))).jobs
    assert (page.id, page.flow, page.parent, page.tags) == ("found", "a", None, ("x",))
    job = await world.job("later")
    assert job is not None
    assert (job.flow, job.parent) == ("a", None)
    await done(world, "found")
    assert (await world.job("found")) is not None


async def test_steps_of_groups_take_turns(world: World) -> None:
    world.require(Capability.GROUPS)
    await world.configure(group_concurrency=1)
    jobs = [of("f", name, group="g") for name in ("a", "b")]
    await start(world, *jobs)
    (a,) = await world.claim(9)

    (answer,) = await settle(world, step(a, of("f", "c", group="g"), of("f", "d", group="h")))

    assert answer.gained == (QUEUE,)
    told = await world.claim(9)
    assert sorted(lease.id for lease in told) == ["b", "d"]
    await settle(world, *(step(lease) for lease in told))
    assert await world.ids(9) == ["c"]
