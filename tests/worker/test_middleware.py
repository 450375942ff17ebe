"""Hooks and lifespans."""

from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar

import pytest

from oxmill.model.outcome import Cancel, Retry
from oxmill.model.state import State
from oxmill.queue.context import current
from oxmill.worker.middleware import Middleware

TENANT = ContextVar("tenant", default="nobody")


class Notes(Middleware):
    def __init__(self, name, notes):
        self.name = name
        self.notes = notes

    def note(self, text):
        self.notes.append(f"{self.name} {text}")

    async def on_start(self):
        self.note("start")

    async def on_stop(self):
        self.note("stop")

    async def before_run(self, context):
        self.note("before")

    async def after_run(self, context, value):
        self.note(f"after {value}")

    async def on_error(self, context, error):
        self.note(f"error {type(error).__name__}")

    @asynccontextmanager
    async def around(self, context):
        self.note("in")
        TENANT.set(self.name)
        yield
        self.note("out")


async def test_hooks_run_inwards_and_back_out(quick):
    notes = []

    @quick.task
    async def work() -> str:
        notes.append("run")
        return TENANT.get()

    middleware = [Notes("a", notes), Notes("b", notes)]
    worker = await quick.start(quick.worker(extras={"middleware": middleware}))
    job = await quick.ended(await quick.enqueue(work))
    worker.stop()
    await quick.code_of(worker)

    assert job.result == b'"b"'
    assert notes == [
        "a start",
        "b start",
        "a in",
        "a before",
        "b in",
        "b before",
        "run",
        "b after b",
        "a after b",
        "b out",
        "a out",
        "b stop",
        "a stop",
    ]


async def test_context_variables_reach_threads(quick):
    @quick.task
    def work() -> str:
        return TENANT.get()

    await quick.start(quick.worker(extras={"middleware": [Notes("a", [])]}))

    assert (await quick.ended(await quick.enqueue(work))).result == b'"a"'


async def test_errors_are_heard_and_stay_what_they_are(quick):
    notes = []

    @quick.task(retry=Retry(1))
    async def work():
        raise ValueError("nope")

    class Noisy(Notes):
        async def on_error(self, context, error):
            await super().on_error(context, error)
            raise RuntimeError("a bug in the hook")

    middleware = [Noisy("a", notes), Notes("b", notes)]
    await quick.start(quick.worker(extras={"middleware": middleware}))
    job = await quick.ended(await quick.enqueue(work))

    assert job.error.type == "ValueError"
    assert notes[-2:] == ["b error ValueError", "a error ValueError"]


async def test_a_hook_may_refuse_a_run(quick):
    class Gate(Middleware):
        async def before_run(self, context):
            raise Cancel("not today")

    @quick.task
    async def work():
        raise AssertionError

    await quick.start(quick.worker(extras={"middleware": [Gate()]}))
    job = await quick.ended(await quick.enqueue(work))

    assert (job.state, job.reason) == (State.CANCELLED, "not today")


async def test_a_middleware_that_cannot_start_keeps_the_worker_from_starting(quick):
    class Broken(Middleware):
        async def on_start(self):
            raise OSError("no")

    with pytest.raises(OSError, match="no"):
        await quick.worker(extras={"middleware": [Broken()]}).serve()


@pytest.mark.parametrize("kind", ["async", "plain"])
async def test_a_lifespan_gives_resources_to_every_run(quick, kind):
    life = []

    @asynccontextmanager
    async def open_async():
        life.append("open")
        yield {"pool": 1}
        life.append("closed")

    @contextmanager
    def open_plain():
        life.append("open")
        yield {"pool": 1}
        life.append("closed")

    @quick.task
    async def on_loop() -> int:
        return current().resources["pool"]

    @quick.task
    def in_thread() -> int:
        return current().resources["pool"]

    lifespan = open_async if kind == "async" else open_plain
    worker = await quick.start(quick.worker(extras={"lifespan": lifespan}))
    jobs = [await quick.ended(await quick.enqueue(task)) for task in (on_loop, in_thread)]
    assert life == ["open"]
    worker.stop()
    await quick.code_of(worker)

    assert [job.result for job in jobs] == [b"1", b"1"]
    assert life == ["open", "closed"]
