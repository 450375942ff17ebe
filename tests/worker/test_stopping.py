"""The end of a worker: drain, release, exit code."""

import asyncio
import time

import pytest

from oxmill.errors import BadSchedule, WrongContext
from oxmill.model.info import Command, ListWorkers, Order
from oxmill.model.job import NewJob
from oxmill.model.schedule import Schedule
from oxmill.model.state import State
from oxmill.observe.events import RunStuck, WorkerStopped
from oxmill.queue.context import current
from oxmill.worker.exits import ExitCode

from .world import World


async def test_running_jobs_finish_within_the_grace_time(world):
    started, go_on = asyncio.Event(), asyncio.Event()

    @world.task
    async def slow() -> int:
        started.set()
        await go_on.wait()
        return 1

    worker = await world.start(slots=1)
    job_id, other = await world.enqueue(slow), await world.enqueue(slow)
    await started.wait()
    worker.stop()
    await world.until(lambda: worker.phase == "stopping")
    go_on.set()

    assert await world.code_of(worker) == ExitCode.OK
    assert (await world.job(job_id)).state is State.SUCCEEDED
    assert (await world.job(other)).attempt == 0


async def test_a_stop_does_not_wait_until_leases_may_be_renewed_again(world):
    @world.task
    async def noop() -> None: ...

    worker = await world.start()
    renewer, rounds = worker._parts.renewer, []
    renewer._least, renewer._round = 60, lambda: rounds.append(1) or 60
    renewer.renew_now()
    await world.until(lambda: rounds)
    worker.stop()

    assert await world.code_of(worker) == ExitCode.OK
    assert not renewer._thread.is_alive()


@pytest.mark.parametrize("kind", ["coroutine", "thread"])
async def test_what_is_left_after_the_grace_time_is_released_and_uses_up_nothing(world, kind):
    ending = []

    async def endless():
        try:
            await asyncio.sleep(60)
        finally:
            ending.append(current().id)

    def endless_in_thread():
        while not ending:
            time.sleep(0.01)

    task = world.task(endless if kind == "coroutine" else endless_in_thread)
    worker = await world.start(grace=0.05)
    job_id = await world.enqueue(task)
    await world.in_state(job_id, State.RUNNING)
    worker.stop()

    assert await world.code_of(worker) == ExitCode.OK
    assert ending == ([job_id] if kind == "coroutine" else [])
    job = await world.job(job_id)
    ending.append("thread")
    assert (job.state, job.failures, job.crashes) == (State.WAITING, 0, 0)
    assert world.events(WorkerStopped)[0].released == 1


async def test_a_second_stop_does_not_wait(world):
    @world.task
    async def endless():
        await asyncio.sleep(60)

    worker = await world.start(grace=60)
    job_id = await world.enqueue(endless)
    await world.in_state(job_id, State.RUNNING)
    worker.stop()
    worker.stop()

    assert await world.code_of(worker) == ExitCode.OK
    assert (await world.job(job_id)).state is State.WAITING


async def test_a_coroutine_that_swallows_its_cancellation_does_not_keep_the_worker(world):
    stubborn = asyncio.Event()

    @world.task
    async def swallow():
        while not stubborn.is_set():
            try:
                await asyncio.wait_for(stubborn.wait(), 60)
            except asyncio.CancelledError:
                continue

    worker = await world.start(grace=0.05)
    job_id = await world.enqueue(swallow)
    await world.in_state(job_id, State.RUNNING)
    asked = time.monotonic()
    worker.stop()

    assert await world.code_of(worker) == ExitCode.OK
    assert time.monotonic() - asked < 4
    assert (await world.job(job_id)).state is State.WAITING
    assert "in swallow" in world.events(RunStuck)[0].stack
    stubborn.set()


async def test_unsaved_progress_travels_with_the_release(world):
    @world.task
    async def long_job():
        if current().cursor is None:
            current().save({"page": 7})
            await asyncio.sleep(60)
        return current().cursor

    worker = await world.start(grace=0.05, lease="60s")
    job_id = await world.enqueue(long_job)
    await world.in_state(job_id, State.RUNNING)
    worker.stop()
    await world.code_of(worker)
    await world.start(World.worker(world))

    job = await world.ended(job_id)
    assert (job.state, job.result) == (State.SUCCEEDED, b'{"page":7}')


async def test_a_drain_ends_when_nothing_is_due(world):
    @world.task
    async def noop():
        pass

    ids = [await world.enqueue(noop) for _ in range(30)]
    later = await world.enqueue(noop.using(delay="1h"))
    worker = await world.start(drain=True)

    assert await world.code_of(worker) == ExitCode.OK
    assert {(await world.job(job_id)).state for job_id in ids} == {State.SUCCEEDED}
    assert (await world.job(later)).state is State.SCHEDULED


async def test_a_worker_that_has_done_its_jobs_asks_to_be_started_afresh(world):
    @world.task
    async def noop():
        pass

    ids = [await world.enqueue(noop) for _ in range(30)]
    worker = await world.start(max_jobs=12)

    assert await world.code_of(worker) == ExitCode.RECYCLE
    states = [(await world.job(job_id)).state for job_id in ids]
    assert (states.count(State.SUCCEEDED), states.count(State.WAITING)) == (12, 18)


async def test_a_worker_that_holds_too_much_memory_asks_to_be_started_afresh(quick):
    worker = await quick.start(max_rss="1MB", beat_every=0.05)

    assert await quick.code_of(worker) == ExitCode.RECYCLE


async def test_quiet_claims_no_more_and_lets_runs_go_on(world):
    go_on = asyncio.Event()

    @world.task
    async def slow():
        await go_on.wait()

    worker = await world.start(beat_every=0.02)
    running = await world.enqueue(slow)
    await world.in_state(running, State.RUNNING)
    worker.quiet()
    await world.until(lambda: worker.phase == "quiet")
    waiting = await world.enqueue(slow)
    go_on.set()

    assert (await world.ended(running)).state is State.SUCCEEDED
    beats = await row_of(world, worker)
    await world.until(lambda: newer_beat(world, worker, beats))
    assert (await world.job(waiting)).state is State.WAITING


async def row_of(world, worker):
    found = await world.driver.arun(world.driver.inspecting.workers(ListWorkers()))
    return next((info for info in found.items if info.id == worker.id), None)


async def newer_beat(world, worker, before):
    now = await row_of(world, worker)
    return now is not None and now.beat_at > before.beat_at and now.phase == "quiet"


async def order(world, worker, command):
    request = Order(workers=(worker.id,), command=command)
    await world.driver.arun(world.driver.housekeeping.order(request))


async def test_the_worker_is_shown_while_it_works_and_forgotten_when_it_goes(world):
    @world.task(queue="mail")
    async def noop():
        pass

    worker = await world.start(slots=7, name="box")
    info = await world.until(lambda: row_of(world, worker))

    assert (info.host, info.slots, info.queues) == ("box", 7, ("default", "mail"))
    assert info.rss > 1_000_000

    worker.stop()
    await world.code_of(worker)
    assert await row_of(world, worker) is None


async def test_orders_reach_the_worker_at_once(world):
    @world.task
    async def noop():
        pass

    worker = await world.start(beat_every=30)
    await world.until(lambda: row_of(world, worker))

    await order(world, worker, Command.QUIET)
    await world.until(lambda: worker.phase == "quiet")
    await order(world, worker, Command.NONE)
    await world.until(lambda: worker.phase == "running")
    assert (await world.ended(await world.enqueue(noop))).state is State.SUCCEEDED

    await order(world, worker, Command.STOP)
    assert await world.code_of(worker) == ExitCode.OK


async def test_a_worker_whose_task_is_cancelled_gives_its_jobs_back(world):
    @world.task
    async def endless():
        await asyncio.sleep(60)

    worker = world.worker(grace=60)
    before = asyncio.all_tasks()
    serving = asyncio.create_task(worker.serve())
    job_id = await world.enqueue(endless)
    await world.in_state(job_id, State.RUNNING)
    serving.cancel()

    with pytest.raises(asyncio.CancelledError):
        await serving
    assert (await world.job(job_id)).state is State.WAITING
    assert asyncio.all_tasks() == before


async def test_a_stop_before_the_start_ends_it_at_once(world):
    worker = world.worker()
    worker.stop()
    await world.start(worker)

    assert await world.code_of(worker) == ExitCode.OK


async def test_a_worker_works_once(quick):
    worker = await quick.start()

    with pytest.raises(WrongContext):
        await worker.serve()


async def test_a_schedule_that_cannot_be_worked_out_is_refused_at_the_start(quick):
    bad = Schedule(
        name="s", job=NewJob(id="-", queue="q", task="t", payload=b"{}"), cron="not cron"
    )

    with pytest.raises(BadSchedule):
        quick.worker(extras={"schedules": [bad]})


def test_run_blocks_until_the_worker_ends():
    from oxmill.drivers.memory.driver import open_memory  # noqa: PLC0415

    driver = open_memory()
    for loop in ("asyncio", "uvloop", "auto"):
        assert World(driver).worker(drain=True, loop=loop).run() == 0
    driver.close()
