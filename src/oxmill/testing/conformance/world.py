"""The small world in which each conformance test takes place."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeVar

import pytest

from oxmill.model.claim import Claim, ClaimIds
from oxmill.model.flow import FlowInfo, ListFlows, NewFlow
from oxmill.model.info import Sweep
from oxmill.model.job import Enqueue, Enqueued, Job, LeasedJob, NewJob
from oxmill.model.query import Filter, Get
from oxmill.model.settings import PutSettings, QueueSettings
from oxmill.model.settlement import Outcome, Settle, Settled, Settlement
from oxmill.model.state import State
from oxmill.model.value import Micros, Value
from oxmill.store.capabilities import Capability
from oxmill.store.driver import Driver
from oxmill.store.plan import Plan
from oxmill.testing.clock import VirtualClock
from oxmill.testing.face import Face
from oxmill.testing.operations import plan_for

T = TypeVar("T")

QUEUE = "mail"
"""The queue of a job for which a test names none."""


def new_job(job_id: str, **options: Any) -> NewJob:
    """A job with this id; what matters to the test is given, the rest is ordinary."""
    ordinary: dict[str, Any] = {"queue": QUEUE, "task": "send", "payload": b"{}"}
    return NewJob(**(ordinary | options), id=job_id)


def of_group(group: str | None, number: int, **options: Any) -> list[NewJob]:
    """Jobs `g1`, `g2`, … of group `g`; those of no group are called `n1`, `n2`, …"""
    return [new_job(f"{group or 'n'}{n}", group=group, **options) for n in range(1, number + 1)]


def almost(world: World, length: Micros) -> Micros:
    """Not quite this length: all but a moment on a virtual clock, about half of it on a real one."""
    virtual = Capability.VIRTUAL_TIME in world.driver.capabilities
    return length - 1 if virtual else length // 2


def by_id(*ids: str) -> Filter:
    """The filter for these very jobs."""
    return Filter(ids=ids)


@dataclass(slots=True)
class World:
    """One empty store behind one face of its driver, and a clock that can be moved.

    A request names its operation: `await world.do(Cancel(filter=by_id("a")))`. Lengths of time are
    given in spans, which are a second of virtual time, or a short real time where the store has a
    clock of its own.
    """

    driver: Driver
    face: Face
    clock: VirtualClock
    rings: bool = True
    """Whether the doorbell was asked to ring."""
    nonces: count[int] = field(default_factory=lambda: count(1))

    async def do(self, request: Value) -> Any:
        """Perform the operation that answers this request."""
        return await self.perform(plan_for(self.driver, request))

    async def perform(self, plan: Plan[T]) -> T:
        """Perform a plan through the face under test."""
        if self.face is Face.ASYNC:
            return await self.driver.arun(plan)
        return self.driver.run(plan)

    async def at_once(self, *requests: Value) -> list[Any]:
        """Perform all requests at the same time: one thread each, or one asyncio task each."""
        return await self.perform_at_once(*(plan_for(self.driver, each) for each in requests))

    async def perform_at_once(self, *plans: Plan[Any]) -> list[Any]:
        """The same with plans."""
        if self.face is Face.ASYNC:
            return await asyncio.gather(*(self.driver.arun(plan) for plan in plans))
        barrier = threading.Barrier(len(plans))

        def go(plan: Plan[Any]) -> Any:
            barrier.wait(30)
            return self.driver.run(plan)

        with ThreadPoolExecutor(len(plans)) as pool:
            loop = asyncio.get_running_loop()
            return await asyncio.gather(*(loop.run_in_executor(pool, go, plan) for plan in plans))

    def span(self, number: float = 1) -> Micros:
        """A length of time that counts as `number` seconds in this world."""
        virtual = Capability.VIRTUAL_TIME in self.driver.capabilities
        return round(number * (1_000_000 if virtual else 100_000))

    async def pass_time(self, length: Micros) -> None:
        """Let the store's clock go on by at least this much."""
        if Capability.VIRTUAL_TIME in self.driver.capabilities:
            self.clock.advance(length)
        else:
            await asyncio.sleep(length / 1e6 + 0.005)

    def require(self, capability: Capability) -> None:
        """Skip the test on stores that do not claim to be able to do this."""
        if capability not in self.driver.capabilities:
            pytest.skip(f"{self.driver.name} does not declare {capability.name}")

    async def enqueue(self, *jobs: NewJob | str) -> tuple[Enqueued, ...]:
        """Enqueue one batch; a mere id stands for an ordinary job."""
        batch = tuple(new_job(job) if isinstance(job, str) else job for job in jobs)
        answers: tuple[Enqueued, ...] = await self.do(Enqueue(jobs=batch))
        return answers

    async def fill(self, *jobs: NewJob | str) -> None:
        """Enqueue any number of jobs, in as many batches as the store wants."""
        most = min(self.driver.bounds.batch_jobs, self.driver.bounds.heavy_jobs)
        for first in range(0, len(jobs), most):
            await self.enqueue(*jobs[first : first + most])

    async def claim(
        self,
        limit: int = 1,
        *,
        queues: tuple[str, ...] = (QUEUE,),
        lease: Micros | None = None,
        worker: str = "w1",
    ) -> tuple[LeasedJob, ...]:
        """The jobs that one claim was granted; the lease is long unless it is given."""
        request = Claim(
            queues=queues,
            limit=limit,
            lease=self.span(600) if lease is None else lease,
            worker=worker,
            nonce=next(self.nonces),
        )
        jobs: tuple[LeasedJob, ...] = (await self.do(request)).jobs
        return jobs

    async def ids(self, limit: int = 1, **options: Any) -> list[str]:
        """The ids of the jobs that one claim was granted, in order."""
        return [job.id for job in await self.claim(limit, **options)]

    async def configure(self, queue: str = QUEUE, **settings: Any) -> None:
        """Put the settings of a queue; what is not given is as at the start."""
        await self.do(PutSettings(queue=queue, settings=QueueSettings(**settings)))

    async def settle(self, lease: LeasedJob, outcome: Outcome, **details: Any) -> Settled:
        """Settle one lease and give the store's answer."""
        item = Settlement(id=lease.id, token=lease.token, outcome=outcome, **details)
        (answer,) = await self.do(Settle(items=(item,)))
        assert isinstance(answer, Settled)
        return answer

    async def job(self, job_id: str) -> Job | None:
        """The job as recorded, with its history, or `None`."""
        found: tuple[Job, ...] = await self.do(Get(ids=(job_id,)))
        return found[0] if found else None


FLOW = "f"
"""The flow of a node for which a test names none."""


def node(job_id: str, *after: str, **options: Any) -> NewJob:
    """A job of the flow that is after these; the rest is ordinary."""
    ordinary: dict[str, Any] = {"flow": FLOW, "after": after}
    return new_job(job_id, **(ordinary | options))


def flow(flow_id: str = FLOW, **options: Any) -> NewFlow:
    """A flow with this id; what matters to the test is given."""
    ordinary: dict[str, Any] = {"name": "import"}
    return NewFlow(**(ordinary | options), id=flow_id)


async def start(world: World, *jobs: NewJob | str, **options: Any) -> tuple[Enqueued, ...]:
    """Enqueue one batch of the flow; a mere id stands for an ordinary node."""
    world.require(Capability.FLOWS)
    batch = tuple(node(job) if isinstance(job, str) else job for job in jobs)
    request: dict[str, Any] = {"flow": flow(), **options}
    answers: tuple[Enqueued, ...] = await world.do(Enqueue(jobs=batch, **request))
    return answers


async def take(world: World, job_id: str, *, lease: Micros | None = None) -> LeasedJob:
    """Claim this very job, which must be waiting."""
    length = world.span(600) if lease is None else lease
    request = ClaimIds(ids=(job_id,), lease=length, worker="w1", nonce=next(world.nonces))
    jobs: tuple[LeasedJob, ...] = (await world.do(request)).jobs
    assert jobs, f"{job_id} could not be claimed"
    return jobs[0]


async def end(world: World, job_id: str, outcome: Outcome, **details: Any) -> Settled:
    """Run a job to this end."""
    return await world.settle(await take(world, job_id), outcome, **details)


async def done(world: World, job_id: str, **details: Any) -> Settled:
    """Run a job to its good end; details may say what it does to its flow."""
    return await end(world, job_id, Outcome.COMPLETE, **details)


async def ready(world: World) -> list[str]:
    """The jobs that a claim would be granted now."""
    leases = await world.claim(100, queues=(QUEUE, "other"))
    for lease in leases:
        await world.settle(lease, Outcome.RELEASE)
    return [lease.id for lease in leases]


async def states(world: World, *ids: str) -> dict[str, tuple[State, str | None] | None]:
    """How these jobs are doing, and why."""
    jobs = {job.id: (job.state, job.reason) for job in await world.do(Get(ids=ids))}
    return {each: jobs.get(each) for each in ids}


async def flow_now(world: World, flow_id: str = FLOW) -> FlowInfo | None:
    """The flow as recorded, or `None`."""
    items: tuple[FlowInfo, ...] = (await world.do(ListFlows(ids=(flow_id,)))).items
    return items[0] if items else None


async def sweep_all(world: World) -> int:
    """Sweep until nothing is left; how many sweeps it took."""
    for n in range(1, 1_000):
        if not (await world.do(Sweep())).more:
            return n
    raise AssertionError("sweeping did not come to an end")
