"""One job from claim to outcome, without a worker."""

import asyncio
import gc
import threading

import pytest

from oxmill.errors import BadName
from oxmill.model.outcome import Retry
from oxmill.model.settlement import Outcome
from oxmill.observe.events import RunStuck
from oxmill.queue.context import CURRENT, Context, current
from oxmill.worker.execution import execute
from oxmill.worker.lanes.threads import Threads
from oxmill.worker.middleware import Middleware
from oxmill.worker.runs import Run


async def leased(world, task, *args, **changes):
    """A job of this task under a lease."""
    from oxmill.model.claim import Claim  # noqa: PLC0415

    await world.enqueue(task.using(**changes), *args)
    claim = Claim(queues=("default",), limit=1, lease=60_000_000, worker="test", nonce=1)
    claimed = await world.driver.arun(world.driver.claiming.claim(claim))
    return claimed.jobs[0]


async def test_a_leased_job_is_run_to_its_settlement(quick):
    @quick.task
    async def double(n: int) -> int:
        assert current().attempt == 1
        return 2 * n

    job = await leased(quick, double, 21)
    settlement = await execute(job, quick.app.registry)

    assert (settlement.id, settlement.token) == (job.id, job.token)
    assert (settlement.outcome, settlement.result) == (Outcome.COMPLETE, b"42")
    assert CURRENT.get(None) is None


async def test_its_timeout_and_its_hooks_work_as_in_a_worker(quick):
    heard = []

    class Ears(Middleware):
        async def on_error(self, context, error):
            heard.append(context.id)

    @quick.task(retry=Retry(3))
    async def slow():
        await asyncio.sleep(60)

    job = await leased(quick, slow, timeout=0.02)
    settlement = await execute(job, quick.app.registry, middleware=[Ears()])

    assert (settlement.outcome, settlement.error.type) == (Outcome.RETRY, "TimeoutError")
    assert heard == [job.id]


async def test_threads_are_made_on_demand_and_used_again():
    threads, together = Threads(3, "pool"), threading.Barrier(3)
    first = [threads.submit(lambda: together.wait(20)) for _ in range(3)]
    await asyncio.gather(*(ticket.future for ticket in first))
    second = [threads.submit(lambda: 1) for _ in range(50)]
    answers = await asyncio.gather(*(ticket.future for ticket in second))
    threads.close()

    assert answers == [1] * 50
    assert {ticket.thread for ticket in second} <= {ticket.thread for ticket in first}


async def test_a_call_that_nobody_waits_for_is_not_started():
    threads, ran, go_on = Threads(1, "pool"), [], threading.Event()
    busy = threads.submit(lambda: go_on.wait(20))
    waiting = threads.submit(lambda: ran.append(1))

    assert not threads.abandon(waiting)
    go_on.set()
    await busy.future
    await threads.submit(lambda: None).future
    threads.close()

    assert ran == []
    assert threads.stuck == 0


async def test_a_thread_that_was_asked_to_stop_and_goes_on_is_shown(quick):
    released = threading.Event()

    @quick.task
    def deaf():
        released.wait(20)

    await quick.start(patience=0.1)
    job_id = await quick.enqueue(deaf)
    await quick.until(lambda: running(quick, job_id))
    await quick.cancel(job_id)
    event = await quick.hear(RunStuck)
    released.set()

    assert event.why == "cancel"
    assert "in deaf" in event.stack


async def test_a_run_that_is_over_leaves_nothing_for_the_interpreter_to_find(quick):
    """Circles of references would wait for the collector, which then takes a tenth of the time."""

    @quick.task
    async def on_the_loop() -> str:
        return current().id

    @quick.task
    def in_a_thread() -> str:
        return current().id

    jobs = [await quick.enqueue(task) for task in (on_the_loop, in_a_thread) for _ in range(5)]
    gc.collect()
    gc.disable()
    try:
        await quick.start()
        for job in jobs:
            await quick.ended(job)
        left = [each for each in gc.get_objects() if isinstance(each, Run | Context)]
    finally:
        gc.enable()

    assert left == []


async def running(world, job_id):
    return (await world.job(job_id)).state == "running"


def test_a_queue_name_that_no_store_takes_is_refused_at_the_start(quick):
    with pytest.raises(BadName):
        quick.worker(queues=["x" * 1000])
