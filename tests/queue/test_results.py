"""Waiting for jobs, and what becomes of them."""

import asyncio
import pickle
import threading
import time

import pytest

from oxmill import (
    App,
    Job,
    JobCancelled,
    JobFailed,
    JobNotFound,
    QueueSettings,
    ResultTimeout,
    State,
    WrongContext,
)
from oxmill.model.settlement import Failure, Outcome, Settle, Settlement
from oxmill.model.state import TERMINAL

importable = App("memory://")


@importable.task
def double(n: int) -> int:
    return 2 * n


@pytest.fixture
def fetch(app):
    @app.task(name="fetch")
    def fetch(url: str) -> list[int]: ...

    return fetch


def end(app, outcome=Outcome.COMPLETE, **how):
    """Lease the next job and settle it."""
    lease = app.queue("default").lease(60)
    settlement = Settlement(id=lease.id, token=lease.token, outcome=outcome, **how)
    app.driver.run(app.driver.settling.settle(Settle(items=(settlement,))))


def test_the_result_of_an_ended_job_has_its_type(app, fetch, face):
    job = face(fetch, "enqueue", "u")
    end(app, result=b"[1,2]")

    assert face(job, "result") == [1, 2]
    assert job.state is State.SUCCEEDED


async def test_a_job_can_be_awaited(app, fetch):
    job = await fetch.aenqueue("u")
    await asyncio.to_thread(end, app, result=b"[3]")

    assert await job == [3]


def test_a_result_is_had_as_soon_as_the_doorbell_rings(app, fetch, face):
    # Given a job that ends when the looks at it have become rare: the next one after 0.64 s comes
    # at 1.14 s
    job = face(fetch, "enqueue", "u")
    ended = []

    def work():
        end(app, result=b"[]")
        ended.append(time.monotonic())

    ending = threading.Timer(0.7, work)
    ending.start()

    # When its result is waited for
    face(job, "result", "20s")
    heard = time.monotonic()
    ending.join()

    # Then it comes at once
    assert heard - ended[0] < 0.2


def test_a_result_is_had_when_the_doorbell_is_silent(new_app, face):
    app = new_app(doorbell=False)

    @app.task
    def work() -> int: ...

    job = face(work, "enqueue")
    ending = threading.Timer(0.2, end, [app], {"result": b"7"})
    ending.start()
    began = time.monotonic()

    assert face(job, "result", "20s") == 7
    assert time.monotonic() - began < 1.5
    ending.join()


def test_waiting_ends_at_its_limit(fetch, face):
    job = face(fetch, "enqueue", "u")
    began = time.monotonic()

    with pytest.raises(ResultTimeout, match=r"is waiting after 0\.05 s") as late:
        face(job, "result", 0.05)

    assert 0.04 < time.monotonic() - began < 2
    assert late.value.job_id == job.id
    assert isinstance(late.value, TimeoutError)


def test_a_failed_job_raises_what_it_failed_of(app, fetch, face):
    job = face(fetch, "enqueue", "u")
    error = Failure(type="ValueError", message="no such page", traceback="Traceback ...\n  line 5")
    end(app, Outcome.FAIL, error=error)

    with pytest.raises(JobFailed, match=r"fetch failed.*ValueError: no such page") as failed:
        face(job, "result")

    told = failed.value
    assert (told.error_type, told.error_message) == ("ValueError", "no such page")
    assert "line 5" in told.traceback
    assert "line 5" in told.__notes__[0]
    copy = pickle.loads(pickle.dumps(told))
    assert (str(copy), copy.error_type, copy.traceback) == (str(told), "ValueError", told.traceback)


def test_a_cancelled_job_raises_that_it_was(fetch, face):
    job = face(fetch, "enqueue", "u")

    assert face(job, "cancel", "not needed")
    assert not face(job, "cancel")

    with pytest.raises(JobCancelled, match="not needed"):
        face(job, "result")


def test_a_running_job_is_asked_to_stop(app, fetch, face):
    job = face(fetch, "enqueue", "u")
    lease = app.queue("default").lease(60)

    assert face(job, "cancel")

    assert lease.renew()
    assert lease.cancelled


def test_a_job_that_is_not_there_is_told(app, fetch, face):
    for job in (app.job("nobody"), fetch.job("nobody")):
        with pytest.raises(JobNotFound, match="no job nobody"):
            face(job, "result")
        with pytest.raises(JobNotFound):
            face(job, "refresh")
        assert not face(job, "cancel")


def test_a_job_that_is_not_kept_is_told_instead_of_waited_for(app, fetch, face):
    app.control.configure("default", QueueSettings(keep_succeeded=0))
    job = face(fetch, "enqueue", "u")
    end(app, result=b"[]")

    with pytest.raises(JobNotFound, match="not kept"):
        face(job, "result")


def test_refresh_brings_the_state_and_the_record(app, fetch, face):
    job = face(fetch, "enqueue", "u")
    end(app, result=b"[]")
    assert job.state is State.WAITING
    assert job.record is None

    assert face(job, "refresh") is job

    assert job.state in TERMINAL
    assert job.record.attempt == 1


def test_a_handle_can_be_had_by_id(app, fetch, face):
    job = face(fetch, "enqueue", "u")
    end(app, result=b"[1]")

    assert face(app.job(job.id), "result") == [1]
    assert face(fetch.job(job.id), "result") == [1]


def test_without_its_task_a_result_is_plain_json_or_bytes(app, face):
    face(app.queue("default"), "add_json", {"a": 1}, id="json")
    end(app, result=b'{"b":2}')
    face(app.queue("default"), "add", b"x", id="bytes")
    end(app, result=b"\xff")

    assert face(app.job("json"), "result") == {"b": 2}
    assert face(app.job("bytes"), "result") == b"\xff"


def test_a_job_without_a_result_gives_none(app, fetch, face):
    job = face(fetch, "enqueue", "u")
    end(app)

    assert face(job, "result") is None


def test_handles_are_equal_if_they_name_the_same_job(app, fetch):
    job = fetch.enqueue("u")

    assert job == app.job(job.id)
    assert job != app.job("other")
    assert job != job.id
    assert len({job, app.job(job.id)}) == 1
    assert job.id in repr(job)


def test_a_pickled_handle_finds_its_way_back_through_its_task():
    job = double.enqueue(4)

    copy = pickle.loads(pickle.dumps(job))

    assert copy == job
    assert copy.created
    assert copy.refresh().state is State.WAITING
    assert isinstance(copy, Job)


def test_a_pickled_handle_without_an_importable_task_says_how_to_go_on(app, fetch):
    job = fetch.enqueue("u")

    copy = pickle.loads(pickle.dumps(job))

    assert copy == job
    with pytest.raises(WrongContext, match=rf"app\.job\('{job.id}'\)"):
        copy.refresh()
