"""Tasks in child processes: they can be killed."""

import os
import time

import pytest

from oxmill.drivers.memory.driver import open_memory
from oxmill.errors import BadConfig
from oxmill.model.job import NewJob
from oxmill.model.state import State

from . import child_app
from .world import World


@pytest.fixture
async def world():
    driver = open_memory()
    made = World(driver)
    made.app = child_app.app
    yield made
    await made.close()
    driver.close()


async def start(world, spec="worker.child_app:app", **options):
    given = {"slots": 2, "grace": 0.1} | options
    return await world.start(world.worker(extras={"app_spec": spec}, **given))


async def run(world, task, *args, **kwargs):
    """A job of a task whose client has no store."""
    new = task.new_job(args, kwargs, world.ids())
    values = {name: getattr(new, name) for name in NewJob.__struct_fields__}
    return await world.add(**values)


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def pid_in(world, path):
    return int(await world.until(lambda: path.exists() and path.read_text()))


async def test_a_child_runs_jobs_one_after_the_other_and_is_used_again(world):
    await start(world, slots=1)
    first = await world.ended(await run(world, child_app.where, 1))
    second = await world.ended(await run(world, child_app.where, 2))
    third = await world.ended(await run(world, child_app.awaited, 10))

    import json  # noqa: PLC0415

    (pid_one, one), (pid_two, two) = json.loads(first.result), json.loads(second.result)
    assert (one, two, third.result) == (1, 2, b"11")
    assert pid_one == pid_two != os.getpid()


async def test_a_child_is_replaced_after_its_number_of_jobs(world):
    await start(world, slots=1, child_jobs=1)
    first = await world.ended(await run(world, child_app.where, 1))
    second = await world.ended(await run(world, child_app.where, 1))

    assert first.result != second.result


async def test_a_gate_may_be_closed_from_a_child(world):
    await start(world, queues=("limited",))
    job = await world.ended(await run(world, child_app.limited))

    assert (job.state, job.result, job.failures) == (State.SUCCEEDED, b"2", 0)
    assert [past.outcome for past in job.history] == ["release", "complete"]
    assert job.claimed_at - job.history[0].ended_at >= 50_000


async def test_exceptions_and_signals_are_judged_where_they_are_raised(world):
    await start(world)
    failed = await world.ended(await run(world, child_app.fail))
    gave_up = await world.ended(await run(world, child_app.give_up))
    snoozed = await world.ended(await run(world, child_app.snooze))

    assert (failed.reason, failed.failures) == ("exhausted", 2)
    assert (failed.error.type, failed.error.message) == ("ValueError", "in the child")
    assert "in fail" in failed.error.traceback
    assert (gave_up.reason, gave_up.attempt) == ("refused", 1)
    assert (snoozed.result, snoozed.failures) == (b"2", 0)


async def test_a_child_that_crashes_is_a_failure_of_its_job_only(world):
    await start(world, slots=1)
    crashed = await world.ended(await run(world, child_app.crash))
    after = await world.ended(await run(world, child_app.awaited, 1))

    assert (crashed.state, crashed.error.type) == (State.FAILED, "ChildCrashed")
    assert "SIGSEGV" in crashed.error.message
    assert crashed.crashes == 0
    assert after.state is State.SUCCEEDED


async def test_a_timeout_kills_the_child(world):
    await start(world, slots=1)
    hung = await world.ended(await run(world, child_app.hang))
    after = await world.ended(await run(world, child_app.awaited, 1))

    assert (hung.state, hung.error.type) == (State.FAILED, "TimeoutError")
    assert after.state is State.SUCCEEDED


async def test_a_cancel_kills_the_child(world, tmp_path):
    await start(world)
    job_id = await run(world, child_app.busy, str(tmp_path / "pid"))
    pid = await pid_in(world, tmp_path / "pid")
    await world.cancel(job_id)
    job = await world.ended(job_id)

    assert job.state is State.CANCELLED
    await world.until(lambda: not alive(pid))


async def test_a_stop_kills_the_child_and_releases_its_job_with_its_progress(world, tmp_path):
    worker = await start(world)
    job_id = await run(world, child_app.pages, str(tmp_path / "pid"))
    pid = await pid_in(world, tmp_path / "pid")

    async def saved():
        return (await world.job(job_id)).progress

    await world.until(saved)
    worker.stop()
    await world.code_of(worker)
    released = await world.job(job_id)
    await world.until(lambda: not alive(pid))

    assert (released.state, released.failures, released.crashes) == (State.WAITING, 0, 0)

    await start(world)
    assert (await world.ended(job_id)).result == b"42"


async def test_memory_is_capped(world):
    await start(world, child_memory="1GB")
    job = await world.ended(await run(world, child_app.eat))

    assert (job.state, job.error.type) == (State.FAILED, "MemoryError")


async def test_an_app_that_children_cannot_import_is_told_with_the_job(world, monkeypatch):
    monkeypatch.setenv("OXMILL_TEST_BROKEN", "1")
    await start(world, spec="worker.broken_app:app")
    job = await world.ended(await run(world, child_app.crash))

    assert job.error.type == "ChildBroken"
    assert "no settings here" in job.error.message


def test_a_worker_that_does_not_know_its_app_refuses_such_tasks():
    world = World(open_memory())
    world.app = child_app.app

    with pytest.raises(BadConfig, match="app_spec"):
        world.worker()


async def test_no_child_outlives_its_worker(world):
    worker = await start(world)
    job = await world.ended(await run(world, child_app.where, 1))
    pid = int(job.result.split(b",")[0].strip(b"["))
    assert alive(pid)
    worker.stop()
    await world.code_of(worker)

    end = time.monotonic() + 5
    while alive(pid):
        assert time.monotonic() < end
