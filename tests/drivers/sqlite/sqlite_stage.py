"""What tests of the SQLite driver share: the few moves they need, and real second processes."""

import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

from oxmill.model.claim import Claim
from oxmill.model.info import ListQueues
from oxmill.model.job import Enqueue, NewJob
from oxmill.model.query import Get

CHILD = Path(__file__).parent / "sqlite_child.py"


class Store:
    """A driver with the few moves that most tests need."""

    def __init__(self, driver, path):
        self.driver = driver
        self.path = path

    @property
    def writer(self):
        return self.driver.transport._writer

    def plan(self, *ids, **options):
        ordinary = {"queue": "q", "task": "t", "payload": b"{}"} | options
        return self.driver.enqueueing.enqueue(
            Enqueue(jobs=tuple(NewJob(id=job_id, **ordinary) for job_id in ids))
        )

    def enqueue(self, *ids, **options):
        return self.driver.run(self.plan(*ids, **options))

    def claim(self, limit=1, nonce=1):
        request = Claim(queues=("q",), limit=limit, lease=60_000_000, worker="w", nonce=nonce)
        return self.driver.run(self.driver.claiming.claim(request)).jobs

    def get(self, *ids):
        return self.driver.run(self.driver.inspecting.get(Get(ids=ids)))

    def counts(self):
        (info,) = self.driver.run(self.driver.inspecting.queues(ListQueues(queues=("q",)))).items
        return {state.value: n for state, n in info.counts.items()}


@contextmanager
def child(verb, path, *more):
    """A second process, killed at the end at the latest."""
    command = [sys.executable, CHILD, verb, path, *more]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, bufsize=1) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_until(condition, seconds=30):
    """Wait for a condition that another thread brings about."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition did not come about"
        time.sleep(0.001)


@contextmanager
def kept_waiting(writer):
    """While this lasts nobody leads, so callers line up."""
    writer.ensure_open()
    with writer._lock:
        yield
    writer._hand_on()
