"""Flows in a real worker: on the loop, in threads, in child processes, and on a store in trouble."""

import asyncio
import json
import os
from dataclasses import replace

import pytest

from oxmill.drivers.memory.driver import open_memory
from oxmill.errors import StoreUnavailable
from oxmill.model.failed import Failed
from oxmill.model.flow import FlowStatus
from oxmill.model.query import Get
from oxmill.model.state import State
from oxmill.observe.events import RunEnded
from oxmill.queue.client import Client
from oxmill.queue.context import current
from oxmill.queue.declaring import Declaring
from oxmill.queue.draft import Draft
from oxmill.queue.ids import IdSource
from oxmill.queue.options import TaskOptions
from oxmill.queue.spawning import Spawn
from oxmill.store.bells import SilentDoorbell
from oxmill.store.capabilities import Capability
from oxmill.worker.flow_store import INLINE

from . import child_app
from .world import BOUND, World


@pytest.fixture
async def children():
    """A world whose tasks run in child processes; only the worker has a store."""
    driver = open_memory()
    made = World(driver)
    made.app = child_app.app
    with child_app.app._client.lend(driver):
        await made.start(made.worker(extras={"app_spec": "worker.child_app:app"}, slots=2))
        yield made
        await made.close()
    driver.close()


@pytest.fixture
async def flowing(world):
    """Tasks and workers on each store that has flows."""
    if Capability.FLOWS not in world.driver.capabilities:
        pytest.skip("this store has no flows")
    return world


def flow(world, name="f"):
    return Draft(name, world.app._client, {})


async def test_coroutines_and_functions_are_nodes_parents_and_continuations(flowing):
    @flowing.task(name="part", queue="default")
    async def part(n: int) -> int:
        return n

    @flowing.task(name="fan")
    async def fan(n: int) -> int:
        raise Spawn([part.bind(each) for each in range(n)], then=in_thread)

    @fan.continuation
    def in_thread(results: list[int], n: int) -> int:
        if n < 100:
            raise Spawn([part.bind(n)], then=on_loop)
        return sum(results)

    @fan.continuation
    async def on_loop(results: list[int], n: int) -> int:
        assert current().id
        return results[0]

    async with flow(flowing) as f:
        first = f.add(fan, 5)
        second = f.add(fan, 200).after(first)
        both = f.add(part, first.out)
    await flowing.start(slots=4)

    assert await f.aresult(second, 8) == sum(range(200))
    assert (await f.aresult(first, 8), await f.aresult(both, 8)) == (5, 5)


async def test_a_run_that_spawns_is_told_as_such(flowing):
    @flowing.task(name="part")
    async def part() -> int:
        return 1

    @flowing.task(name="fan")
    async def fan() -> int:
        raise Spawn([part.bind()], then=joined)

    @fan.continuation
    async def joined(results: list[int]) -> int:
        return results[0]

    await flowing.start(slots=4)
    job_id = await flowing.enqueue(fan)
    await flowing.ended(job_id)

    told = [event.outcome for event in flowing.events(RunEnded) if event.job == job_id]
    assert told == ["spawned", "complete"]


async def test_children_are_spawned_and_joined_from_child_processes(children):
    job = await child_app.whole.aenqueue([3, -1, 5], "x")
    pid, label, cursor, number, found = await job.aresult(30)

    assert pid != os.getpid()
    assert (label, cursor, number, found) == ("x", "X", 3, [3, "ValueError", 5])


async def test_more_children_than_fit_are_staged_by_the_worker_for_its_child(children):
    job = await child_app.crowd.aenqueue(INLINE + 1)
    assert await job.aresult(30) == sum(range(INLINE + 1))


async def test_results_are_arguments_in_child_processes(children):
    async with flow(children) as f:
        parts = [f.add(child_app.part, n) for n in (1, 2)]
        total = f.add(child_app.add, [part.out for part in parts], label="sum")
    pid, label, number = await f.aresult(total, 30)

    assert pid != os.getpid()
    assert (label, number) == ("sum", 3)


async def test_a_step_runs_in_a_child_process(children):
    doubled = child_app.app.pipeline("double", child_app.double, child_app.double)
    flow = await doubled.astart({"n": 3})
    await flow.aoutcome(30)
    state = await flow.astate()

    assert state["n"] == 12
    assert state["pid"] != os.getpid()


class Refusing:
    """A role of a store that cannot be reached now and then."""

    def __init__(self, role, operation, times):
        self._role = role
        self._operation = operation
        self.left = times

    def __getattr__(self, name):
        if name == self._operation and self.left > 0:
            self.left -= 1
            raise StoreUnavailable("not now")
        return getattr(self._role, name)


async def test_a_run_waits_for_a_store_that_does_not_give_its_inputs(flowing):
    @flowing.task(name="give", retry=None)
    async def give(n: int) -> int:
        return n

    @flowing.task(name="add", retry=None)
    async def add(numbers: list[int]) -> int:
        return sum(numbers)

    async with flow(flowing) as f:
        total = f.add(add, [f.add(give, n).out for n in (1, 2)])
    refusing = Refusing(flowing.driver.inspecting, "get", 1)
    await flowing.start(flowing.worker(replace(flowing.driver, inspecting=refusing)))

    assert await f.aresult(total, 8) == 3
    record = await flowing.job(total.id)
    assert refusing.left == 0
    assert (record.failures, record.attempt) == (0, 2)


async def test_a_run_waits_for_a_store_that_does_not_take_its_children(flowing):
    starts = []

    @flowing.task(name="part")
    async def part(n: int) -> int:
        return n

    @flowing.task(name="many", retry=None)
    async def many() -> int:
        starts.append(current().attempt)
        raise Spawn([part.bind(n) for n in range(INLINE + 1)], then=count)

    @many.continuation
    async def count(results: list[int]) -> int:
        return len(results)

    job = await many.aenqueue()
    refusing = Refusing(flowing.driver.enqueueing, "enqueue", 1)
    await flowing.start(flowing.worker(replace(flowing.driver, enqueueing=refusing), slots=50))

    assert await job.aresult(8) == INLINE + 1
    assert refusing.left == 0
    assert starts == [1, 2]


async def test_a_next_step_that_this_worker_does_not_know_is_tried_again(flowing):
    other = Declaring(Client(lambda: flowing.driver, IdSource()), TaskOptions())

    @other.step(name="unknown")
    def unknown(n: int) -> None: ...

    for app in (other, flowing.app):

        @app.step(name="known", retry=2)
        def known(n: int) -> None: ...

        if app is other:
            here = known

    flow = await other.pipeline("p", here, unknown).astart({"n": 1})
    await flowing.start()
    record = await flowing.until(lambda: _with_error(flowing, f"{flow.id}.0"))
    assert (record.error.type, record.state) == ("TaskNotFound", State.SCHEDULED)


async def _with_error(world, job_id):
    record = await world.job(job_id)
    return record if record is not None and record.error is not None else None


async def test_a_lost_result_fails_the_run_with_words(flowing):
    @flowing.task(name="give")
    async def give() -> int:
        return 1

    @flowing.task(name="take", retry=5)
    async def take(n: int | Failed) -> int:
        return 1

    async with flow(flowing) as f:
        f.add(take, f.add(give).out)
    bare = replace(flowing.driver, inspecting=Forgetful(flowing.driver.inspecting))
    await flowing.start(flowing.worker(bare))
    record = await flowing.ended(f"{f.id}.1")

    assert (record.state, record.error.type) == (State.FAILED, "BadArguments")
    assert "not there any more" in record.error.message
    assert json.loads(record.payload)["gaps"] == [[["n"], f"{f.id}.0"]]


class Forgetful:
    """A store that has lost all jobs that are looked up."""

    def __init__(self, role):
        self._role = role

    def get(self, request):
        return self._role.get(Get(ids=("nobody",)))

    def __getattr__(self, name):
        return getattr(self._role, name)


async def test_thousands_of_jobs_do_not_wait_for_the_next_sweep(flowing):
    @flowing.task(name="part")
    async def part(n: int) -> int:
        return n

    @flowing.task(name="many", retry=None)
    async def many(n: int) -> int:
        raise Spawn([part.bind(each) for each in range(n)], then=count)

    @many.continuation
    async def count(results: list[int]) -> int:
        return len(results)

    await flowing.start(slots=100, sweep_every=3600)
    async with flow(flowing) as f:
        nodes = [f.add(part, n) for n in range(2_000)]
        total = f.add(many, 2_000)
    assert await f.aresult(nodes[-1], 20) == 1_999
    assert await f.aresult(total, 20) == 2_000


async def test_what_a_claim_leaves_is_swept_at_once_without_a_bell(flowing):
    """The job has expired while all slots were taken; the claim ends it, and some that follow."""
    silent = replace(flowing.driver, doorbell=SilentDoorbell())
    passed = asyncio.Event()

    @flowing.task(name="take the slot")
    async def take_the_slot() -> bool:
        return await passed.wait()

    @flowing.task(name="too late", expires=0.05)
    async def too_late() -> None:
        raise AssertionError

    await flowing.start(flowing.worker(silent, slots=1, sweep_every=3600))
    await flowing.in_state(await flowing.enqueue(take_the_slot), State.RUNNING)
    async with flow(flowing) as f:
        late = f.add(too_late)
        for _ in range(flowing.driver.bounds.cleanup_jobs + 1):
            f.add(take_the_slot).after(late)
    await asyncio.sleep(0.1)
    passed.set()

    assert (await f.aoutcome(BOUND)).status is FlowStatus.FAILED
