"""Real processes, really killed: nothing is lost, nothing is overwritten, nobody goes quiet."""

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from oxmill.model.state import State

from . import tasks


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_job_whose_worker_is_killed_runs_once_more_and_succeeds(scene):
    job_id = scene.enqueue(tasks.hold, str(scene.folder))
    first = scene.worker()
    scene.until(scene.runs)
    first.kill()
    scene.let_go()
    second = scene.worker()
    job = scene.ended(job_id)

    assert (job.state, job.result) == (State.SUCCEEDED, str(second.pid).encode())
    assert (job.attempt, job.crashes, job.failures) == (2, 1, 0)
    assert scene.runs() == [(first.pid, 1), (second.pid, 2)]


def test_a_frozen_worker_loses_its_lease_and_overwrites_nothing(scene):
    job_id = scene.enqueue(tasks.hold, str(scene.folder))
    frozen = scene.worker()
    scene.until(scene.runs)
    frozen.send(signal.SIGSTOP)
    other = scene.worker()
    scene.until(lambda: len(scene.runs()) == 2)
    scene.let_go()
    job = scene.ended(job_id)
    assert job.result == str(other.pid).encode()

    frozen.send(signal.SIGCONT)
    lost = scene.until(lambda: frozen.lines("lease lost"))
    assert (lost[0]["job"], lost[0]["attempt"]) == (job_id, 1)
    assert scene.job(job_id) == job

    # It is not done for: alone again, it works on.
    other.kill()
    assert scene.ended(scene.enqueue(tasks.quick)).result == str(frozen.pid).encode()


def test_a_stop_lets_short_jobs_finish_and_releases_long_ones(scene):
    long_job = scene.enqueue(tasks.hold, str(scene.folder))
    worker = scene.worker(grace=0.5, slots=1)
    scene.until(scene.runs)
    behind = scene.enqueue(tasks.quick)
    worker.send(signal.SIGTERM)

    assert worker.code() == 0
    job = scene.job(long_job)
    assert (job.state, job.failures, job.crashes) == (State.WAITING, 0, 0)
    assert scene.job(behind).attempt == 0
    assert worker.lines("worker stopped")[0]["released"] == 1

    scene.let_go()
    scene.worker()
    assert scene.ended(long_job).attempt == 2


def test_a_running_job_finishes_within_the_grace_time(scene):
    job_id = scene.enqueue(tasks.hold, str(scene.folder))
    worker = scene.worker(grace=10)
    scene.until(scene.runs)
    worker.send(signal.SIGTERM)
    scene.until(lambda: worker.lines("worker stopping"))
    scene.let_go()

    assert worker.code() == 0
    assert (scene.job(job_id).state, scene.job(job_id).attempt) == (State.SUCCEEDED, 1)


def test_a_second_signal_stops_at_once(scene):
    job_id = scene.enqueue(tasks.hold, str(scene.folder))
    worker = scene.worker(grace=60)
    scene.until(scene.runs)
    worker.send(signal.SIGINT)
    scene.until(lambda: worker.lines("worker stopping"))
    worker.send(signal.SIGINT)

    assert worker.code() == 0
    assert scene.job(job_id).state is State.WAITING


def test_a_thread_that_nothing_can_stop_does_not_keep_the_process(scene):
    job_id = scene.enqueue(tasks.sleep_in_thread, str(scene.folder))
    worker = scene.worker(grace=0.1)
    scene.until(scene.runs)
    worker.send(signal.SIGTERM)

    assert worker.code() == 0
    assert scene.job(job_id).state is State.WAITING


def test_a_job_that_computes_longer_than_its_lease_keeps_it(scene):
    # Several leases long; a lease is long enough for a busy machine to look away for a second.
    job_id = scene.enqueue(tasks.compute, str(scene.folder), 5.0)
    scene.worker(lease=1.8)
    scene.worker(lease=1.8)
    job = scene.ended(job_id)

    assert (job.result, job.crashes, len(scene.runs())) == (b"1", 0, 1)


def test_a_job_that_kills_its_worker_each_time_ends_as_poison(scene):
    job_id = scene.enqueue(tasks.die, str(scene.folder))
    healthy = scene.enqueue(tasks.quick)
    for _ in range(3):
        assert scene.worker(lease=0.5, slots=1).code() == -signal.SIGKILL
    scene.worker(lease=0.5)
    job = scene.ended(job_id)

    assert (job.state, job.reason, job.crashes) == (State.FAILED, "poison", 3)
    assert [attempt for _, attempt in scene.runs()] == [1, 2, 3]
    assert scene.ended(healthy).state is State.SUCCEEDED


def test_children_die_with_their_worker_and_the_job_runs_elsewhere(scene):
    job_id = scene.enqueue(tasks.hold_in_child, str(scene.folder))
    first = scene.worker()
    ((child, _),) = scene.until(scene.runs)
    assert child != first.pid
    first.kill()
    scene.until(lambda: not alive(child))
    scene.let_go()
    scene.worker()
    job = scene.ended(job_id)

    assert (job.state, job.attempt, job.crashes) == (State.SUCCEEDED, 2, 1)


def test_a_store_that_is_locked_for_a_while_is_waited_for(scene):
    worker = scene.worker()
    assert scene.ended(scene.enqueue(tasks.quick)).state is State.SUCCEEDED
    job_id = scene.enqueue(tasks.quick, delay=300_000)
    locker = sqlite3.connect(scene.folder / "jobs.db", isolation_level=None, timeout=5)
    locker.execute("BEGIN IMMEDIATE")
    # Held until the worker has noticed, or has been patient for longer than the job's delay.
    with pytest.raises(subprocess.TimeoutExpired):
        worker.process.wait(2.0)
    locker.execute("ROLLBACK")
    locker.close()

    assert scene.ended(job_id).result == str(worker.pid).encode()


def test_a_hundred_jobs_survive_workers_that_are_killed_again_and_again(scene):
    ids = [scene.enqueue(tasks.quick, crash_limit=9) for _ in range(100)]
    slow = [scene.enqueue(tasks.compute, str(scene.folder), 0.02, crash_limit=9) for _ in ids[:20]]
    for _ in range(3):
        worker = scene.worker(lease=0.5, slots=4)
        before = len(scene.runs())
        scene.until(lambda before=before: len(scene.runs()) > before)
        worker.kill()
    scene.worker(lease=0.5, slots=4)
    jobs = [scene.ended(job_id) for job_id in (*ids, *slow)]

    assert {job.state for job in jobs} == {State.SUCCEEDED}
    assert sum(job.crashes for job in jobs) <= 3 * 4


def test_a_worker_without_its_supervisor_stops(scene):
    script = (
        "import json, os, subprocess, sys, time\n"
        "env = {**os.environ, 'OXMILL_SUPERVISED': '1'}\n"
        "command = [sys.executable, '-m', 'chaos.serve', json.dumps({'grace': 1})]\n"
        "print(subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL).pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    supervisor = subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=Path(__file__).parent.parent,
        stdout=subprocess.PIPE,
    )
    pid = int(supervisor.stdout.readline())
    scene.ended(scene.enqueue(tasks.quick))
    supervisor.kill()
    supervisor.wait()
    supervisor.stdout.close()

    scene.until(lambda: not alive(pid))
