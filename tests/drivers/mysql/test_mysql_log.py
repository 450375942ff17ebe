"""How much a job makes the server write to its log: rows must not outgrow their places."""

import os
import tempfile
from itertools import count

import pytest
from private_mysql import MEMORY, QUICK, Server

from oxmill.drivers.mysql.driver import open_mysql
from oxmill.model.claim import Claim
from oxmill.model.job import Enqueue, NewJob
from oxmill.model.settlement import Outcome, Settle, Settlement

JOBS, AT_ONCE = 2_000, 100
WORKER = f"a-host-of-some-length-{os.getpid()}-12345678"
nonces = count(1)


@pytest.fixture
def server():
    """A server that nobody else makes write."""
    server = Server(tempfile.mkdtemp(prefix="oxmill-mysql-log-", dir=MEMORY), *QUICK).start()
    yield server
    server.stop()


def logged(server, act):
    """The bytes that it adds to the log per job, and its answer."""
    before = _position(server)
    answer = act()
    return (_position(server) - before) / JOBS, answer


def _position(server):
    ((_, position),) = server.ask("SHOW GLOBAL STATUS LIKE 'Innodb_lsn_current'")
    return int(position)


def enqueue(driver, *, grouped):
    jobs = tuple(
        NewJob(
            id=f"{n:032}",
            queue="default",
            task="noop",
            payload=b"x" * 100,
            group=f"group {n % 9}" if grouped else None,
        )
        for n in range(JOBS)
    )
    driver.run(driver.enqueueing.enqueue(Enqueue(jobs=jobs)))


def claim(driver):
    request = Claim(
        queues=("default",), limit=AT_ONCE, lease=60_000_000, worker=WORKER, nonce=next(nonces)
    )
    jobs = driver.run(driver.claiming.claim(request)).jobs
    assert len(jobs) == AT_ONCE
    return jobs


def settle(driver, jobs):
    items = [Settlement(id=job.id, token=job.token, outcome=Outcome.COMPLETE) for job in jobs]
    driver.run(driver.settling.settle(Settle(items=tuple(items))))


@pytest.mark.parametrize("grouped", [False, True], ids=["plain", "grouped"])
def test_claims_and_ends_log_no_whole_pages(server, grouped):
    driver = open_mysql(server.database(), doorbell=False)
    enqueue(driver, grouped=grouped)
    turns = JOBS // AT_ONCE

    claiming, batches = logged(server, lambda: [claim(driver) for _ in range(turns)])
    ending, _ = logged(server, lambda: [settle(driver, jobs) for jobs in batches])

    driver.close()
    # A page packed anew is 16 KB; at one for every fourth job that would be thousands of bytes.
    assert claiming < 1_800
    assert ending < 1_800
