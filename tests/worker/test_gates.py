"""Workers and gates: they keep to limits, and come back when a gate opens, without polling."""

import asyncio
import time
from itertools import pairwise

import pytest

from oxmill.model.rule import PutRules, Rule, RuleKind, Scope
from oxmill.model.settings import PutSettings, QueueSettings
from oxmill.model.state import State
from oxmill.store.capabilities import Capability

RARELY = {"poll_least": 30, "poll_most": 30, "sweep_every": 30}
"""A worker that would be found waiting if it were not woken."""


@pytest.fixture(autouse=True)
def _able(world):
    if Capability.LIMITS | Capability.SCOPED_RULES not in world.driver.capabilities:
        pytest.skip(f"{world.driver.name} does not declare them")


async def limit(world, **settings):
    request = PutSettings(queue="default", settings=QueueSettings(**settings))
    await world.driver.arun(world.driver.steering.put_settings(request))


async def put(world, **change):
    await world.driver.arun(world.driver.steering.put_rules(PutRules(**change)))


async def has_looked(world, worker):
    """Wait for the answer to the worker's first claim."""
    await world.until(lambda: worker._parts.claimer.answered)


async def test_a_worker_comes_back_when_a_rate_lets_the_next_job_start(world):
    began = time.monotonic()
    starts = []

    @world.task
    async def note():
        starts.append(time.monotonic())

    await limit(world, rate="1/100ms")
    ids = [await world.enqueue(note) for _ in range(4)]
    await world.start(**RARELY)
    jobs = [await world.ended(job_id) for job_id in ids]

    assert {job.state for job in jobs} == {State.SUCCEEDED}
    assert starts[-1] - began >= 0.3
    claims = sorted(job.claimed_at for job in jobs)
    assert all(b - a >= 100_000 for a, b in pairwise(claims))


async def test_workers_together_keep_to_the_concurrency_of_a_group(world):
    running, most = {"a": 0, "b": 0}, {"a": 0, "b": 0}

    @world.task
    async def work(group: str):
        running[group] += 1
        most[group] = max(most[group], running[group])
        await asyncio.sleep(0.01)
        running[group] -= 1

    await limit(world, group_concurrency=2)
    ids = [await world.enqueue(work.using(group=g), g) for _ in range(8) for g in "ab"]
    await world.start(**RARELY)
    await world.start(**RARELY)
    jobs = [await world.ended(job_id) for job_id in ids]

    assert {job.state for job in jobs} == {State.SUCCEEDED}
    assert most == {"a": 2, "b": 2}


async def test_a_worker_hears_that_a_rule_was_lifted(world):
    @world.task(name="call")
    async def call() -> int:
        return 1

    rule = Rule(kind=RuleKind.PAUSE, target="call", scope=Scope.TASK)
    await put(world, set=(rule,))
    job_id = await world.enqueue(call)
    await has_looked(world, await world.start(**RARELY))
    assert (await world.job(job_id)).state is State.WAITING

    await put(world, lift=(rule.key,))

    assert (await world.ended(job_id)).state is State.SUCCEEDED


async def test_a_worker_hears_that_another_has_made_room(world):
    gate = asyncio.Event()

    @world.task
    async def work(first: bool):
        if first:
            await gate.wait()

    await limit(world, concurrency=1)
    first = await world.enqueue(work, True)
    one = await world.start(**RARELY)
    await world.in_state(first, State.RUNNING)
    one.quiet()
    second = await world.enqueue(work, False)
    await has_looked(world, await world.start(**RARELY))
    assert (await world.job(second)).state is State.WAITING
    gate.set()

    assert (await world.ended(second)).state is State.SUCCEEDED
