"""What a worker says of its queues: those that nobody uses, and what a drain leaves behind."""

import pytest

from oxmill.drivers.memory.driver import open_memory
from oxmill.errors import StoreUnavailable
from oxmill.model.rule import PutRules, Rule, RuleKind
from oxmill.model.settings import PutSettings, QueueSettings
from oxmill.observe.events import LeftBehind, QueueUnused
from oxmill.worker.exits import ExitCode

from .world import World


async def pause(world, queue):
    rule = Rule(kind=RuleKind.PAUSE, target=queue)
    await world.driver.arun(world.driver.steering.put_rules(PutRules(set=(rule,))))


async def limit(world, queue, **settings):
    request = PutSettings(queue=queue, settings=QueueSettings(**settings))
    await world.driver.arun(world.driver.steering.put_settings(request))


async def test_a_drain_says_what_it_leaves_behind_and_why(world):
    @world.task
    async def noop():
        pass

    await limit(world, "limited", rate="1/h")
    await pause(world, "closed")
    await world.enqueue(noop)
    await world.enqueue(noop.using(delay="1h"))
    await world.enqueue(noop.using(queue="closed"))
    for _ in range(3):
        await world.enqueue(noop.using(queue="limited"))
    worker = await world.start(drain=True, queues=["default", "limited", "closed"])

    assert await world.code_of(worker) == ExitCode.OK
    told = {event.queue: event for event in world.events(LeftBehind)}
    nothing = {"waiting": 0, "scheduled": 0, "held": 0, "running": 0, "gates": ()}
    later = nothing | {"queue": "default", "scheduled": 1}
    closed = nothing | {"queue": "closed", "waiting": 1, "gates": ("pause on closed",)}
    assert told["default"] == LeftBehind(**later)
    assert told["closed"] == LeftBehind(**closed)
    assert told["limited"].waiting == 2
    limits, opens = told["limited"].gates
    assert limits == "limits rate=1/h"
    assert opens.startswith("opens in ")


async def test_a_drain_that_leaves_nothing_says_nothing(quick):
    @quick.task
    async def noop():
        pass

    await quick.enqueue(noop)
    await quick.code_of(await quick.start(drain=True))

    assert quick.events(LeftBehind) == []


async def test_a_queue_that_nobody_uses_is_named_once(world):
    @world.task(queue="mail")
    async def noop():
        pass

    await pause(world, "prepared")
    await world.enqueue(noop.using(queue="elsewhere"))
    queues = ["mial", "mail", "default", "prepared", "elsewhere"]
    worker = await world.start(queues=queues)
    await world.hear(QueueUnused)
    worker.stop()
    await world.code_of(worker)

    assert world.events(QueueUnused) == [QueueUnused(queue="mial", near=("mail",))]


async def test_a_worker_with_the_queues_of_its_tasks_asks_for_nothing(quick):
    asked = []
    look = quick.driver.inspecting.queues
    quick.driver.inspecting.queues = lambda request: asked.append(request) or look(request)
    await quick.code_of(await quick.start(drain=True))

    # Only what the drain leaves was looked for.
    assert [request.groups for request in asked] == [("",)]


@pytest.mark.parametrize("error", [StoreUnavailable("gone"), TimeoutError()])
async def test_a_store_that_does_not_tell_keeps_no_worker_from_its_work(error):
    driver = open_memory()
    world = World(driver)

    def refuse(_request):
        raise error

    driver.inspecting.queues = refuse
    worker = await world.start(queues=["strange"], drain=True)

    assert await world.code_of(worker) == ExitCode.OK
    assert world.events(QueueUnused) == []
