"""Worker processes on one store, which are gone when the test ends."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from oxmill.connect import connect
from oxmill.model.job import Enqueue, NewJob
from oxmill.model.query import Get
from oxmill.model.state import TERMINAL
from oxmill.queue.ids import IdSource

TESTS = Path(__file__).parent.parent
BOUND = 30.0


class WorkerProcess:
    """A worker in a process of its own."""

    def __init__(self, folder, number, store, options):
        self._log = folder / f"worker-{number}.log"
        given = {"lease": 1, "sweep_every": 0.2, "beat_every": 0.2, "grace": 2} | options
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "chaos.serve", json.dumps(given)],
                cwd=TESTS,
                env={**os.environ, "CHAOS_STORE": json.dumps(store)},
                stderr=log,
            )
        self.pid = self.process.pid

    def send(self, number):
        os.kill(self.pid, number)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def code(self):
        """The exit code, once it has ended."""
        return self.process.wait(BOUND)

    def lines(self, words):
        """What it logged under these words."""
        text = self._log.read_text()
        told = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        return [line for line in told if line["message"] == words]


class Scene:
    """One store, its jobs and its workers; a SQLite file unless another is given."""

    def __init__(self, folder, url=None, mode="durable"):
        self.folder = folder
        self.store = {"url": url or f"sqlite:///{folder}/jobs.db", "mode": mode}
        self.driver = connect(**self.store)
        self._workers = []
        self._ids = IdSource()

    def worker(self, **options):
        """A worker process, started."""
        worker = WorkerProcess(self.folder, len(self._workers), self.store, options)
        self._workers.append(worker)
        return worker

    def enqueue(self, task, *args, **changes):
        """A job of this task; its id."""
        new = task.new_job(args, {}, self._ids())
        values = {name: getattr(new, name) for name in NewJob.__struct_fields__} | changes
        request = Enqueue(jobs=(NewJob(**values),))
        return self.driver.run(self.driver.enqueueing.enqueue(request))[0].id

    def job(self, job_id):
        return self.driver.run(self.driver.inspecting.get(Get(ids=(job_id,))))[0]

    def ended(self, job_id):
        """The job, once it has ended."""

        def look():
            job = self.job(job_id)
            return job if job.state in TERMINAL else None

        return self.until(look)

    def until(self, look, bound=BOUND):
        """What `look` gives, once it gives something."""
        end = time.monotonic() + bound
        while not (found := look()):
            assert time.monotonic() < end, "it did not happen in time"
            time.sleep(0.02)
        return found

    def runs(self):
        """(pid, attempt) of every run that was started."""
        path = self.folder / "runs"
        lines = path.read_text().splitlines() if path.exists() else []
        return [tuple(map(int, line.split())) for line in lines]

    def let_go(self):
        (self.folder / "go").touch()

    def close(self):
        for worker in self._workers:
            if worker.process.poll() is None:
                worker.send(signal.SIGCONT)
                worker.kill()
        self.driver.close()
