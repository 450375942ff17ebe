"""Processes that keep processes running. Everything here is a real process."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from textwrap import dedent

import pytest

from oxmill.cli.watch import Watch

PATIENCE = 20.0
"""Seconds that a condition may take on a busy machine."""


def until(condition):
    """Wait for a condition, at most `PATIENCE` seconds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


@pytest.fixture
def stage(tmp_path):
    """Runs a supervisor over a child script that writes what happens to it into a file."""
    log = tmp_path / "log"
    log.touch()
    (tmp_path / "child.py").write_text(
        dedent(
            f"""
            import os, signal, sys, time
            def tell(word):
                with open({str(log)!r}, "a") as file:
                    file.write(f"{{word}} {{os.getpid()}}\\n")
            """
        )
    )
    started = []

    class Stage:
        folder = tmp_path

        def child(self, body):
            script = tmp_path / "child.py"
            script.write_text(script.read_text() + dedent(body))
            return self

        def start(self, body):
            code = "import sys\nchild = [sys.executable, 'child.py']\n" + dedent(body)
            process = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path)
            started.append(process)
            return process

        def words(self):
            return [line.split()[0] for line in log.read_text().splitlines()]

        def pids(self):
            return [int(line.split()[1]) for line in log.read_text().splitlines()]

    yield Stage()
    for process in started:
        process.kill()
        process.wait()


TWO = """
from oxmill.cli.supervise import Supervisor
sys.exit(Supervisor(child, 2).run())
"""

WAIT_FOR_SIGNAL = """
signal.signal(signal.SIGTERM, lambda *_: (tell("term"), sys.exit(0)))
tell("start")
while True:
    time.sleep(0.05)
"""


def test_children_that_are_done_end_the_supervisor(stage):
    done = stage.child('tell("start")').start(TWO)
    assert done.wait(PATIENCE) == 0
    assert stage.words() == ["start", "start"]


def test_a_child_that_dies_is_started_again(stage):
    supervisor = stage.child('tell("start"); sys.exit(3)').start(TWO)
    until(lambda: len(stage.words()) > 2)
    supervisor.send_signal(signal.SIGTERM)
    assert supervisor.wait(PATIENCE) is not None


def test_a_child_that_ends_to_be_started_afresh_is_started_at_once(stage):
    supervisor = stage.child('tell("start"); sys.exit(75)').start(TWO)
    until(lambda: len(stage.words()) > 6)
    supervisor.send_signal(signal.SIGTERM)
    assert supervisor.wait(PATIENCE) is not None


def test_wrong_usage_is_not_tried_again(stage):
    supervisor = stage.child('tell("start"); sys.exit(2)').start(TWO)
    assert supervisor.wait(PATIENCE) == 2
    assert len(stage.words()) <= 2


def test_a_drain_does_not_wait_for_a_store(stage):
    drains = TWO.replace("2)", "2, drains=True)")
    supervisor = stage.child('tell("start"); sys.exit(4)').start(drains)
    assert supervisor.wait(PATIENCE) == 4
    assert len(stage.words()) <= 2


def test_a_signal_is_passed_on_once_to_each(stage):
    supervisor = stage.child(WAIT_FOR_SIGNAL).start(TWO)
    until(lambda: len(stage.words()) == 2)
    supervisor.send_signal(signal.SIGINT)
    assert supervisor.wait(PATIENCE) == 0
    assert sorted(stage.words()) == ["start", "start", "term", "term"]


RELOAD = """
from pathlib import Path
from oxmill.cli.supervise import Reloader
from oxmill.cli.watch import Watch
sys.exit(Reloader(child, Watch(Path("watched")).changed).run())
"""


def test_a_change_starts_the_child_again(stage):
    watched = stage.folder / "watched"
    watched.mkdir()
    supervisor = stage.child(WAIT_FOR_SIGNAL).start(RELOAD)
    until(lambda: stage.words() == ["start"])
    (watched / "app.py").write_text("x = 1")
    until(lambda: stage.words() == ["start", "term", "start"])
    supervisor.send_signal(signal.SIGINT)
    assert supervisor.wait(PATIENCE) == 0
    assert stage.words() == ["start", "term", "start", "term"]


def test_a_child_that_broke_waits_for_the_next_change(stage):
    watched = stage.folder / "watched"
    watched.mkdir()
    supervisor = stage.child('tell("start"); sys.exit(1)').start(RELOAD)
    until(lambda: stage.words() == ["start"])
    until(lambda: not _alive(stage.pids()[0]))
    (watched / "app.py").write_text("x = 1")
    until(lambda: stage.words() == ["start", "start"])
    supervisor.send_signal(signal.SIGTERM)
    assert supervisor.wait(PATIENCE) == 0


def _alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


# -- watching --------------------------------------------------------------------------------------


def test_watching_notices_new_written_and_removed_files(tmp_path):
    file = tmp_path / "a.py"
    file.write_text("1")
    watch = Watch(tmp_path)
    assert not watch.changed()
    os.utime(file, ns=(1, 1))
    assert watch.changed()
    (tmp_path / "b.py").write_text("1")
    assert watch.changed()
    file.unlink()
    assert watch.changed()
    assert not watch.changed()


@pytest.mark.parametrize("path", ["note.txt", ".hidden/a.py", "node_modules/a.py", "venv/a.py"])
def test_watching_leaves_out_what_is_not_the_project(tmp_path, path):
    watch = Watch(tmp_path)
    file = Path(tmp_path, path)
    file.parent.mkdir(exist_ok=True)
    file.write_text("1")
    assert not watch.changed()
