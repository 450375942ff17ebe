"""How soon an idle worker, in a process of its own and with every setting as it comes, starts what arrives.

Nobody tells MariaDB's clients what was written, so this is how often workers look, and what follows.
"""

import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import pytest
from private_mysql import shared_server

from oxmill.drivers.mysql.driver import open_mysql
from oxmill.model.job import Enqueue, NewJob
from oxmill.testing.operations import plan_for

WITHIN = 0.05
IDLE = 0.7
"""Seconds after which a worker that was not told would look about twice a second."""
HOPS = 6
"""From the commit to the job's first line: the bell's thread, the server, the loop, the claim's thread,
the server, the loop."""
NAP = 0.005
TIMES, ROUNDS = 3, 4


@contextmanager
def worker(url):
    process = subprocess.Popen(
        [sys.executable, Path(__file__).with_name("idle_child.py")],
        env=os.environ | {"OXMILL_URL": url},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait(10)
        process.stdout.close()


class Lateness:
    """How late this machine is: it has other things to do than these tests."""

    def __enter__(self):
        self.late, self._ended = [], threading.Event()
        self._thread = threading.Thread(target=self._measure)
        self._thread.start()
        return self

    def __exit__(self, *exc):
        self._ended.set()
        self._thread.join()

    def _measure(self):
        while not self._ended.is_set():
            asleep = time.monotonic()
            time.sleep(NAP)
            self.late.append(time.monotonic() - asleep - NAP)

    def mean(self):
        return sum(self.late) / len(self.late)


def start_one(driver, process, number):
    """Seconds from a commit to the start of the job in the other process."""
    job = NewJob(id=f"job-{number}", queue="default", task="tell", payload=b"{}")
    driver.run(plan_for(driver, Enqueue(jobs=(job,))))
    committed = time.monotonic()
    return float(process.stdout.readline()) - committed


@pytest.mark.timeout(60)
def test_work_that_arrives_while_a_worker_is_idle_starts_within_50_ms():
    url = shared_server().database()
    driver = open_mysql(url, mode="volatile")
    with worker(url) as process:
        start_one(driver, process, "first")
        seen = []
        for round_ in range(ROUNDS):
            took = []
            with Lateness() as lateness:
                for number in range(TIMES):
                    time.sleep(IDLE + number * 0.007)  # not in step with the looks
                    took.append(start_one(driver, process, f"{round_}-{number}"))
            seen.append((median(took), lateness.mean()))
            if median(took) <= WITHIN + HOPS * lateness.mean():
                break
        else:
            pytest.fail(f"median and lateness of each round: {seen}")
    driver.close()
