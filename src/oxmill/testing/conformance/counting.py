"""Counting: the numbers people see agree with a recount, whatever has happened."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from oxmill.model.info import ListQueues, Prune, Sweep
from oxmill.model.query import Cancel, Edit, Filter, Find, Purge, Redrive
from oxmill.model.settlement import Outcome
from oxmill.model.state import State
from oxmill.model.unique import OnConflict, UniqueKey
from oxmill.testing.conformance.world import QUEUE, World, by_id, new_job

QUEUES = ("q1", "q2")


async def recounted(world: World) -> dict[str, dict[State, int]]:
    """Counts by queue and state, from the jobs themselves."""
    counts: dict[str, Counter[State]] = {}
    cursor = None
    while True:
        page = await world.do(Find(after=cursor, limit=200))
        for job in page.jobs:
            counts.setdefault(job.queue, Counter())[job.state] += 1
        if (cursor := page.next) is None:
            return {queue: dict(states) for queue, states in counts.items()}


async def counted(world: World) -> dict[str, dict[State, int]]:
    """Counts by queue and state, as the store tells them."""
    info = (await world.do(ListQueues())).items
    return {queue.name: dict(queue.counts) for queue in info if queue.counts}


async def enqueue_some(world: World, dice: random.Random) -> None:
    unique = UniqueKey(
        key=dice.choice("xyz"),
        on_conflict=dice.choice([OnConflict.SKIP, OnConflict.REPLACE, OnConflict.RERUN]),
    )
    await world.enqueue(
        new_job(
            f"job-{dice.randrange(60)}",
            queue=dice.choice(QUEUES),
            task="t",
            delay=dice.choice([0, 0, world.span(1)]),
            expires_in=dice.choice([None, world.span(2)]),
            keep=dice.choice([None, 0, world.span(3)]),
            max_attempts=2,
            crash_limit=2,
            unique=dice.choice([None, unique]),
        )
    )


async def run_some(world: World, dice: random.Random) -> None:
    leases = await world.claim(3, queues=QUEUES, lease=world.span(1))
    for lease in dice.sample(leases, k=dice.randint(0, len(leases))):
        await world.settle(lease, dice.choice(list(Outcome)), delay=dice.choice([0, world.span(1)]))


async def steer_some(world: World, dice: random.Random) -> None:
    wanted = by_id(*(f"job-{dice.randrange(60)}" for _ in range(5)))
    await world.do(
        dice.choice(
            [
                Cancel(filter=wanted),
                Redrive(filter=wanted),
                Redrive(filter=Filter(states=(State.FAILED,))),
                Edit(filter=wanted, queue=dice.choice(QUEUES), due_in=world.span(1)),
                Purge(filter=by_id(f"job-{dice.randrange(60)}")),
            ]
        )
    )


async def tidy_some(world: World, dice: random.Random) -> None:
    await world.pass_time(world.span(dice.random()))
    await world.do(dice.choice([Sweep(), Sweep(limit=1), Prune(), Prune(limit=1)]))


@pytest.mark.parametrize("seed", range(3))
async def test_counts_equal_a_recount_after_anything(world: World, seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311 - a repeatable story, not a secret
    acts = [enqueue_some, enqueue_some, run_some, run_some, steer_some, tidy_some]

    for _ in range(80):
        await dice.choice(acts)(world, dice)

        assert await counted(world) == await recounted(world)


async def test_totals_count_every_end_and_survive_everything(world: World) -> None:
    await world.enqueue(
        new_job("a"), new_job("b", keep=0), new_job("c", keep=world.span(1)), new_job("d")
    )
    a, b, c, d = await world.claim(4)
    await world.settle(a, Outcome.COMPLETE)
    await world.settle(b, Outcome.COMPLETE)
    await world.settle(c, Outcome.FAIL)
    await world.settle(d, Outcome.FAIL)
    await world.do(Redrive(filter=by_id("d")))
    await world.do(Cancel(filter=by_id("d")))
    await world.do(Purge(filter=by_id("a")))
    await world.pass_time(world.span(2))
    await world.do(Prune())

    (info,) = (await world.do(ListQueues(queues=(QUEUE,)))).items

    assert dict(info.counts) == {State.CANCELLED: 1}
    assert dict(info.totals) == {State.SUCCEEDED: 2, State.FAILED: 2, State.CANCELLED: 1}


async def test_a_repeated_settlement_is_counted_once(world: World) -> None:
    await world.enqueue("a")
    (lease,) = await world.claim()

    for _ in range(3):
        await world.settle(lease, Outcome.COMPLETE)

    (info,) = (await world.do(ListQueues(queues=(QUEUE,)))).items
    assert (dict(info.counts), dict(info.totals)) == (
        {State.SUCCEEDED: 1},
        {State.SUCCEEDED: 1},
    )


async def test_expired_and_poisonous_jobs_are_counted_as_ends(world: World) -> None:
    await world.enqueue(new_job("poison", crash_limit=1))
    await world.claim(lease=world.span(1))
    await world.enqueue(new_job("late", expires_in=world.span(1)))
    await world.pass_time(world.span(2))

    await world.do(Sweep())

    (info,) = (await world.do(ListQueues(queues=(QUEUE,)))).items
    assert dict(info.totals) == {State.FAILED: 1, State.CANCELLED: 1}


async def test_a_purge_of_idle_jobs_is_no_end(world: World) -> None:
    await world.enqueue("a")

    await world.do(Purge(filter=by_id("a")))

    (info,) = (await world.do(ListQueues(queues=(QUEUE,)))).items
    assert (dict(info.counts), dict(info.totals)) == ({}, {})
