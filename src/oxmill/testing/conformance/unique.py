"""Unique keys: one live job per key."""

from __future__ import annotations

from typing import Any

import pytest

from oxmill.model.info import Prune, Sweep
from oxmill.model.job import Enqueued, LeasedJob, NewJob, Verdict
from oxmill.model.query import Cancel, Filter, Find, Purge
from oxmill.model.settlement import Outcome, Ruling
from oxmill.model.state import IDLE, TERMINAL, State
from oxmill.model.unique import OnConflict, UniqueKey, Until
from oxmill.testing.conformance.world import World, by_id, new_job

ENDS = {
    State.SUCCEEDED: Outcome.COMPLETE,
    State.FAILED: Outcome.FAIL,
    State.CANCELLED: Outcome.CANCEL,
}


def keyed(
    job_id: str, mode: OnConflict = OnConflict.SKIP, *, key: str = "k", **options: Any
) -> NewJob:
    """A job with a unique key; `until` and `within` are the key's, all else the job's."""
    traits = {name: options.pop(name) for name in ("until", "within") if name in options}
    return new_job(job_id, unique=UniqueKey(key=key, on_conflict=mode, **traits), **options)


async def holder_in(world: World, state: State, **options: Any) -> LeasedJob | None:
    """Bring the job `holder`, which has the key, into this state."""
    delay = world.span(50) if state is State.SCHEDULED else 0
    await world.enqueue(keyed("holder", delay=delay, **options))
    if state in IDLE:
        return None
    (lease,) = await world.claim()
    if state in TERMINAL:
        await world.settle(lease, ENDS[state])
    return lease


async def state_of(world: World, job_id: str) -> State | None:
    job = await world.job(job_id)
    return None if job is None else job.state


# --- every mode, every state of the holder ---------------------------------------------------------


@pytest.mark.parametrize("state", [State.SCHEDULED, State.WAITING, State.RUNNING])
async def test_skip_names_the_live_holder(world: World, state: State) -> None:
    await holder_in(world, state)
    before = await world.job("holder")

    (answer,) = await world.enqueue(keyed("b", OnConflict.SKIP))

    assert answer == Enqueued(id="holder", verdict=Verdict.DUPLICATE, state=state)
    assert await world.job("b") is None
    assert await world.job("holder") == before


@pytest.mark.parametrize("state", [State.SCHEDULED, State.WAITING, State.RUNNING])
async def test_raise_refuses_the_whole_batch(world: World, state: State) -> None:
    await holder_in(world, state)
    before = await world.job("holder")

    answers = await world.enqueue(new_job("a"), keyed("b", OnConflict.RAISE), new_job("c"))

    assert answers[1] == Enqueued(id="holder", verdict=Verdict.CONFLICT, state=state)
    assert [a.verdict for a in answers].count(Verdict.CONFLICT) == 1
    assert [job.id for job in (await world.do(Find())).jobs] == ["holder"]
    assert await world.job("holder") == before


@pytest.mark.parametrize("state", [State.SCHEDULED, State.WAITING])
async def test_replace_gives_an_idle_holder_the_new_content(world: World, state: State) -> None:
    await holder_in(world, state)
    there = await world.job("holder")
    content: dict[str, Any] = {
        "payload": b"new",
        "priority": 3,
        "max_attempts": 7,
        "crash_limit": 2,
        "timeout": world.span(8),
        "tags": ("x",),
        "fields": {"user": 2},
        "headers": {"h": "1"},
    }

    (answer,) = await world.enqueue(keyed("b", OnConflict.REPLACE, **content))

    assert answer == Enqueued(id="holder", verdict=Verdict.REPLACED, state=State.WAITING)
    assert await world.job("b") is None
    job = await world.job("holder")
    assert there is not None
    assert job is not None
    assert {name: getattr(job, name) for name in content} == content
    assert job.enqueued_at == there.enqueued_at
    (lease,) = await world.claim(9)
    assert (lease.id, lease.payload) == ("holder", b"new")
    found = (await world.do(Find(filter=Filter(fields={"user": 2}, tag="x")))).jobs
    assert [each.id for each in found] == ["holder"]


async def test_a_replaced_list_is_found_by_its_new_values_only(world: World) -> None:
    await world.enqueue(keyed("holder", OnConflict.SKIP, fields={"to": ("ann", "bob")}))

    await world.enqueue(keyed("b", OnConflict.REPLACE, fields={"to": ("bob", "cid")}))

    for name, there in {"ann": 0, "bob": 1, "cid": 1}.items():
        found = (await world.do(Find(filter=Filter(fields={"to": name})))).jobs
        assert len(found) == there, name


async def test_replace_may_put_off_an_idle_holder(world: World) -> None:
    await holder_in(world, State.WAITING)

    (answer,) = await world.enqueue(keyed("b", OnConflict.REPLACE, delay=world.span(3)))

    assert answer.state is State.SCHEDULED
    assert await world.claim() == ()
    await world.pass_time(world.span(4))
    assert [job.id for job in await world.claim()] == ["holder"]


@pytest.mark.parametrize("state", [State.SCHEDULED, State.WAITING])
async def test_rerun_lets_an_idle_holder_serve_for_both(world: World, state: State) -> None:
    await holder_in(world, state)
    before = await world.job("holder")

    (answer,) = await world.enqueue(keyed("b", OnConflict.RERUN, payload=b"new"))

    assert answer == Enqueued(id="holder", verdict=Verdict.DUPLICATE, state=state)
    assert await world.job("b") is None
    assert await world.job("holder") == before


@pytest.mark.parametrize("mode", list(OnConflict))
@pytest.mark.parametrize("state", sorted(TERMINAL))
async def test_an_ended_holder_has_given_back_its_key(
    world: World, state: State, mode: OnConflict
) -> None:
    await holder_in(world, state)

    (answer,) = await world.enqueue(keyed("b", mode))

    assert answer == Enqueued(id="b", verdict=Verdict.CREATED, state=State.WAITING)
    assert await state_of(world, "holder") is state


async def test_keys_are_compared_in_full(world: World) -> None:
    keys = ["k", "K", "k ", "k:1", "k:1:2", "é", "e\u0301", "k" * 900 + "a", "k" * 900 + "b"]

    answers = [
        (await world.enqueue(keyed(f"job-{number}", key=key)))[0] for number, key in enumerate(keys)
    ]

    assert {answer.verdict for answer in answers} == {Verdict.CREATED}


async def test_a_key_counts_across_queues_and_tasks(world: World) -> None:
    await world.enqueue(keyed("a", queue="one", task="t1"))

    (answer,) = await world.enqueue(keyed("b", queue="two", task="t2"))

    assert answer.id == "a"


async def test_the_repeat_of_the_holder_itself_is_no_conflict(world: World) -> None:
    await world.enqueue(keyed("a", OnConflict.RAISE))

    (answer,) = await world.enqueue(keyed("a", OnConflict.RAISE))

    assert answer == Enqueued(id="a", verdict=Verdict.DUPLICATE, state=State.WAITING)


# --- within one batch -----------------------------------------------------------------------------


async def test_one_batch_is_judged_job_by_job(world: World) -> None:
    answers = await world.enqueue(
        keyed("a", OnConflict.SKIP, payload=b"first"),
        keyed("b", OnConflict.SKIP),
        keyed("c", OnConflict.REPLACE, payload=b"third"),
        keyed("d", OnConflict.RERUN),
        keyed("e", OnConflict.SKIP, key="other"),
    )

    assert [(answer.id, answer.verdict) for answer in answers] == [
        ("a", Verdict.CREATED),
        ("a", Verdict.DUPLICATE),
        ("a", Verdict.REPLACED),
        ("a", Verdict.DUPLICATE),
        ("e", Verdict.CREATED),
    ]
    assert [(job.id, job.payload) for job in await world.claim(9)] == [
        ("a", b"third"),
        ("e", b"{}"),
    ]


async def test_a_conflict_within_a_batch_refuses_it(world: World) -> None:
    answers = await world.enqueue(keyed("a"), keyed("b", OnConflict.RAISE))

    assert (answers[1].id, answers[1].verdict) == ("a", Verdict.CONFLICT)
    assert (await world.do(Find())).jobs == ()
    (again,) = await world.enqueue(keyed("c", OnConflict.RAISE))
    assert again.verdict is Verdict.CREATED


async def test_a_refused_batch_undoes_its_replacements_and_successors(world: World) -> None:
    await holder_in(world, State.RUNNING)
    await world.enqueue(keyed("idle", key="i", payload=b"old", delay=world.span(9)))
    before = await world.job("idle")

    answers = await world.enqueue(
        keyed("next", OnConflict.RERUN),
        keyed("x", OnConflict.REPLACE, key="i", payload=b"new", priority=-4),
        keyed("y", OnConflict.RAISE),
    )

    assert answers[2].verdict is Verdict.CONFLICT
    assert await world.job("next") is None
    assert await world.job("idle") == before
    (again,) = await world.enqueue(keyed("other", OnConflict.RERUN))
    assert (again.id, again.verdict) == ("other", Verdict.CREATED)


# --- until started, within a time -----------------------------------------------------------------


async def test_a_key_held_until_started_is_free_once_the_job_is_claimed(world: World) -> None:
    await world.enqueue(keyed("a", until=Until.STARTED))
    (idle,) = await world.enqueue(keyed("b", until=Until.STARTED))
    await world.claim()

    (started,) = await world.enqueue(keyed("c", until=Until.STARTED))

    assert (idle.id, idle.verdict) == ("a", Verdict.DUPLICATE)
    assert (started.id, started.verdict, started.state) == ("c", Verdict.CREATED, State.WAITING)


async def test_a_started_job_does_not_take_its_key_from_the_next_one(world: World) -> None:
    await world.enqueue(keyed("a", until=Until.STARTED))
    (lease,) = await world.claim()
    await world.enqueue(keyed("b", until=Until.STARTED))
    await world.settle(lease, Outcome.RETRY)

    (third,) = await world.enqueue(keyed("c", until=Until.STARTED))

    assert (third.id, third.verdict) == ("b", Verdict.DUPLICATE)


async def test_the_end_of_a_started_job_does_not_free_the_next_ones_key(world: World) -> None:
    await world.enqueue(keyed("a", until=Until.STARTED))
    (lease,) = await world.claim()
    await world.enqueue(keyed("b", until=Until.STARTED))
    await world.settle(lease, Outcome.COMPLETE)

    (third,) = await world.enqueue(keyed("c", until=Until.STARTED))

    assert (third.id, third.verdict) == ("b", Verdict.DUPLICATE)


async def test_a_key_held_until_finished_is_held_through_retries_and_lapses(world: World) -> None:
    await world.enqueue(keyed("a"))
    (lease,) = await world.claim()
    await world.settle(lease, Outcome.RETRY, delay=world.span(1))
    await world.pass_time(world.span(2))
    await world.claim(lease=world.span(1))
    await world.pass_time(world.span(2))
    await world.do(Sweep())

    (answer,) = await world.enqueue(keyed("b"))

    assert (answer.id, answer.verdict) == ("a", Verdict.DUPLICATE)


@pytest.mark.parametrize("state", sorted(TERMINAL))
async def test_a_key_may_be_held_for_a_time_even_after_the_end(world: World, state: State) -> None:
    await holder_in(world, state, within=world.span(6))

    (skipped,) = await world.enqueue(keyed("b"))
    (refused,) = await world.enqueue(keyed("b", OnConflict.RAISE))
    (replaced,) = await world.enqueue(keyed("b", OnConflict.REPLACE))
    (rerun,) = await world.enqueue(keyed("b", OnConflict.RERUN))
    await world.pass_time(world.span(7))
    (after,) = await world.enqueue(keyed("b"))

    assert skipped == Enqueued(id="holder", verdict=Verdict.DUPLICATE, state=state)
    assert refused == Enqueued(id="holder", verdict=Verdict.CONFLICT, state=state)
    assert replaced == rerun == skipped
    assert (after.id, after.verdict) == ("b", Verdict.CREATED)


async def test_the_time_counts_from_the_enqueue_and_a_longer_life_counts_more(
    world: World,
) -> None:
    await world.enqueue(keyed("a", within=world.span(3)))
    await world.pass_time(world.span(4))

    (live,) = await world.enqueue(keyed("b"))
    (lease,) = await world.claim()
    await world.settle(lease, Outcome.COMPLETE)
    (ended,) = await world.enqueue(keyed("b"))

    assert (live.id, live.verdict) == ("a", Verdict.DUPLICATE)
    assert (ended.id, ended.verdict) == ("b", Verdict.CREATED)


async def test_a_time_outlives_the_job_itself(world: World) -> None:
    await world.enqueue(keyed("a", within=world.span(60), keep=0))
    (lease,) = await world.claim()
    await world.settle(lease, Outcome.COMPLETE)
    await world.do(Prune())

    (answer,) = await world.enqueue(keyed("b"))

    assert answer == Enqueued(id="a", verdict=Verdict.DUPLICATE, state=None)
    assert await world.job("b") is None


async def test_a_job_that_reuses_the_holders_id_is_not_the_holder(world: World) -> None:
    await world.enqueue(keyed("a", within=world.span(60), keep=0))
    (lease,) = await world.claim()
    await world.settle(lease, Outcome.COMPLETE)
    await world.enqueue(new_job("a", payload=b"another job"))
    await world.claim()

    (answer,) = await world.enqueue(keyed("b", OnConflict.RERUN))

    assert answer == Enqueued(id="a", verdict=Verdict.DUPLICATE, state=None)
    assert await world.job("b") is None


async def test_until_started_may_be_prolonged_by_a_time(world: World) -> None:
    await world.enqueue(keyed("a", until=Until.STARTED, within=world.span(3)))
    await world.claim()

    (inside,) = await world.enqueue(keyed("b", until=Until.STARTED))
    await world.pass_time(world.span(4))
    (outside,) = await world.enqueue(keyed("b", until=Until.STARTED))

    assert (inside.id, inside.verdict) == ("a", Verdict.DUPLICATE)
    assert (outside.id, outside.verdict) == ("b", Verdict.CREATED)


# --- keys and removal -----------------------------------------------------------------------------


async def test_cancelling_the_holder_gives_back_its_key(world: World) -> None:
    await world.enqueue(keyed("a"))
    await world.do(Cancel(filter=by_id("a")))

    (answer,) = await world.enqueue(keyed("b"))

    assert answer.verdict is Verdict.CREATED


@pytest.mark.parametrize("ended", [False, True], ids=["idle", "ended"])
async def test_purging_the_holder_gives_back_its_key(world: World, *, ended: bool) -> None:
    await world.enqueue(keyed("a", within=world.span(60)))
    if ended:
        (lease,) = await world.claim()
        await world.settle(lease, Outcome.COMPLETE)
    await world.do(Purge(filter=by_id("a")))

    (answer,) = await world.enqueue(keyed("b"))

    assert answer.verdict is Verdict.CREATED


async def test_who_ran_the_old_content_cannot_complete_the_new(world: World) -> None:
    await world.enqueue(keyed("a", payload=b"old"))
    (lease,) = await world.claim(lease=world.span(3))
    await world.pass_time(world.span(4))
    await world.do(Sweep())
    await world.enqueue(keyed("b", OnConflict.REPLACE, payload=b"new"))

    late = await world.settle(lease, Outcome.COMPLETE)

    assert (late.ruling, late.state) == (Ruling.LOST, State.WAITING)
    assert [job.payload for job in await world.claim()] == [b"new"]
