"""Short words for what tests ask of a driver."""

import time

from oxmill.errors import OutcomeUnknown, StoreUnavailable
from oxmill.model.claim import Claim
from oxmill.model.job import Enqueue, NewJob
from oxmill.model.settlement import Outcome, Settle, Settlement
from oxmill.testing.operations import plan_for

SECOND = 1_000_000
UNSURE = (StoreUnavailable, OutcomeUnknown)


def do(driver, request):
    return driver.run(plan_for(driver, request))


def job(name, **options):
    return NewJob(**({"queue": "q", "task": "t", "payload": b"x" * 100} | options), id=name)


def enqueue(driver, *names, **options):
    return do(driver, Enqueue(jobs=tuple(job(name, **options) for name in names)))


def claim(driver, limit=1, nonce=1, lease=60 * SECOND, queues=("q",)):
    request = Claim(queues=queues, limit=limit, lease=lease, worker="w", nonce=nonce)
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
