"""What tests ask of a driver in short, and a load that remembers what was acknowledged."""

import threading
import time
from itertools import count

from oxmill.errors import OutcomeUnknown, StoreUnavailable
from oxmill.model.claim import Claim
from oxmill.model.info import ListQueues
from oxmill.model.job import Enqueue, NewJob, Verdict
from oxmill.model.query import Find, Get
from oxmill.model.settlement import Outcome, Ruling, Settle, Settlement
from oxmill.model.state import State
from oxmill.testing.operations import plan_for

SECOND = 1_000_000
UNSURE = (StoreUnavailable, OutcomeUnknown)


def do(driver, request):
    return driver.run(plan_for(driver, request))


def job(name, **options):
    return NewJob(**({"queue": "q", "task": "t", "payload": b"x" * 100} | options), id=name)


def enqueue(driver, *names, **options):
    return do(driver, Enqueue(jobs=tuple(job(name, **options) for name in names)))


def claim(driver, limit=1, nonce=1, lease=60 * SECOND):
    request = Claim(queues=("q",), limit=limit, lease=lease, worker="w", nonce=nonce)
    return do(driver, request).jobs


def settle(driver, lease, outcome=Outcome.COMPLETE, **options):
    item = Settlement(id=lease.id, token=lease.token, outcome=outcome, **options)
    return do(driver, Settle(items=(item,)))[0]


def eventually(check, bound=20.0):
    """Try again until it does not raise a typed error of the store."""
    deadline = time.monotonic() + bound
    while True:
        try:
            return check()
        except UNSURE:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


class Load:
    """Threads that enqueue, claim and complete, and remember what was acknowledged."""

    def __init__(self, driver):
        self.driver = driver
        self.stop = threading.Event()
        self.acknowledged = []
        self.times = {}
        self.won = {}
        self.won_at = {}
        self.surprises = []
        self.nonces = count(1)
        self.threads = [
            threading.Thread(target=self._guard, args=(target, name))
            for name, target in enumerate((self._produce, self._produce, self._work, self._work))
        ]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *exc):
        self.stop.set()
        for thread in self.threads:
            thread.join(60)

    def _guard(self, target, name):
        try:
            while not self.stop.is_set():
                try:
                    target(name)
                except UNSURE:
                    time.sleep(0.02)
        except Exception as error:
            self.surprises.append(error)

    def _produce(self, name):
        for number in count(len(self.acknowledged)):
            if self.stop.is_set():
                return
            job_id = f"{name}-{number}-{time.monotonic_ns()}"
            # Leases lapse while a primary is away; that must not use up the crashes of a job.
            answer = eventually(
                lambda job_id=job_id: enqueue(self.driver, job_id, crash_limit=1_000)[0]
            )
            if answer.verdict in {Verdict.CREATED, Verdict.DUPLICATE}:
                self.times[job_id] = time.monotonic()
                self.acknowledged.append(job_id)

    def _work(self, name):
        for lease in claim(self.driver, 5, nonce=next(self.nonces), lease=2 * SECOND):
            answer = eventually(lambda lease=lease: settle(self.driver, lease))
            if answer.ruling is Ruling.WON:
                self.remember(lease)

    def remember(self, lease):
        """This token won."""
        self.won.setdefault(lease.id, set()).add(lease.token)
        self.won_at.setdefault(lease.id, {}).setdefault(lease.token, time.monotonic())

    def doubled(self, kills=(), *, window=3.0):
        """Jobs won under two tokens, though the first win cannot have been lost in a kill."""
        return {
            job_id
            for job_id, wins in self.won_at.items()
            for won in sorted(wins.values())[:-1]
            if not any(kill - window < won <= kill + 0.5 for kill in kills)
        }


def put_through(server, driver, kills):
    """Kill and restart the server under load, then let all that is left be done."""
    moments = []
    with Load(driver) as load:
        for _ in range(kills):
            before, deadline = len(load.acknowledged), time.monotonic() + 15
            while len(load.acknowledged) < before + 50 and time.monotonic() < deadline:
                time.sleep(0.01)
            server.kill()
            moments.append(time.monotonic())
            server.start()
    assert load.surprises == []
    assert len(load.acknowledged) >= 50 * kills
    eventually(lambda: do(driver, Find(limit=1)))
    finish(driver, load)
    return load, moments


def finish(driver, load):
    """Settle everything that is left."""
    for nonce in count(10_000):
        leases = eventually(lambda nonce=nonce: claim(driver, 100, nonce=nonce), 30)
        for lease in leases:
            if eventually(lambda lease=lease: settle(driver, lease), 30).ruling is Ruling.WON:
                load.remember(lease)
        if not leases:
            counts = eventually(lambda: do(driver, ListQueues(queues=("q",)))).items[0].counts
            if not counts.get(State.RUNNING):
                return
            time.sleep(0.2)


def found_of(driver, ids):
    parts = (tuple(ids[first : first + 500]) for first in range(0, len(ids), 500))
    return {each.id: each.state for part in parts for each in do(driver, Get(ids=part))}
