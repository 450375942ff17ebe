"""The command as people run it: real processes on a SQLite file."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from textwrap import dedent

import pytest

from oxmill.cli import supervise
from oxmill.worker import worker

PATIENCE = 40.0
"""Seconds that a condition may take on a busy machine."""

APP = """
import time
from pathlib import Path
from oxmill import App

app = App("sqlite:///jobs.db")

@app.task
async def greet(name: str) -> str:
    return f"Hello, {name}!"

@app.task
def slow(seconds: float) -> str:
    Path("started").touch()
    time.sleep(seconds)
    return "slept"

@app.task(retry=None)
def wrong() -> None:
    raise ValueError("it cannot work")
"""


def until(condition):
    """Wait for a condition, at most `PATIENCE` seconds; what it gave."""
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)
    return found


@pytest.fixture
def project(tmp_path, tmp_path_factory):
    """A folder with an app, and ways to run our command in it."""
    (tmp_path / "app.py").write_text(dedent(APP), encoding="utf-8")
    started = []
    # Compiled bytecode, as installed packages have it, whatever the environment says.
    cache = tmp_path_factory.getbasetemp() / "bytecode"
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(cache)}

    class Project:
        folder = tmp_path

        def run(self, *words, code=0):
            done = subprocess.run(
                supervise.oxmill(*words),
                cwd=tmp_path,
                env=env,
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                check=False,
            )
            assert done.returncode == code, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
            return done

        def data(self, *words, code=0):
            return json.loads(self.run(*words, "-o", "json", code=code).stdout)

        def start(self, *words):
            with (tmp_path / f"log{len(started)}").open("wb") as log:
                process = subprocess.Popen(
                    supervise.oxmill(*words), cwd=tmp_path, env=env, stdout=log, stderr=log
                )
            started.append(process)
            return process

        def starts(self):
            """How often a worker has said that it works."""
            return self.log().count("INFO     store")

        def log(self):
            return (tmp_path / "log0").read_text()

    yield Project()
    for process in started:
        if process.poll() is None:
            process.terminate()
            process.wait(PATIENCE)


def test_enqueue_work_wait(project):
    job = project.run("enqueue", "app:greet", '{"name": "Ann"}').stdout.strip()
    lines = project.run("worker", "--drain").stderr
    assert f"run ended job={job}" in lines
    assert project.run("jobs", "wait", job).stdout.split(maxsplit=2)[2].strip() == '"Hello, Ann!"'


def test_arguments_are_checked_by_the_app(project):
    done = project.run("enqueue", "app:greet", '{"nmae": "Ann"}', code=2)
    assert "missing a required argument: 'name'" in done.stderr
    assert "Did you mean app:greet?" in project.run("enqueue", "app:gret", code=3).stderr


def test_positional_arguments_and_options(project):
    words = ("app:greet", '["Ann"]', "--delay", "1h", "--priority", "-3", "--tag", "a", "-q", "x")
    job = project.run("enqueue", *words, "--unique", "k", "--id", "mine").stdout.strip()
    assert job == "mine"
    shown = project.data("jobs", "show", job)
    assert shown["state"] == "scheduled"
    assert (shown["queue"], shown["priority"], shown["tags"]) == ("x", -3, ["a"])
    assert (shown["payload"], shown["unique"]) == ({"name": "Ann"}, "k")
    again = project.run("enqueue", "app:greet", '["Bob"]', "--unique", "k")
    assert again.stdout.strip() == "mine"
    assert "nothing new was made" in again.stderr


def test_without_an_app_the_store_is_enough(project):
    url = ("--url", f"sqlite:///{project.folder}/other.db")
    (project.folder / "app.py").unlink()
    job = project.run("enqueue", "shop:send", '{"to": "a@x"}', *url).stdout.strip()
    assert project.data("jobs", "show", job, *url)["task"] == "shop:send"
    assert "arguments by name" in project.run("enqueue", "t", "[1]", *url, code=2).stderr


def test_the_url_option_goes_before_the_apps_own(project):
    url = ("--url", f"sqlite:///{project.folder}/other.db")
    project.run("enqueue", "app:greet", '["Ann"]', *url)
    project.run("worker", "--drain", *url)
    assert project.data("jobs", "list", *url)[0]["state"] == "succeeded"
    assert not (project.folder / "jobs.db").exists()


def test_a_failed_job_is_exit_1_to_who_waits_and_can_be_retried(project):
    job = project.run("enqueue", "app:wrong").stdout.strip()
    project.run("worker", "--drain", "--log", "json")
    assert "it cannot work" in project.run("jobs", "wait", job, code=1).stdout
    assert "ValueError" in project.run("jobs", "explain", job).stdout
    assert project.run("jobs", "retry", job).stdout == "1 job retried\n"


def test_ctrl_c_lets_running_jobs_end_and_exits_0(project):
    job = project.run("enqueue", "app:slow", "[1.0]").stdout.strip()
    process = project.start("worker")
    until((project.folder / "started").exists)
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 0
    assert project.data("jobs", "show", job)["state"] == "succeeded"


def test_several_processes_end_together(project):
    for _ in range(3):
        project.run("enqueue", "app:greet", '["Ann"]')
    process = project.start("worker", "--processes", "2")
    until(lambda: len(project.data("workers")) == 2)
    until(lambda: [job["state"] for job in project.data("jobs")] == ["succeeded"] * 3)
    process.terminate()
    assert process.wait(PATIENCE) == 0
    assert project.data("workers") == []


def test_workers_stop_when_their_supervisor_is_killed(project):
    project.run("db", "migrate")
    process = project.start("worker", "--processes", "2")
    workers = until(lambda: len(found := project.data("workers")) == 2 and found)
    process.kill()
    until(lambda: not any(Path(f"/proc/{one['pid']}").exists() for one in workers))
    assert supervise.SUPERVISED == worker.SUPERVISED


def test_a_stopped_worker_is_not_started_again(project):
    project.run("db", "migrate")
    process = project.start("worker", "--processes", "2", "--set", "beat_every=100ms")
    until(lambda: len(project.data("workers")) == 2)
    project.run("workers", "stop", "--all")
    assert process.wait(PATIENCE) == 0


def test_a_worker_that_had_enough_jobs_is_started_afresh(project):
    for _ in range(3):
        project.run("enqueue", "app:greet", '["Ann"]')
    process = project.start("worker", "-n", "1", "--max-jobs", "1", "--drain")
    assert process.wait(PATIENCE) == 0
    jobs = [project.data("jobs", "show", job["id"]) for job in project.data("jobs")]
    assert [job["state"] for job in jobs] == ["succeeded"] * 3
    assert len({job["history"][0]["worker"] for job in jobs}) == 3


def test_wrong_worker_options_are_exit_2(project):
    assert "poll_most" in project.run("worker", "--set", "pol_most=1s", code=2).stderr
    assert "OPTION=VALUE" in project.run("worker", "--set", "x", code=2).stderr
    assert "lease" in project.run("worker", "--lease", "0s", code=2).stderr


def test_dev_runs_jobs_and_starts_again_when_a_file_changes(project):
    process = project.start("dev", "app.py")
    job = project.run("enqueue", "app:greet", '["Ann"]').stdout.strip()
    assert "Hello, Ann!" in project.run("jobs", "wait", job, "--timeout", "30s").stdout
    file = project.folder / "app.py"
    file.write_text(file.read_text().replace("Hello", "Goodbye"), encoding="utf-8")
    until(lambda: project.starts() == 2)
    job = project.run("enqueue", "app:greet", '["Ann"]').stdout.strip()
    assert "Goodbye, Ann!" in project.run("jobs", "wait", job, "--timeout", "30s").stdout
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 0
    assert "oxmill status" in project.log()


def test_dev_survives_a_file_that_does_not_compile(project):
    file = project.folder / "app.py"
    good = file.read_text()
    project.start("dev", "app.py")
    until(project.starts)
    file.write_text("this is not Python", encoding="utf-8")
    until(lambda: "waiting for a change" in project.log())
    file.write_text(good, encoding="utf-8")
    until(lambda: project.starts() == 2)


def test_dev_of_a_file_that_is_not_there_is_exit_2(project):
    assert "oxmill init nope.py" in project.run("dev", "nope.py", code=2).stderr


def test_quick_start_from_an_empty_folder(project):
    (project.folder / "app.py").unlink()
    project.run("init")
    project.start("dev", "app.py")
    until(project.starts)
    done = subprocess.run(
        [sys.executable, "app.py"],
        cwd=project.folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    assert "Hello, world!" in done.stdout


def test_db(project):
    url = ("--url", f"sqlite:///{project.folder}/new.db")
    assert project.data("db", "migrate", "--plan", *url)["from"] == 0
    assert "empty" in project.run("doctor", *url).stdout
    assert project.data("db", "migrate", *url)["applied"]
    assert "up to date" in project.run("db", "migrate", "--plan", *url).stdout
    column = ("--extra-column", "user_id:integer")
    assert "user_id (integer)" in project.run("db", "migrate", *column, *url).stdout
    assert (
        "type of column"
        in project.run("db", "migrate", *column, "--extra-column", "x:y", *url, code=2).stderr
    )
    assert "CREATE TABLE" in project.run("db", "sql", *url).stdout
    project.run("db", "check", *url)


@pytest.mark.parametrize(
    ("words", "key"),
    [
        (("enqueue", "--jobs", "200", "--batch", "50"), "per_second"),
        (("drain", "--jobs", "300"), "per_second"),
        (("latency", "--jobs", "20"), "p99_seconds"),
    ],
)
def test_bench_measures_and_leaves_nothing_behind(project, words, key):
    url = ("--url", f"sqlite:///{project.folder}/bench.db")
    assert project.data("bench", *words, *url)[key] > 0
    assert project.data("jobs", "list", *url) == []


def test_an_unusable_store_is_exit_4(project):
    (project.folder / "bad.db").write_bytes(b"this is no database" * 100)
    done = project.run("jobs", "list", "--url", f"sqlite:///{project.folder}/bad.db", code=4)
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


def on_a_terminal(folder, *words, answer="", **env):
    """What a command shows on a terminal, where somebody types an answer; its exit code."""
    main, side = pty.openpty()
    process = subprocess.Popen(
        supervise.oxmill(*words),
        cwd=folder,
        stdout=side,
        stderr=side,
        stdin=side,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120", **env},
    )
    os.close(side)
    os.write(main, answer.encode())
    shown = b""
    while select.select([main], [], [], PATIENCE)[0]:
        try:
            shown += os.read(main, 65_536)
        except OSError:  # the other side is closed
            break
    os.close(main)
    return shown.decode(), process.wait(PATIENCE)


def test_a_terminal_gets_colours_unless_no_color(project):
    project.run("enqueue", "app:greet", '["Ann"]', "--delay", "1h")
    coloured, _ = on_a_terminal(project.folder, "jobs", "list")
    assert "\x1b[" in coloured
    assert "scheduled" in coloured
    assert "\x1b[3" not in on_a_terminal(project.folder, "jobs", "list", NO_COLOR="1")[0]


@pytest.mark.parametrize(("answer", "code", "left"), [("n\n", 130, 1), ("y\n", 0, 0)])
def test_a_terminal_is_asked_before_jobs_are_removed(project, answer, code, left):
    project.run("enqueue", "app:greet", '["Ann"]')
    shown, ended = on_a_terminal(project.folder, "jobs", "rm", "-q", "default", answer=answer)
    assert "Remove 1 job?" in shown
    assert ended == code
    assert len(project.data("jobs")) == left


def test_ctrl_c_of_a_wait_is_exit_130(project):
    job = project.run("enqueue", "app:greet", '["Ann"]', "--delay", "1h").stdout.strip()
    process = project.start("jobs", "wait", job)
    until(lambda: "jobs.db-shm" in Path(f"/proc/{process.pid}/maps").read_text())
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 130
