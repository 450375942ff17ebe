"""An old snapshot keeps the server from clearing up; claims go on all the same."""

import psycopg
import pytest
from asking import SECOND, do, enqueue, job
from private_postgres import schema_url

from oxmill.drivers.postgres.driver import open_postgres
from oxmill.drivers.postgres.floors import Floors
from oxmill.model.claim import Claim
from oxmill.model.job import Enqueue

GONE = 20_000
ROWS = """
INSERT INTO jobs (
    seq, place, id, due_at, enqueued_at, priority, max_attempts, crash_limit, queue, task, state,
    payload
)
SELECT n, n, 'old-' || n, 1, 1, 0, 20, 3, 'q', 't', 'waiting', ''
FROM generate_series(1, $MANY) AS n
"""


@pytest.fixture
def held(postgres_server):
    """A store with many jobs claimed while a transaction is open that began before."""
    driver = open_postgres(schema_url(), doorbell=False)
    schema = driver.url.partition("schema=")[2]
    enqueue(driver, "first", queue="other")
    with postgres_server.client() as client, psycopg.connect(postgres_server.url) as old:
        client.execute(f"SET search_path = {schema}")
        client.execute("DELETE FROM jobs")
        client.execute(ROWS.replace("$MANY", str(GONE + 2_000)))
        client.execute(f"SELECT setval('numbers', {GONE + 2_000})")
        old.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        old.execute(f"SELECT count(*) FROM {schema}.jobs")
        client.execute(f"UPDATE jobs SET state = 'succeeded' WHERE seq <= {GONE}")
        yield driver
    driver.close()


def claim(driver, nonce, limit=20, queues=("q",)):
    request = Claim(queues=queues, limit=limit, lease=60 * SECOND, worker="w", nonce=nonce)
    return [each.id for each in do(driver, request).jobs]


@pytest.fixture
def ways(monkeypatch):
    """How many entries each claim stepped over: in its line, and for what to tend to."""
    steps = []
    learn = Floors.learn

    def learning(self, queues, granted, entries):
        steps.append(entries)
        learn(self, queues, granted, entries)

    monkeypatch.setattr(Floors, "learn", learning)
    return steps


@pytest.mark.parametrize("queues", [("q",), ("q", "r")], ids=["one queue", "two queues"])
def test_claims_do_not_step_over_the_dead_again_and_again(held, ways, queues):
    held.claiming._floors = Floors(clock=lambda: 1.0)

    got = [name for nonce in range(1, 21) for name in claim(held, nonce, queues=queues)]

    assert got == [f"old-{n}" for n in range(GONE + 1, GONE + 401)]
    assert [line > GONE for line, _ in ways] == [True, True] + [False] * 18
    assert max(line for line, _ in ways[2:]) < 100


def test_the_whole_line_is_looked_at_again_after_a_moment(held, ways):
    now = [1.0]
    held.claiming._floors = Floors(clock=lambda: now[0])
    for nonce in range(1, 4):
        claim(held, nonce)

    do(held, Enqueue(jobs=(job("urgent", priority=-1),)))
    passed_by = claim(held, 4)
    now[0] += 1.5
    after = claim(held, 5)

    assert "urgent" not in passed_by, "the price: for a moment only"
    assert after[0] == "urgent"
    assert [line > GONE for line, _ in ways] == [True, True, False, False, True]


def test_a_claim_that_gets_too_few_looks_at_the_whole_line(held):
    held.claiming._floors = Floors(clock=lambda: 1.0)
    for nonce in range(1, 4):
        claim(held, nonce)
    do(held, Enqueue(jobs=(job("urgent", priority=-1),)))

    rest = claim(held, 4, limit=1_000)
    rest += claim(held, 5, limit=1_000)

    assert "urgent" in rest
    assert len(rest) == len(set(rest)) == 2_000 - 60 + 1


def test_a_long_way_that_could_be_cleared_changes_nothing():
    """Once is not enough: the first claim after a purge steps over what no one else will."""
    floors = Floors(clock=lambda: 1.0)
    floors.learn(("q",), [], (GONE, 0))
    assert floors.under(("q",))["places"] is None
    floors.learn(("q",), [], (10, 0))
    floors.learn(("q",), [], (GONE, 0))
    assert floors.under(("q",))["places"] is None


def test_what_to_tend_to_is_left_for_a_moment_when_the_way_to_it_is_long():
    now = [1.0]
    floors = Floors(clock=lambda: now[0])
    floors.learn(("q",), [], (0, GONE))
    assert not floors.under(("q",))["tending"]
    now[0] += 1.5
    assert floors.under(("q",))["tending"]
    floors.learn(("q",), [], (0, 0))
    assert floors.under(("q",)) == {"priorities": None, "places": None, "tending": True}
