"""Housekeeping: bounded steps that see to what nobody claims, and a record of who is there."""

from __future__ import annotations

from typing import Any

from oxmill.model.info import (
    Beat,
    Beaten,
    Command,
    ListQueues,
    ListWorkers,
    Order,
    Prune,
    Sweep,
    Swept,
    WorkerInfo,
)
from oxmill.model.job import Reason
from oxmill.model.query import Get
from oxmill.model.settlement import Outcome
from oxmill.model.state import State
from oxmill.store.capabilities import Capability
from oxmill.testing.conformance.world import QUEUE, World, new_job


def worker(worker_id: str = "w1", **traits: Any) -> WorkerInfo:
    ordinary: dict[str, Any] = {
        "host": "h",
        "pid": 1,
        "version": "1",
        "queues": (QUEUE,),
        "slots": 4,
    }
    return WorkerInfo(**(ordinary | traits), id=worker_id)


async def beat(world: World, worker_id: str = "w1", ttl: float = 30, **traits: Any) -> Beaten:
    answer = await world.do(Beat(worker=worker(worker_id, **traits), ttl=world.span(ttl)))
    assert isinstance(answer, Beaten)
    return answer


async def present(world: World) -> list[str]:
    return [info.id for info in (await world.do(ListWorkers())).items]


# --- sweep ----------------------------------------------------------------------------------------


async def test_a_sweep_sees_to_all_queues(world: World) -> None:
    await world.enqueue(
        new_job("lapses", queue="q1"),
        new_job("poison", queue="q2", crash_limit=1),
    )
    await world.claim(2, queues=("q1", "q2"), lease=world.span(1))
    await world.enqueue(
        new_job("due", queue="q3", delay=world.span(1)),
        new_job("expires", queue="q4", expires_in=world.span(1)),
        new_job("later", queue="q5", delay=world.span(900)),
        new_job("waits", queue="q6"),
    )
    await world.pass_time(world.span(2))

    swept = await world.do(Sweep())

    ids = ("lapses", "poison", "due", "expires", "later", "waits")
    states = [(job.id, job.state, job.reason) for job in await world.do(Get(ids=ids))]
    assert states == [
        ("lapses", State.WAITING, None),
        ("poison", State.FAILED, Reason.POISON),
        ("due", State.WAITING, None),
        ("expires", State.CANCELLED, Reason.EXPIRED),
        ("later", State.SCHEDULED, None),
        ("waits", State.WAITING, None),
    ]
    assert (swept.lapsed, swept.poisoned, swept.due, swept.expired) == (2, 1, 1, 1)
    assert (set(swept.queues), set(swept.ended)) == ({"q1", "q3"}, {"poison", "expires"})
    assert not swept.more


async def test_a_second_sweep_finds_nothing(world: World) -> None:
    await world.enqueue("a", new_job("b", delay=world.span(1)))
    await world.claim(lease=world.span(1))
    await world.pass_time(world.span(2))
    await world.do(Sweep())

    assert await world.do(Sweep()) == Swept()


async def test_a_sweep_is_bounded_and_says_whether_more_is_left(world: World) -> None:
    await world.enqueue(*(new_job(f"job-{n}", delay=world.span(1)) for n in range(5)))
    await world.pass_time(world.span(2))

    first = await world.do(Sweep(limit=2))
    rest = 0
    for _ in range(9):
        swept = await world.do(Sweep(limit=2))
        rest += swept.due
        if not swept.more:
            break

    assert (first.due, first.more) == (2, True)
    assert rest == 3
    assert [job.id for job in await world.claim(9)] == [f"job-{n}" for n in range(5)]


async def test_a_sweep_leaves_live_leases_alone(world: World) -> None:
    await world.enqueue("a")
    await world.claim(lease=world.span(10))
    before = await world.job("a")

    assert await world.do(Sweep()) == Swept()
    assert await world.job("a") == before


async def test_swept_jobs_line_up_by_due_time(world: World) -> None:
    await world.enqueue(
        new_job("second", delay=world.span(2)),
        new_job("first", delay=world.span(1)),
        new_job("waits"),
    )
    await world.pass_time(world.span(3))
    await world.do(Sweep())
    await world.enqueue("last")

    assert [job.id for job in await world.claim(9)] == ["waits", "first", "second", "last"]


async def test_a_lease_from_the_future_is_cut_when_the_clock_stepped_back(world: World) -> None:
    world.require(Capability.VIRTUAL_TIME)
    await world.enqueue("a")
    await world.claim(lease=world.span(60))
    world.clock.advance(-world.span(10_000))

    await world.do(Sweep())
    await world.pass_time(world.span(61))

    (lease,) = await world.claim(worker="w2")
    assert lease.token.attempt == 2


async def test_several_sweeps_at_once_count_each_crash_once(world: World) -> None:
    await world.enqueue(*(f"job-{number}" for number in range(20)))
    await world.claim(20, lease=world.span(1))
    await world.pass_time(world.span(2))

    answers = await world.at_once(*[Sweep()] * 8)

    jobs = await world.do(Get(ids=tuple(f"job-{number}" for number in range(20))))
    assert sum(answer.lapsed for answer in answers) == 20
    assert {(job.state, job.crashes) for job in jobs} == {(State.WAITING, 1)}
    assert len(await world.claim(99)) == 20


async def test_several_prunes_at_once_delete_each_job_once(world: World) -> None:
    await world.enqueue(*(new_job(f"job-{n}", keep=world.span(1)) for n in range(20)))
    for lease in await world.claim(20):
        await world.settle(lease, Outcome.COMPLETE)
    await world.pass_time(world.span(2))

    answers = await world.at_once(*[Prune(limit=7)] * 8)

    (info,) = (await world.do(ListQueues(queues=(QUEUE,)))).items
    assert sum(answer.jobs for answer in answers) == 20
    assert (dict(info.counts), dict(info.totals)) == ({}, {State.SUCCEEDED: 20})


# --- workers --------------------------------------------------------------------------------------


async def test_a_worker_is_there_after_its_beat(world: World) -> None:
    told = worker(
        host="box-\u00e9",
        pid=77,
        version="1.2",
        queues=("b", "a"),
        slots=8,
        running=3,
        done=12,
        rss=10**9,
        tasks=("t1", "t2"),
        phase="quiet",
    )

    answer = await world.do(Beat(worker=told, ttl=world.span(30)))

    (info,) = (await world.do(ListWorkers())).items
    for name in "id host pid version queues slots running done rss tasks phase".split():  # noqa: SIM905
        assert getattr(info, name) == getattr(told, name), name
    assert (info.started_at, info.beat_at) == (answer.now, answer.now)
    assert answer.command is Command.NONE


async def test_a_second_beat_keeps_the_start_and_brings_the_rest_up_to_date(
    world: World,
) -> None:
    first = await beat(world, running=1)
    await world.pass_time(world.span(5))
    second = await beat(world, running=2)

    (info,) = (await world.do(ListWorkers())).items
    assert (info.started_at, info.beat_at, info.running) == (first.now, second.now, 2)


async def test_a_silent_worker_is_forgotten(world: World) -> None:
    await beat(world, "silent", ttl=3)
    await beat(world, "steady", ttl=60)

    await world.pass_time(world.span(4))

    assert await present(world) == ["steady"]
    await beat(world, "steady", ttl=60)
    assert await present(world) == ["steady"]


async def test_a_worker_that_leaves_is_forgotten_at_once(world: World) -> None:
    await beat(world)

    await world.do(Beat(worker=worker(), ttl=world.span(30), gone=True))
    await world.do(Beat(worker=worker("never seen"), ttl=world.span(30), gone=True))

    assert await present(world) == []


async def test_workers_are_listed_by_their_start(world: World) -> None:
    for worker_id in ("b", "c", "a"):
        await beat(world, worker_id)
        await world.pass_time(world.span(1))
    await beat(world, "b")

    assert await present(world) == ["b", "c", "a"]


async def test_jobs_do_not_depend_on_the_record_of_workers(world: World) -> None:
    await beat(world, ttl=1)
    await world.enqueue("a")
    (lease,) = await world.claim(worker="w1")
    await world.pass_time(world.span(5))
    await beat(world, "w2")

    assert await world.claim(worker="w2") == ()
    assert (await world.settle(lease, Outcome.COMPLETE)).state is State.SUCCEEDED


async def test_a_worker_learns_the_newest_order_with_its_beat(world: World) -> None:
    await beat(world, "w1")
    await beat(world, "w2")

    ordered = await world.do(Order(workers=("w1", "none-such"), command=Command.QUIET))
    quiet = await beat(world, "w1")
    await world.do(Order(workers=("w1",), command=Command.STOP))
    stop = await beat(world, "w1")
    other = await beat(world, "w2")

    assert ordered.workers == ("w1",)
    assert (quiet.command, stop.command) == (Command.QUIET, Command.STOP)
    assert other.command is Command.NONE


async def test_an_order_can_be_taken_back(world: World) -> None:
    await beat(world)
    await world.do(Order(workers=("w1",), command=Command.QUIET))
    await world.do(Order(workers=("w1",), command=Command.NONE))

    assert (await beat(world)).command is Command.NONE


async def test_a_forgotten_worker_cannot_be_asked(world: World) -> None:
    await beat(world, ttl=1)
    await world.pass_time(world.span(2))

    ordered = await world.do(Order(workers=("w1",), command=Command.STOP))

    assert ordered.workers == ()
    assert (await beat(world)).command is Command.NONE


async def test_many_beats_at_once_are_all_recorded(world: World) -> None:
    await world.at_once(*(Beat(worker=worker(f"w{n}"), ttl=world.span(60)) for n in range(12)))

    assert sorted(await present(world)) == sorted(f"w{n}" for n in range(12))
