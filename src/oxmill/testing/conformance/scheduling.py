"""Scheduling: a tick makes its jobs once, however many schedulers run."""

from __future__ import annotations

from typing import Any

import pytest

from oxmill.errors import BadInput, BadName
from oxmill.model.job import Verdict
from oxmill.model.query import Find
from oxmill.model.schedule import (
    CatchUp,
    Fire,
    Fired,
    ListSchedules,
    Overlap,
    PutSchedules,
    Schedule,
    ScheduleInfo,
)
from oxmill.model.settlement import Outcome
from oxmill.model.state import State
from oxmill.model.unique import UniqueKey
from oxmill.testing.conformance.world import World, almost, new_job


def schedule(name: str = "nightly", **options: Any) -> Schedule:
    job = options.pop("job", new_job("template"))
    return Schedule(**({"name": name, "job": job, "cron": "0 3 * * *"} | options))


async def put(world: World, *schedules: Schedule) -> int:
    changed: int = (await world.do(PutSchedules(put=schedules, author="ann"))).changed
    return changed


async def listed(world: World, *, due_only: bool = False) -> dict[str, ScheduleInfo]:
    answer = await world.do(ListSchedules(due_only=due_only))
    return {info.schedule.name: info for info in answer.items}


async def now(world: World) -> int:
    moment: int = (await world.do(ListSchedules())).now
    return moment


async def planned(world: World, in_spans: float, name: str = "nightly") -> int:
    """Put a schedule and set its next tick this far from now."""
    await put(world, schedule(name))
    tick = await now(world) + world.span(in_spans)
    fired = await world.do(Fire(name=name, expected=None, next_at=tick))
    assert fired == Fired(won=True)
    return tick


async def test_a_schedule_is_kept_as_it_was_put(world: World) -> None:
    job = new_job(
        "template",
        payload=bytes(range(256)),
        priority=3,
        tags=("t",),
        fields={"user": 62, "name": "x"},
        headers={"h": "1"},
        unique=UniqueKey(key="k", within=5),
        keep=7,
    )
    asked = Schedule(
        name="nightly",
        job=job,
        every=world.span(60),
        zone="Europe/Paris",
        catch_up=CatchUp.ALL,
        window=world.span(99),
        overlap=Overlap.QUEUE_ONE,
        jitter=world.span(2),
        source="ann",
    )

    changed = await put(world, asked)

    assert changed == 1
    assert await listed(world) == {
        "nightly": ScheduleInfo(schedule=asked, paused=False, next_at=None)
    }


async def test_schedules_are_listed_by_name(world: World) -> None:
    await put(world, schedule("c"), schedule("a"), schedule("B"))

    answer = await world.do(ListSchedules())
    limited = await world.do(ListSchedules(limit=2))

    assert [info.schedule.name for info in answer.items] == ["B", "a", "c"]
    assert [info.schedule.name for info in limited.items] == ["B", "a"]


async def test_an_unchanged_schedule_keeps_its_next_tick(world: World) -> None:
    tick = await planned(world, 30)

    changed = await put(world, schedule())

    info = (await listed(world))["nightly"]
    assert (changed, info.next_at) == (0, tick)


@pytest.mark.parametrize(
    "change",
    [{"cron": "0 4 * * *"}, {"zone": "Asia/Tokyo"}, {"job": new_job("template", payload=b"2")}],
    ids=["cron", "zone", "job"],
)
async def test_a_changed_schedule_has_its_next_tick_worked_out_anew(
    world: World, change: dict[str, Any]
) -> None:
    await planned(world, 30)

    changed = await put(world, schedule(**change))

    info = (await listed(world))["nightly"]
    assert (changed, info.next_at) == (1, None)
    assert info.schedule == schedule(**change)


async def test_a_tick_makes_its_jobs_and_sets_the_next(world: World) -> None:
    tick = await planned(world, 1)
    await world.pass_time(world.span(2))
    then = tick + world.span(60)

    fired = await world.do(
        Fire(
            name="nightly",
            expected=tick,
            next_at=then,
            jobs=(new_job("t1"), new_job("t2", delay=world.span(5))),
            tick=tick,
        )
    )

    info = (await listed(world))["nightly"]
    assert fired.won
    assert [(a.id, a.verdict, a.state) for a in fired.answers] == [
        ("t1", Verdict.CREATED, State.WAITING),
        ("t2", Verdict.CREATED, State.SCHEDULED),
    ]
    assert (info.next_at, info.last_at, info.last_job) == (then, tick, "t2")
    assert [job.id for job in await world.claim(9)] == ["t1"]


async def test_a_tick_is_won_once(world: World) -> None:
    tick = await planned(world, 1)
    first = Fire(name="nightly", expected=tick, next_at=tick + 60, jobs=(new_job("t1"),))
    second = Fire(name="nightly", expected=tick, next_at=tick + 60, jobs=(new_job("t2"),))

    assert (await world.do(first)).won
    assert await world.do(second) == Fired(won=False)
    assert await world.job("t2") is None


async def test_several_schedulers_at_once_make_one_job(world: World) -> None:
    tick = await planned(world, 1)

    answers = await world.at_once(
        *(
            Fire(name="nightly", expected=tick, next_at=tick + 60, jobs=(new_job(f"by-{n}"),))
            for n in range(12)
        )
    )

    assert [answer.won for answer in answers].count(True) == 1
    assert len((await world.do(Find())).jobs) == 1


async def test_a_tick_that_is_not_the_next_one_is_lost(world: World) -> None:
    tick = await planned(world, 1)

    for expected in (None, tick - 1, tick + 1):
        fired = await world.do(
            Fire(name="nightly", expected=expected, next_at=5, jobs=(new_job("t"),))
        )
        assert fired == Fired(won=False)

    assert (await listed(world))["nightly"].next_at == tick
    assert await world.job("t") is None


async def test_a_schedule_that_is_not_there_cannot_fire(world: World) -> None:
    fired = await world.do(Fire(name="none", expected=None, next_at=5, jobs=(new_job("t"),)))

    assert fired == Fired(won=False)
    assert await world.job("t") is None


async def test_a_paused_schedule_does_not_fire(world: World) -> None:
    tick = await planned(world, 1)
    await world.do(PutSchedules(pause=("nightly",)))

    fired = await world.do(Fire(name="nightly", expected=tick, next_at=5, jobs=(new_job("t"),)))

    info = (await listed(world))["nightly"]
    assert fired == Fired(won=False)
    assert (info.paused, info.next_at) == (True, tick)
    assert await world.job("t") is None


async def test_a_resumed_schedule_makes_nothing_up_for_the_pause(world: World) -> None:
    tick = await planned(world, 1)
    await world.do(PutSchedules(pause=("nightly",)))
    await world.pass_time(world.span(3))

    changed = (await world.do(PutSchedules(resume=("nightly",)))).changed

    info = (await listed(world))["nightly"]
    assert (changed, info.paused, info.next_at) == (1, False, None)
    late = await world.do(Fire(name="nightly", expected=tick, next_at=5, jobs=(new_job("t"),)))
    assert late == Fired(won=False)


async def test_pausing_and_resuming_twice_is_the_same_as_once(world: World) -> None:
    tick = await planned(world, 30)

    resumed = await world.do(PutSchedules(resume=("nightly",)))
    untouched = (await listed(world))["nightly"].next_at
    first = await world.do(PutSchedules(pause=("nightly",)))
    second = await world.do(PutSchedules(pause=("nightly", "none-such")))

    assert (resumed.changed, untouched) == (0, tick)
    assert (first.changed, second.changed) == (1, 0)


async def test_a_paused_schedule_that_is_put_again_stays_paused(world: World) -> None:
    await planned(world, 30)
    await world.do(PutSchedules(pause=("nightly",)))

    await put(world, schedule(cron="5 5 * * *"))

    assert (await listed(world))["nightly"].paused


async def test_a_dropped_schedule_is_gone(world: World) -> None:
    tick = await planned(world, 1)

    changed = (await world.do(PutSchedules(drop=("nightly", "none-such")))).changed

    fired = await world.do(Fire(name="nightly", expected=tick, next_at=5, jobs=(new_job("t"),)))
    assert changed == 1
    assert await listed(world) == {}
    assert fired == Fired(won=False)


async def test_one_call_puts_drops_and_pauses_together(world: World) -> None:
    await put(world, schedule("a"), schedule("b"))

    answer = await world.do(PutSchedules(put=(schedule("c"),), drop=("a",), pause=("b", "c")))

    kept = {name: info.paused for name, info in (await listed(world)).items()}
    assert answer.changed == 4
    assert kept == {"b": True, "c": True}


async def test_those_that_need_a_scheduler_are_listed(world: World) -> None:
    await planned(world, 1, "due")
    await planned(world, 900, "later")
    await planned(world, 1, "paused")
    await put(world, schedule("new"))
    await world.do(PutSchedules(pause=("paused",)))
    await world.pass_time(world.span(2))

    assert list(await listed(world, due_only=True)) == ["due", "new"]


async def test_a_tick_is_not_due_early(world: World) -> None:
    await planned(world, 6)
    length = world.span(6)

    await world.pass_time(almost(world, length))
    early = await listed(world, due_only=True)
    await world.pass_time(length - almost(world, length))

    assert early == {}
    assert list(await listed(world, due_only=True)) == ["nightly"]


async def test_a_schedule_that_cannot_be_worked_out_says_why(world: World) -> None:
    tick = await planned(world, 1)
    then = await now(world) + world.span(500)

    await world.do(Fire(name="nightly", expected=tick, next_at=then, error="no such zone"))

    broken = (await listed(world))["nightly"]
    assert (broken.error, broken.last_at, broken.last_job) == ("no such zone", None, None)
    await put(world, schedule(zone="Europe/Rome"))
    assert (await listed(world))["nightly"].error is None


async def test_a_job_that_is_already_there_does_not_stop_the_tick(world: World) -> None:
    tick = await planned(world, 1)
    key = UniqueKey(key="k")
    await world.enqueue(new_job("taken", payload=b"other"), new_job("holder", unique=key))
    jobs = (new_job("taken"), new_job("skipped", unique=key), new_job("fresh"))

    fired = await world.do(Fire(name="nightly", expected=tick, next_at=None, jobs=jobs))

    assert fired.won
    assert [(a.id, a.verdict) for a in fired.answers] == [
        ("taken", Verdict.ID_CONFLICT),
        ("holder", Verdict.DUPLICATE),
        ("fresh", Verdict.CREATED),
    ]
    assert [job.id for job in await world.claim(9)] == ["taken", "holder", "fresh"]


async def test_a_repeated_tick_after_a_lost_answer_makes_no_second_job(world: World) -> None:
    tick = await planned(world, 1)
    request = Fire(name="nightly", expected=tick, next_at=tick + 60, jobs=(new_job("t1"),))
    await world.do(request)
    (lease,) = await world.claim()
    await world.settle(lease, Outcome.COMPLETE)

    again = await world.do(request)

    assert again == Fired(won=False)
    assert await world.claim() == ()


async def test_a_tick_whose_job_makes_no_sense_is_refused(world: World) -> None:
    tick = await planned(world, 1)

    with pytest.raises(BadInput):
        await world.do(
            Fire(name="nightly", expected=tick, next_at=5, jobs=(new_job("t", priority=10**9),))
        )

    assert (await listed(world))["nightly"].next_at == tick


@pytest.mark.parametrize(
    "wrong",
    [{"job": new_job("t", priority=1.5)}, {"job": new_job("t", headers={"h": 1})}, {"every": 0.5}],
    ids=str,
)
async def test_a_schedule_of_wrong_types_is_refused(world: World, wrong: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        await put(world, schedule("fine"), schedule(**wrong))

    assert await listed(world) == {}


async def test_a_name_that_cannot_be_stored_is_refused(world: World) -> None:
    with pytest.raises(BadName):
        await put(world, schedule("fine"), schedule(""))

    assert await listed(world) == {}
