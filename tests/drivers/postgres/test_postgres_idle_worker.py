"""What a worker with nothing to do has loaded: of all stores, PostgreSQL's client takes the most memory."""

import subprocess
import sys

from private_postgres import schema_url

UNWANTED = {
    "oxmill.drivers.postgres.borrowing",
    "oxmill.drivers.postgres.caller_cursor",
    "oxmill.drivers.sql.asides",
    "oxmill.drivers.sql.gating",
    "oxmill.drivers.sql.serving",
    "oxmill.drivers.sql.steering",
}
CODE = """
import sys
from oxmill import App
app = App(sys.argv[1], mode="volatile")
app.task(name="nothing")(print)
assert app.worker(drain=True).run() == 0
print(*sys.modules)
"""


def test_an_idle_worker_has_loaded_nothing_that_it_does_not_need():
    words = [sys.executable, "-c", CODE, schema_url()]

    done = subprocess.run(words, capture_output=True, text=True, check=True)

    loaded = set(done.stdout.split())
    assert "oxmill.drivers.postgres.claiming" in loaded
    assert loaded & UNWANTED == set()
