"""Leases while jobs run: renewed, lost, cancelled, timed out."""

import asyncio
import threading
import time

import pytest

from oxmill.drivers.memory.driver import open_memory
from oxmill.errors import LostLease
from oxmill.model.claim import Claim
from oxmill.model.outcome import Retry
from oxmill.model.settings import SECOND
from oxmill.model.settlement import Outcome, Settle, Settlement
from oxmill.model.state import State
from oxmill.observe.events import LeaseLost, RunStuck
from oxmill.queue.context import current
from oxmill.store.doorbell import CONTROL
from oxmill.testing.clock import VirtualClock

from .world import World


async def test_a_job_longer_than_its_lease_keeps_it(world):
    release = asyncio.Event()

    @world.task
    async def long_job() -> int:
        await release.wait()
        return current().attempt

    await world.start(lease=0.3)
    job_id = await world.enqueue(long_job)
    first = await world.in_state(job_id, State.RUNNING)

    async def renewed_twice():
        job = await world.job(job_id)
        return job.lease_until > first.lease_until + 0.4 * SECOND

    await world.until(renewed_twice)
    release.set()
    job = await world.ended(job_id)

    assert (job.result, job.crashes) == (b"1", 0)


async def test_a_job_that_blocks_the_loop_keeps_its_lease(world):
    @world.task
    async def compute() -> int:
        end = time.monotonic() + 1.2
        while time.monotonic() < end:
            pass
        return current().attempt

    await world.start(lease=0.4)
    job = await world.ended(await world.enqueue(compute))

    assert (job.result, job.crashes, job.attempt) == (b"1", 0, 1)


class Stolen:
    """A running job whose lease another holder gets: the store's clock is moved past its end."""

    def __init__(self):
        self.clock = VirtualClock()
        self.world = World(open_memory(clock=self.clock))

    async def take(self, job_id):
        self.clock.advance(61 * SECOND)
        claim = Claim(queues=("default",), limit=1, lease=60 * SECOND, worker="thief", nonce=1)
        driver = self.world.driver
        claimed = await driver.arun(driver.claiming.claim(claim))
        assert [job.id for job in claimed.jobs] == [job_id]
        driver.doorbell.ring([CONTROL])
        return claimed.jobs[0]

    async def complete(self, job):
        item = Settlement(id=job.id, token=job.token, outcome=Outcome.COMPLETE, result=b'"thief"')
        driver = self.world.driver
        await driver.arun(driver.settling.settle(Settle(items=(item,))))


async def stolen_world():
    scene = Stolen()
    # Sweeps and beats are kept out: only the thief moves the job.
    worker = await scene.world.start(sweep_every="1h", beat_every="1h", slots=1)
    worker.quiet()
    return scene


async def test_a_lost_lease_cancels_the_coroutine_and_settles_nothing():
    scene = Stolen()
    world = scene.world
    ended = []

    @world.task
    async def slow():
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(current().attempt)

    await world.start(sweep_every="1h", beat_every="1h", slots=1)
    job_id = await world.enqueue(slow)
    await world.in_state(job_id, State.RUNNING)
    stolen = await scene.take(job_id)
    event = await world.hear(LeaseLost)
    await world.until(lambda: ended)
    await scene.complete(stolen)
    await world.close()

    job = await world.job(job_id)
    assert (event.attempt, event.at, ended) == (1, "renewal", [1])
    assert (job.state, job.result, job.failures) == (State.SUCCEEDED, b'"thief"', 0)


async def test_a_lost_lease_is_seen_in_a_thread_and_its_result_does_not_count():
    scene = Stolen()
    world = scene.world
    seen = threading.Event()

    @world.task
    def slow():
        while True:
            try:
                current().ensure_lease()
            except LostLease:
                seen.set()
                return "too late"
            time.sleep(0.005)

    await world.start(sweep_every="1h", beat_every="1h", slots=1)
    job_id = await world.enqueue(slow)
    await world.in_state(job_id, State.RUNNING)
    stolen = await scene.take(job_id)
    await world.until(seen.is_set)
    await scene.complete(stolen)
    await world.close()

    assert (await world.job(job_id)).result == b'"thief"'


async def test_a_running_coroutine_is_cancelled_on_request(world):
    @world.task
    async def slow():
        await asyncio.sleep(60)

    await world.start()
    job_id = await world.enqueue(slow)
    await world.in_state(job_id, State.RUNNING)
    await world.cancel(job_id)
    job = await world.ended(job_id)

    assert (job.state, job.failures) == (State.CANCELLED, 0)


async def test_a_thread_is_asked_and_may_end_in_its_own_time(world):
    @world.task
    def slow():
        while not current().cancelled:
            time.sleep(0.005)
        raise RuntimeError("stopped halfway")

    await world.start()
    job_id = await world.enqueue(slow)
    await world.in_state(job_id, State.RUNNING)
    await world.cancel(job_id)

    assert (await world.ended(job_id)).state is State.CANCELLED


async def test_a_job_that_completes_all_the_same_has_completed(world):
    @world.task
    async def stubborn() -> int:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return 1

    await world.start()
    job_id = await world.enqueue(stubborn)
    await world.in_state(job_id, State.RUNNING)
    await world.cancel(job_id)
    job = await world.ended(job_id)

    assert (job.state, job.result) == (State.SUCCEEDED, b"1")


async def test_a_coroutine_over_its_timeout_is_cancelled_and_tried_again(world):
    @world.task(timeout=0.05, retry=Retry(2, base=0))
    async def slow():
        await asyncio.sleep(60)

    await world.start()
    job = await world.ended(await world.enqueue(slow))

    assert (job.state, job.reason, job.failures) == (State.FAILED, "exhausted", 2)
    assert job.error.type == "TimeoutError"
    assert "50ms" in job.error.message
    assert "in slow" in job.error.traceback


async def test_a_run_within_its_timeout_is_left_alone(world):
    @world.task(timeout=5)
    async def fast() -> int:
        await asyncio.sleep(0)
        return 1

    await world.start()

    assert (await world.ended(await world.enqueue(fast))).state is State.SUCCEEDED


async def test_a_thread_over_its_timeout_is_left_behind_and_replaced(world):
    release = threading.Event()

    @world.task(timeout=0.05, retry=Retry(1))
    def stuck():
        release.wait(60)

    @world.task
    def other() -> int:
        return 1

    worker = await world.start(slots=1)
    job = await world.ended(await world.enqueue(stuck))
    after = await world.ended(await world.enqueue(other))

    assert (job.state, job.error.type) == (State.FAILED, "TimeoutError")
    assert "in stuck" in world.events(RunStuck)[0].stack
    assert after.state is State.SUCCEEDED
    assert worker._parts.lanes.stuck == 1

    release.set()
    await world.until(lambda: worker._parts.lanes.stuck == 0)
    assert (await world.ended(await world.enqueue(other))).state is State.SUCCEEDED


async def test_a_coroutine_that_swallows_its_timeout_is_settled_and_shown(world):
    release = asyncio.Event()

    @world.task(timeout=0.05, retry=Retry(1))
    async def swallow():
        while not release.is_set():
            try:
                await asyncio.wait_for(release.wait(), 60)
            except asyncio.CancelledError:
                continue

    await world.start(slots=1, patience=0.1)
    job = await world.ended(await world.enqueue(swallow))
    release.set()

    assert (job.state, job.error.type) == (State.FAILED, "TimeoutError")
    assert "in swallow" in world.events(RunStuck)[0].stack


async def test_progress_is_stored_while_the_job_runs(world):
    go_on = asyncio.Event()

    @world.task
    async def report():
        current().progress(3, 10, "thirds")
        current().heartbeat()
        await go_on.wait()

    await world.start()
    job_id = await world.enqueue(report)

    async def stored():
        job = await world.job(job_id)
        return job.progress and b"thirds" in job.progress

    await world.until(stored)
    go_on.set()
    assert (await world.ended(job_id)).state is State.SUCCEEDED


async def test_a_cursor_survives_a_failure(world):
    @world.task(retry=Retry(3, base=0))
    async def pages() -> list[int]:
        done = current().cursor or []
        if len(done) < 2:
            current().save([*done, len(done)])
            raise OSError("cut off")
        return done

    await world.start(lease="60s")
    job = await world.ended(await world.enqueue(pages))

    assert (job.state, job.result) == (State.SUCCEEDED, b"[0,1]")


@pytest.mark.parametrize("cursor", [object(), float("nan"), {1: {2, 3}}])
async def test_a_cursor_that_is_no_json_costs_nobody_a_lease(quick, cursor):
    go_on = asyncio.Event()

    @quick.task
    async def odd():
        current().save(cursor)
        await go_on.wait()

    await quick.start(lease=0.3)
    job_id = await quick.enqueue(odd)
    first = await quick.in_state(job_id, State.RUNNING)

    async def renewed():
        return (await quick.job(job_id)).lease_until > first.lease_until + 0.2 * SECOND

    await quick.until(renewed)
    go_on.set()
    assert (await quick.ended(job_id)).crashes == 0


async def test_leases_are_renewed_at_a_third_of_their_length(quick):
    go_on = asyncio.Event()

    @quick.task
    async def wait():
        await go_on.wait()

    await quick.start(lease=3)
    job_id = await quick.enqueue(wait)
    first = await quick.in_state(job_id, State.RUNNING)

    for _ in range(2):
        last = first

        async def renewed(last=last):
            job = await quick.job(job_id)
            return job if job.lease_until != last.lease_until else None

        first = await quick.until(renewed)
        assert first.lease_until - last.lease_until < 2 * SECOND
    go_on.set()
