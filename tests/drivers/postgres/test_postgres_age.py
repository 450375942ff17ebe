"""An old snapshot keeps the server from clearing up; claims go on all the same."""

import psycopg
import pytest
from asking import SECOND, do, enqueue, job
from private_postgres import FAST, Server

from oxmill.drivers.postgres.driver import open_postgres
from oxmill.drivers.postgres.floors import Floors
from oxmill.model.claim import Claim
from oxmill.model.job import Enqueue

GONE = 60_000
ROWS = """
INSERT INTO oxmill.jobs (
    seq, place, id, due_at, enqueued_at, priority, max_attempts, crash_limit, queue, task, state,
    payload
)
SELECT n, n, 'old-' || n, 1, 1, 0, 20, 3, 'q', 't', 'waiting', ''
FROM generate_series(1, $MANY) AS n
"""


@pytest.fixture
def held():
    """A store with many jobs claimed while a transaction is open that began before."""
    server = Server(autovacuum="off", **FAST).start()
    try:
        yield from fill(server)
    finally:
        server.stop()


def fill(server):
    driver = open_postgres(server.url, doorbell=False)
    enqueue(driver, "first", queue="other")
    with server.client() as client, psycopg.connect(server.url) as old:
        client.execute("DELETE FROM oxmill.jobs")
        client.execute(ROWS.replace("$MANY", str(GONE + 2_000)))
        client.execute(f"SELECT setval('oxmill.numbers', {GONE + 2_000})")
        old.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        old.execute("SELECT count(*) FROM oxmill.jobs")
        client.execute(f"UPDATE oxmill.jobs SET state = 'succeeded' WHERE seq <= {GONE}")
        yield driver
    driver.close()


def claim(driver, nonce, limit=20, queues=("q",)):
    request = Claim(queues=queues, limit=limit, lease=60 * SECOND, worker="w", nonce=nonce)
    return [each.id for each in do(driver, request).jobs]


@pytest.mark.parametrize("queues", [("q",), ("q", "r")], ids=["one queue", "two queues"])
def test_claims_do_not_step_over_the_dead_again_and_again(held, monkeypatch, queues):
    costs, begun = [], []
    learn, under = Floors.learn, Floors.under

    def learning(self, queues, granted, cost, *, full):
        costs.append(cost)
        learn(self, queues, granted, cost, full=full)

    def beginning(self, queues):
        asked = under(self, queues)
        begun.append(asked["places"] is not None)
        return asked

    monkeypatch.setattr(Floors, "learn", learning)
    monkeypatch.setattr(Floors, "under", beginning)

    got = [name for nonce in range(1, 21) for name in claim(held, nonce, queues=queues)]

    assert got == [f"old-{n}" for n in range(GONE + 1, GONE + 401)]
    slow = [cost for cost, low in zip(costs, begun, strict=True) if not low]
    fast = [cost for cost, low in zip(costs, begun, strict=True) if low]
    assert len(fast) > len(slow), "most claims begin where the last one ended"
    assert sorted(fast)[len(fast) // 2] * 5 < min(slow)


def test_what_came_before_the_floor_is_found_within_the_moment(held):
    claim(held, 1)
    assert held.claiming._floors._floors, "the way was long"

    do(held, Enqueue(jobs=(job("urgent", priority=-1),)))
    rest = claim(held, 2, limit=1_000)
    rest += claim(held, 3, limit=1_000)

    assert "urgent" in rest, "a claim that gets too few looks at the whole line"
    assert len(rest) == len(set(rest)) == 1_981
