"""A command line on a memory store with a clock that tests move."""

import json
from dataclasses import dataclass

import pytest
from click.testing import CliRunner

from oxmill.cli.main import main
from oxmill.drivers.memory.driver import open_memory
from oxmill.model.claim import Claim
from oxmill.model.job import Enqueue, NewJob
from oxmill.model.query import Get
from oxmill.model.settlement import Failure, Outcome, Settle, Settlement
from oxmill.testing.clock import VirtualClock


@dataclass
class Shell:
    """Runs command lines and fills the store they look at."""

    driver: object
    clock: VirtualClock

    def __call__(self, *words, code=0, given=None):
        """The result of a command line, which must exit with `code`."""
        result = CliRunner().invoke(main, [*words, "--url", "memory://"], input=given)
        shown = f"exit {result.exit_code}\n{result.stdout}\n{result.stderr}"
        assert result.exit_code == code, shown
        return result

    def data(self, *words, code=0):
        """What a command prints as JSON."""
        return json.loads(self(*words, "-o", "json", code=code).stdout)

    def enqueue(self, *ids, queue="default", task="app:send", **more):
        jobs = tuple(
            NewJob(id=one, queue=queue, task=task, payload=b'{"to":"a@x"}', **more) for one in ids
        )
        return self.driver.run(self.driver.enqueueing.enqueue(Enqueue(jobs=jobs)))

    def claim(self, limit=100, queue="default", worker="w1"):
        claim = Claim(queues=(queue,), limit=limit, lease=60_000_000, worker=worker, nonce=7)
        return self.driver.run(self.driver.claiming.claim(claim)).jobs

    def fail(self, *ids, queue="default"):
        """Enqueue jobs and let them fail for good."""
        self.enqueue(*ids, queue=queue)
        error = Failure(type="ValueError", message="no such user", traceback="Traceback: here")
        items = tuple(
            Settlement(id=job.id, token=job.token, outcome=Outcome.FAIL, error=error)
            for job in self.claim(queue=queue)
        )
        self.driver.run(self.driver.settling.settle(Settle(items=items)))

    def complete(self, *ids, result=b"42"):
        """Enqueue jobs and let them succeed."""
        self.enqueue(*ids)
        items = tuple(
            Settlement(id=job.id, token=job.token, outcome=Outcome.COMPLETE, result=result)
            for job in self.claim()
        )
        self.driver.run(self.driver.settling.settle(Settle(items=items)))

    def state(self, job_id):
        found = self.driver.run(self.driver.inspecting.get(Get(ids=(job_id,))))
        return found[0].state if found else None


@pytest.fixture
def shell(monkeypatch, tmp_path):
    clock = VirtualClock()
    driver = open_memory(clock=clock)
    monkeypatch.setattr("oxmill.connect.connect", lambda _url: driver)
    monkeypatch.setattr("oxmill.cli.times.here", clock)
    monkeypatch.chdir(tmp_path)
    return Shell(driver, clock)
