"""Two turns on their way at once: what one of them does not see, the other may bring."""

import asyncio
import dataclasses

import msgspec
import pytest

from oxmill.model.claim import Claim
from oxmill.model.state import State
from oxmill.worker.exits import ExitCode

SLOTS, HALF = 60, 30


class Late:
    """A transport on which the answer to the second claim arrives after that to the turn behind it."""

    def __init__(self, inner):
        self._inner = inner
        self._claims = 0
        self._overtaken = asyncio.Event()
        self.held = None
        """What the second claim was answered."""
        self.behind = None
        """(plan, answer to the second claim) → the answer to the turn behind it, if not the store's."""

    def run(self, plan):
        return self._inner.run(plan)

    async def arun(self, plan):
        if plan.name == "claim":
            self._claims += 1
            answer = await self._inner.arun(plan)
            if self._claims == 2:
                self.held = answer
                await asyncio.wait_for(self._overtaken.wait(), 5)
            return answer
        if plan.name == "settle+claim" and not self._overtaken.is_set():
            if self.behind is None:
                answer = await self._inner.arun(plan)
            else:
                answer = await self.behind(plan, self.held)
            asyncio.get_running_loop().call_later(0.02, self._overtaken.set)
            return answer
        return await self._inner.arun(plan)

    def close(self):
        self._inner.close()


@pytest.fixture
def late(world):
    return Late(world.driver.transport)


async def drained(world, transport, **changes):
    driver = dataclasses.replace(world.driver, transport=transport, **changes)
    worker = await world.start(world.worker(driver, drain=True, slots=SLOTS))
    assert await world.code_of(worker) == ExitCode.OK


async def test_a_drain_waits_for_a_claim_that_is_on_its_way(world, late):
    @world.task
    async def noop():
        pass

    ids = [await world.enqueue(noop) for _ in range(2 * HALF)]
    await drained(world, late)

    assert len(late.held.jobs) == HALF
    assert {(await world.job(job_id)).state for job_id in ids} == {State.SUCCEEDED}


async def test_a_drain_looks_again_when_a_claim_was_overtaken_by_settlements(world, late):
    made = []

    @world.task
    async def leaf():
        pass

    @world.task
    async def branch():
        made.append(await world.enqueue(leaf))

    async def settle_only(plan, held):
        """The settlements are stored; as if another claim had locked what they let go."""
        settle, _ = plan.request
        settled = await world.driver.arun(world.driver.settling.settle(settle))
        return settled, held

    late.behind = settle_only
    for _ in range(HALF):
        await world.enqueue(branch)
    await drained(world, late)

    assert late.held.jobs == ()
    assert {(await world.job(job_id)).state for job_id in made} == {State.SUCCEEDED}
    assert len(made) == HALF


class Asked:
    """A transport that notes how many jobs each claim asks for."""

    def __init__(self, inner):
        self._inner = inner
        self.limits = []

    def run(self, plan):
        return self._inner.run(plan)

    async def arun(self, plan):
        requests = plan.request if isinstance(plan.request, tuple) else (plan.request,)
        self.limits += [request.limit for request in requests if isinstance(request, Claim)]
        return await self._inner.arun(plan)

    def close(self):
        self._inner.close()


@pytest.mark.parametrize(("bound", "most"), [(4, 4), (1_000, HALF)])
async def test_a_turn_asks_for_no_more_than_the_store_says_is_well(world, bound, most):
    @world.task
    async def noop():
        pass

    ids = [await world.enqueue(noop) for _ in range(SLOTS)]
    asked = Asked(world.driver.transport)
    bounds = msgspec.structs.replace(world.driver.bounds, turn_jobs=bound)
    await drained(world, asked, bounds=bounds)

    assert max(asked.limits) == most
    assert {(await world.job(job_id)).state for job_id in ids} == {State.SUCCEEDED}


async def test_a_job_starts_before_its_claim_is_noted(world):
    """Who has rung for an idle worker waits for the start, and not for what the worker notes down."""
    noted = []

    @world.task
    async def look():
        noted.append(worker.metrics.claims - worker.metrics.empty_claims)

    worker = await world.start(slots=10)
    await world.ended(await world.enqueue(look))

    assert noted == [0]
    assert await world.until(lambda: worker.metrics.claims > worker.metrics.empty_claims)
