"""What a second process does in tests: `python child.py VERB PATH [ARGUMENT]`. Talks in lines."""

import os
import sqlite3
import sys
import time

from oxmill.drivers.sqlite.connection import Place
from oxmill.drivers.sqlite.doorbell import SqliteDoorbell
from oxmill.drivers.sqlite.driver import open_sqlite
from oxmill.model.claim import Claim
from oxmill.model.job import Enqueue, NewJob
from oxmill.model.settlement import Outcome, Settle, Settlement
from oxmill.store.doorbell import work


def say(word):
    print(word, flush=True)


def listen(path, sockets):
    """Say when the bell of queue `q` has rung, or a line was read, by the clock that all processes
    share."""
    doorbell = SqliteDoorbell(Place(path), sockets=sockets == "sockets")
    with doorbell.listen([work("q")]) as bell:
        say("ready")
        for line in sys.stdin:
            if line == "ping\n":
                say(time.monotonic())
            else:
                say("waiting")
                say(time.monotonic() if bell.wait(10) else 0)
    doorbell.close()


def idle(path, sockets):
    """Say how much of a core it takes to wait for a bell that does not ring."""
    doorbell = SqliteDoorbell(Place(path), sockets=sockets == "sockets")
    with doorbell.listen([work("q")]) as bell:
        while bell.wait(0.3):  # whatever was committed before
            pass
        began, used = time.monotonic(), time.process_time()
        bell.wait(1)
        say((time.process_time() - used) / (time.monotonic() - began))
    doorbell.close()


def read(path):
    """Keep a snapshot open, as other tools do."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN")
    connection.execute("SELECT count(*) FROM jobs").fetchone()
    say("reading")
    sys.stdin.readline()


def enqueue(path, prefix):
    """Enqueue one job after the other until killed; say each id once it is acknowledged."""
    driver = open_sqlite(path)
    for number in range(1_000_000):
        job = NewJob(id=f"{prefix}-{number}", queue="q", task="t", payload=b"{}")
        driver.run(driver.enqueueing.enqueue(Enqueue(jobs=(job,))))
        say(job.id)


def churn(path, prefix):
    """Enqueue, claim and settle as fast as it goes; say which jobs were won."""
    driver = open_sqlite(path)
    say("ready")
    sys.stdin.readline()
    for number in range(60):
        jobs = tuple(
            NewJob(id=f"{prefix}-{number}-{n}", queue="q", task="t", payload=b"{}")
            for n in range(5)
        )
        driver.run(driver.enqueueing.enqueue(Enqueue(jobs=jobs)))
        drain(driver, prefix, number)
    while drain(driver, prefix, 0):
        pass
    driver.close()


def drain(driver, prefix, number):
    claim = Claim(queues=("q",), limit=7, lease=60_000_000, worker=prefix, nonce=number)
    leases = driver.run(driver.claiming.claim(claim)).jobs
    items = tuple(
        Settlement(id=lease.id, token=lease.token, outcome=Outcome.COMPLETE) for lease in leases
    )
    for answer in driver.run(driver.settling.settle(Settle(items=items))):
        say(f"{answer.ruling} {answer.id}")
    return leases


def orphan(path):
    """Open the store, fork, and go on in the child once the parent is gone."""
    driver = open_sqlite(path)

    def add(job_id):
        job = NewJob(id=job_id, queue="q", task="t", payload=b"{}")
        driver.run(driver.enqueueing.enqueue(Enqueue(jobs=(job,))))

    add("of the parent")
    parent = os.getpid()
    if os.fork():
        os._exit(0)
    while os.getppid() == parent:
        time.sleep(0.001)
    for number in range(10):
        add(f"child-{number}")
    say("orphaned")
    sys.stdin.readline()
    for number in range(10, 20):
        add(f"child-{number}")
    say("done")


if __name__ == "__main__":
    from pathlib import Path

    verb, place, *more = sys.argv[1:]
    verbs = {
        "listen": listen,
        "idle": idle,
        "read": read,
        "enqueue": enqueue,
        "churn": churn,
        "orphan": orphan,
    }
    verbs[verb](Path(place), *more)
