"""A worker that finds nothing to do has loaded nothing that only others need: that is memory."""

import subprocess
import sys

UNWANTED = {
    "cronsim",
    "getpass",
    "oxmill.drivers.sql.naming",
    "oxmill.drivers.sql.searching",
    "oxmill.drivers.sql.steering",
    "oxmill.drivers.sqlite.borrowing",
    "oxmill.queue.control",
    "oxmill.queue.work",
    "oxmill.rules.cron",
    "oxmill.worker.lanes.in_process",
    "oxmill.worker.messages",
}
CODE = """
import sys
from oxmill import App
app = App(sys.argv[1])
app.task(name="nothing")(print)
assert app.worker(drain=True).run() == 0
print(*sys.modules)
"""


def test_an_idle_worker_has_loaded_nothing_that_it_does_not_need(tmp_path):
    words = [sys.executable, "-c", CODE, f"sqlite:///{tmp_path}/jobs.db"]

    done = subprocess.run(words, capture_output=True, text=True, check=True)

    loaded = set(done.stdout.split())
    assert "oxmill.worker.claimer" in loaded
    assert loaded & UNWANTED == set()
