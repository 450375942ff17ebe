"""The hot path's cost is guarded: one round trip each, however many jobs it is about."""

from contextlib import contextmanager

import pytest
from asking import SECOND, claim, do, enqueue, job
from private_postgres import schema_url

from oxmill.drivers.postgres.connection import Link
from oxmill.drivers.postgres.driver import open_postgres
from oxmill.model.claim import Claim, Renew, Renewal
from oxmill.model.job import Enqueue
from oxmill.model.settlement import Outcome, Settle, Settlement
from oxmill.store.plan import together
from oxmill.testing.operations import plan_for

MANY = 200


@pytest.fixture
def driver(postgres_server):
    driver = open_postgres(schema_url(), doorbell=False)
    enqueue(driver, "first", queue="other")
    yield driver
    driver.close()


@pytest.fixture
def trips(monkeypatch):
    """Counts what is sent."""
    sent = []
    ask, say = Link.ask, Link.say

    def asking(self, query):
        sent.append(query.text.name)
        return ask(self, query)

    def saying(self, command):
        sent.append(command)
        say(self, command)

    monkeypatch.setattr(Link, "ask", asking)
    monkeypatch.setattr(Link, "say", saying)

    @contextmanager
    def counting(*expected):
        sent.clear()
        yield
        assert sent == list(expected)

    return counting


def completions(leases):
    return Settle(
        items=tuple(
            Settlement(id=each.id, token=each.token, outcome=Outcome.COMPLETE) for each in leases
        )
    )


def test_each_step_of_the_hot_path_is_one_round_trip(driver, trips):
    with trips("enqueue_one"):
        enqueue(driver, "a")
    with trips("enqueue"):
        do(driver, Enqueue(jobs=tuple(job(f"b-{number}") for number in range(MANY))))
    with trips("enqueue"):
        enqueue(driver, "c", fields={"user": 1}, tags=("x",), delay=SECOND)
    with trips("claim"):
        first = claim(driver, 20)
    with trips("claim"):
        second = claim(driver, 20, nonce=2, queues=("q", "other", "none"))
    with trips("renew"):
        items = tuple(Renewal(id=each.id, token=each.token, progress=b"p") for each in first)
        do(driver, Renew(items=items, lease=60 * SECOND))
    with trips("complete"):
        do(driver, completions(first))
    with trips("complete_and_claim"):
        request = Claim(queues=("q",), limit=20, lease=60 * SECOND, worker="w", nonce=3)
        settling = plan_for(driver, completions(second))
        _, claimed = driver.run(together(settling, plan_for(driver, request)))
    assert len(claimed.jobs) == 20


def test_a_retry_costs_a_fixed_number_of_round_trips(driver, trips):
    do(driver, Enqueue(jobs=tuple(job(f"b-{number}") for number in range(MANY))))
    leases = claim(driver, MANY)
    items = [
        Settlement(id=each.id, token=each.token, outcome=Outcome.RETRY, delay=SECOND)
        for each in leases
    ]
    long_way = (
        "BEGIN ISOLATION LEVEL READ COMMITTED",
        "now",
        "lock_keys_of",
        "standings_by_id",
        "settings_of",
        "add_attempts",
        "write_standing",
        "add_counts",
        "COMMIT",
    )
    with trips(*long_way):
        do(driver, Settle(items=tuple(items)))
