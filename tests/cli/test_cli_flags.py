"""Options of `worker`, `enqueue` and `dev`: each does what its help says."""

import json
import logging
import os
import signal
import subprocess
import sys
import time
from datetime import datetime
from textwrap import dedent

import pytest
from click.testing import CliRunner

from oxmill.cli import supervise
from oxmill.cli.main import main

PATIENCE = 40.0
"""Seconds that a condition may take on a busy machine."""

APP = """
import asyncio
import time
from pathlib import Path
from oxmill import App, current

app = App("sqlite:///jobs.db")

@app.task(name="loop")
async def loop() -> str:
    return type(asyncio.get_running_loop()).__module__

@app.task(name="lease")
def lease() -> int:
    held = app.get(current().id)
    return held.lease_until - held.claimed_at

@app.task(name="slow")
def slow() -> None:
    Path("started").touch()
    time.sleep(60)
"""

TICKING = """
from oxmill import App

app = App("sqlite:///jobs.db")

@app.every("200ms")
@app.task(name="tick")
def tick() -> None: ...

@app.task(name="mark")
def mark() -> None: ...
"""


@pytest.fixture
def own_logging():
    """Workers in this process set up logging; it is put back."""
    logger = logging.getLogger("oxmill")
    before = (logger.handlers[:], logger.level, logger.propagate)
    yield
    logger.handlers[:], logger.level, logger.propagate = before


@pytest.fixture
def project(tmp_path, monkeypatch, own_logging):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "app.py").write_text(dedent(APP), encoding="utf-8")
    sys.modules.pop("app", None)
    yield tmp_path
    sys.modules.pop("app", None)


@pytest.fixture
def start(tmp_path):
    """Starts our command as a process; gives it with what it has logged so far."""
    started = []

    def start(*words):
        log = tmp_path / f"log{len(started)}"
        with log.open("wb") as file:
            process = subprocess.Popen(
                supervise.oxmill(*words), cwd=tmp_path, stdout=file, stderr=file, env=os.environ
            )
        started.append(process)
        return process, log.read_text

    yield start
    for process in started:
        if process.poll() is None:
            process.terminate()
            process.wait(PATIENCE)


def run(*words, code=0):
    result = CliRunner().invoke(main, [*words, "--app", "app.py"])
    assert result.exit_code == code, f"{result.exit_code}\n{result.stdout}\n{result.stderr}"
    return result


def result_of(task, *words):
    """What a job of this task gives to a worker with these options."""
    job = run("enqueue", task).stdout.strip()
    run("worker", "--drain", *words)
    return run("jobs", "wait", job).stdout.split(maxsplit=2)[2].strip()


def until(condition):
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)
    return found


def test_lease(project):
    assert result_of("lease", "--lease", "7s") == "7000000"
    assert result_of("lease") == "60000000"
    assert "out of range" in run("worker", "--lease", "1ms", code=2).stderr


def test_loop(project):
    assert result_of("loop", "--loop", "asyncio").strip('"').startswith("asyncio")
    assert "'bogus' is not one of" in run("worker", "--loop", "bogus", code=2).stderr


def test_uvloop(project):
    pytest.importorskip("uvloop")
    assert result_of("loop", "--loop", "uvloop").strip('"').startswith("uvloop")


def test_log_level(project):
    run("enqueue", "loop")
    assert "run ended" in run("worker", "--drain").stderr
    run("enqueue", "loop")
    quiet = run("worker", "--drain", "--log-level", "warning").stderr
    assert "run ended" not in quiet
    assert "INFO" not in quiet


def test_allow(project, monkeypatch):
    monkeypatch.setattr("sqlite3.threadsafety", 0)
    assert "thread_safety is single-threaded" in run("worker", "--drain", code=4).stderr
    run("worker", "--drain", "--allow", "filesystem", code=4)
    assert "unsafe store" in run("worker", "--drain", "--allow", "thread_safety").stderr


def test_grace(project, start):
    job = run("enqueue", "slow").stdout.strip()
    worker, log = start("worker", "--grace", "100ms")
    until((project / "started").exists)
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(PATIENCE) == 0
    assert "drains for 100ms" in log()
    assert "done=1 released=1" in log()
    assert "waiting" in run("jobs", "list").stdout, job


def test_max_rss(project, start):
    worker, log = start("worker", "--max-rss", "1MB", "--set", "beat_every=100ms")
    until(lambda: log().count("code=75") >= 2)
    worker.send_signal(signal.SIGTERM)
    worker.wait(PATIENCE)


def test_no_scheduler(project, start):
    (project / "app.py").write_text(dedent(TICKING), encoding="utf-8")
    idle, _ = start("worker", "--no-scheduler")
    mark = run("enqueue", "mark", "--delay", "1s").stdout.strip()  # five ticks from now
    run("jobs", "wait", mark)
    assert run("jobs", "list", "-t", "tick", "-o", "ndjson").stdout == ""
    assert '"tick"' in run("cron", "list", "-o", "json").stdout  # it was put, not fired
    idle.terminate()
    idle.wait(PATIENCE)

    start("worker")
    until(lambda: run("jobs", "list", "-t", "tick", "-o", "ndjson").stdout)


def test_dev_without_reload(project, start):
    dev, log = start("dev", "app.py", "--no-reload")
    until(lambda: "INFO     store" in log())
    (project / "app.py").write_text(dedent(APP) + "\nx = 1\n", encoding="utf-8")
    for _ in range(2):  # some rounds of its look for changes
        job = run("enqueue", "loop", "--delay", "500ms").stdout.strip()
        run("jobs", "wait", job)
    assert "a file changed" not in log()
    assert log().count("INFO     store") == 1
    dev.terminate()
    assert dev.wait(PATIENCE) == 0


def test_expires_and_retry(project):
    for raw in ((), ("--raw",)):
        words = ("enqueue", "loop", "--delay", "1h", "--expires", "30m", "--retry", "3", *raw)
        job = run(*words).stdout.strip()
        told = CliRunner().invoke(main, ["jobs", "show", job, "-o", "json", "--app", "app.py"])
        record = json.loads(told.stdout)
        expires, came = (
            datetime.fromisoformat(record[key]) for key in ("expires_at", "enqueued_at")
        )
        assert record["max_attempts"] == 3
        assert (expires - came).total_seconds() == pytest.approx(1800, abs=1)
