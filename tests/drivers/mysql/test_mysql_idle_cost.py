"""What a worker with nothing to do asks the server, by round trips."""

import pytest
from private_mysql import shared_server

from oxmill.drivers.mysql.driver import open_mysql
from oxmill.drivers.mysql.link import Link
from oxmill.drivers.mysql.statements import statement
from oxmill.model.claim import Claim
from oxmill.model.info import ListQueues, Sweep
from oxmill.model.job import Enqueue, NewJob
from oxmill.model.schedule import ListSchedules
from oxmill.testing.operations import plan_for


@pytest.fixture
def url():
    return shared_server().database()


@pytest.fixture
def driver(url):
    driver = open_mysql(url, doorbell=False)
    driver.run(plan_for(driver, ListSchedules()))
    yield driver
    driver.close()


@pytest.mark.parametrize(
    ("request_", "most"),
    [
        (ListSchedules(due_only=True), 1),
        (Claim(queues=("q",), limit=10, lease=60_000_000, worker="w", nonce=1), 1),
        (Sweep(limit=100), 9),
        (ListQueues(), 3),
    ],
    ids=lambda each: type(each).__name__ if not isinstance(each, int) else "",
)
def test_an_idle_look_takes_few_round_trips(driver, monkeypatch, request_, most):
    sent = []
    send = Link.send
    monkeypatch.setattr(Link, "send", lambda link, batch: sent.append(batch) or send(link, batch))

    driver.run(plan_for(driver, request_))

    assert 0 < len(sent) <= most


def test_a_claim_makes_no_table_for_keys_that_nobody_uses(driver):
    """An UPDATE that joins makes one even if it finds nothing."""
    server = shared_server()
    asked = "SHOW GLOBAL STATUS LIKE 'Created_tmp_disk_tables'"
    jobs = tuple(NewJob(id=f"j{n}", queue="q", task="t", payload=b"{}") for n in range(10))
    driver.run(plan_for(driver, Enqueue(jobs=jobs)))
    claim = Claim(queues=("q",), limit=5, lease=60_000_000, worker="w", nonce=1)
    ((_, first),) = server.ask(asked)
    ((_, second),) = server.ask(asked)

    claimed = driver.run(plan_for(driver, claim))

    ((_, third),) = server.ask(asked)
    assert len(claimed.jobs) == 5
    assert int(third) - int(second) == int(second) - int(first)


def test_a_claim_looks_no_further_than_now(driver, url):
    """The server passes over what has ended and is not purged yet until a row is left or, if it may judge
    by the index before it reads a row, until the range is."""
    server, name = shared_server(), url.rpartition("/")[2]
    jobs = tuple(NewJob(id=f"j{n}", queue="q", task="t", payload=b"{}") for n in range(10))
    driver.run(plan_for(driver, Enqueue(jobs=jobs)))
    look = statement("claim_look", {"queue": "q", "place": 0}).decode()
    look = look.partition("INTO @")[0].replace("@oxmill_now", "1000000")

    rows = server.ask(f"EXPLAIN {look}", name)

    told = {
        row[2]: row[-1] for row in rows if row[5] in ("oxmill_jobs_shelf", "oxmill_jobs_expiry")
    }
    assert told == dict.fromkeys("dle", "Using index condition")
