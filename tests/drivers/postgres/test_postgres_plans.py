"""At a million waiting and a million finished jobs, and 100,000 running ones, every step goes through an
index, and nothing is sorted but the batch itself."""

import json
from contextlib import contextmanager

import pytest
from asking import SECOND, claim, do, enqueue, job, settle
from private_postgres import FAST, Server

from oxmill.drivers.postgres.driver import open_postgres
from oxmill.model.bounds import Bounds
from oxmill.model.claim import Claim, Renew, Renewal
from oxmill.model.info import ListQueues, Prune, Sweep
from oxmill.model.job import Enqueue
from oxmill.model.query import Cancel, Filter, Find, Get
from oxmill.model.settlement import Outcome, Settle, Settlement
from oxmill.model.state import State
from oxmill.store.plan import together
from oxmill.testing.operations import plan_for

MILLION = 1_000_000
BATCH = 50
CLEANUP = Bounds().cleanup_jobs
PLANS = {
    "session_preload_libraries": "auto_explain",
    "auto_explain.log_min_duration": 0,
    "auto_explain.log_nested_statements": "on",
    "auto_explain.log_format": "json",
    "auto_explain.log_analyze": "on",
    "auto_explain.log_timing": "off",
    "client_min_messages": "log",
}
ROWS = """
INSERT INTO oxmill.jobs (
    seq, place, id, due_at, enqueued_at, priority, max_attempts, crash_limit, queue, task, state,
    payload, attempt, ended_at, prune_at, last_outcome
)
SELECT
    n, n, 'job-' || n, 1, 1, n % 3, 20, 3, CASE WHEN n % 100 = 1 THEN 'r' ELSE 'q' END, 't',
    CASE WHEN n % 4 < 2 THEN 'waiting' ELSE 'succeeded' END, '\\x7b7d', 0,
    CASE WHEN n % 4 >= 2 THEN 1 END, CASE WHEN n % 4 >= 2 THEN 9000000000000000 END, NULL
FROM generate_series(1, $MANY) AS n
"""
RUNNING = """
INSERT INTO oxmill.jobs (
    seq, place, id, due_at, enqueued_at, priority, max_attempts, crash_limit, queue, task, state,
    payload, attempt, lease, lease_until
)
SELECT
    $MANY + n, $MANY + n, 'run-' || n, 1, 1, 0, 20, 3, 'busy', 't', 'running', '\\x7b7d', 1,
    8000000000000000, 9000000000000000 - n
FROM generate_series(1, 100000) AS n
"""


@pytest.fixture
def big():
    """A server with two million jobs, filled while it had no indexes."""
    settings = FAST | {"autovacuum": "off", "shared_buffers": "512MB", "max_wal_size": "8GB"}
    settings |= {"wal_level": "minimal", "max_wal_senders": 0, "maintenance_work_mem": "512MB"}
    server = Server(**settings).start()
    driver = open_postgres(server.url, doorbell=False)
    enqueue(driver, "first", queue="other")
    driver.close()
    with server.client() as client:
        indexes = client.execute(
            "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'oxmill'"
            " AND tablename = 'jobs' AND indexname <> 'jobs_pkey'"
        ).fetchall()
        client.execute("ALTER TABLE oxmill.jobs DROP CONSTRAINT jobs_pkey")
        for name, _ in indexes:
            client.execute(f"DROP INDEX oxmill.{name}")
        client.execute("DELETE FROM oxmill.jobs")
        for rows in (ROWS, RUNNING):
            client.execute(rows.replace("$MANY", str(2 * MILLION)))
        client.execute("ALTER TABLE oxmill.jobs ADD CONSTRAINT jobs_pkey PRIMARY KEY (seq)")
        for _, definition in indexes:
            client.execute(definition)
        client.execute(f"SELECT setval('oxmill.numbers', {3 * MILLION})")
    yield server
    server.stop()


@contextmanager
def watched(server):
    """A driver, and what its server plans."""
    options = "%20".join(f"-c%20{name}={value}" for name, value in PLANS.items())
    driver = open_postgres(f"{server.url}?pool=1&options={options}", doorbell=False)
    do(driver, Get(ids=("none",)))
    plans = []
    link = driver.transport._pool.take()
    link.connection.add_notice_handler(lambda notice: plans.append(notice.message_primary))
    driver.transport._pool.give_back(link)

    @contextmanager
    def watching():
        plans.clear()
        yield plans

    yield driver, watching
    driver.close()


def nodes(message):
    """Every node of a plan that was told."""
    head, brace, text = message.partition("{")
    if not brace or "plan:" not in head:
        return
    told = json.loads(brace + text)
    todo = [told["Plan"] | {"Query": told["Query Text"]}]
    while todo:
        node = todo.pop()
        todo += [each | {"Query": node["Query"]} for each in node.get("Plans", [])]
        yield node


def check(plans, batch, *through):
    """Jobs are reached by these indexes at least, and in no way but by an index or where they stand; no
    node reads or sorts more than a batch, given as so many rows."""
    seen = set()
    for message in plans:
        for node in nodes(message):
            kind, loops = node["Node Type"], node.get("Actual Loops", 1)
            rows = (node.get("Actual Rows", 0) + node.get("Rows Removed by Filter", 0)) * loops
            rows += node.get("Rows Removed by Index Recheck", 0) * loops
            told = (kind, node.get("Index Name"), rows, node["Query"])
            if node.get("Relation Name") == "jobs" and kind != "ModifyTable":
                seen.add(node.get("Index Name"))
                assert kind in {"Index Scan", "Index Only Scan", "Tid Scan"}, told
                assert rows <= batch, told
            if "Sort" in kind or kind in {"Hash", "Bitmap Heap Scan"}:
                assert rows <= batch, told
    assert seen, "nothing was planned: is auto_explain there?"
    assert seen.issuperset(through), seen


def test_every_step_goes_through_an_index(big):
    """Before the server has statistics about its tables, and after."""
    for statistics in (False, True):
        if statistics:
            big.ask("ANALYZE")
        with watched(big) as (driver, watching):
            hot_path(driver, watching)
            upkeep(driver, watching)
            looking(driver, watching)
            steering(driver, watching, f"new-{statistics}")
            taking_turns(driver, watching, f"lone-{statistics}")


def hot_path(driver, watching):
    with watching() as plans:
        leases = claim(driver, BATCH, nonce=11)
        check(plans, BATCH, "jobs_claim")
    assert len(leases) == BATCH
    with watching() as plans:
        more = claim(driver, BATCH, nonce=12, queues=("q", "r", "none"))
        # The heads of two lines are merged.
        check(plans, 2 * BATCH, "jobs_claim")
    ranks = [(lease.priority, int(lease.id[4:])) for lease in more]
    assert ranks == sorted(ranks)
    with watching() as plans:
        renewals = tuple(Renewal(id=lease.id, token=lease.token) for lease in leases)
        do(driver, Renew(items=renewals, lease=60 * SECOND))
        check(plans, BATCH, "jobs_id")
    items = tuple(
        Settlement(id=lease.id, token=lease.token, outcome=Outcome.COMPLETE) for lease in leases
    )
    with watching() as plans:
        settling = plan_for(driver, Settle(items=items))
        request = Claim(queues=("q",), limit=BATCH, lease=60 * SECOND, worker="w", nonce=13)
        driver.run(together(settling, plan_for(driver, request)))
        # Counts are gathered twice from what was settled.
        check(plans, 2 * BATCH, "jobs_id", "jobs_claim")
    with watching() as plans:
        settle(driver, more[0], Outcome.RETRY, delay=1)
        settle(driver, more[1], Outcome.FAIL)
        check(plans, BATCH, "jobs_id")


def upkeep(driver, watching):
    with watching() as plans:
        claim(driver, 5, nonce=21, lease=1)
        do(driver, Sweep())
        claim(driver, 5, nonce=22)
        # Up to so many leases of a queue are looked at; few run in the others.
        check(plans, 2 * CLEANUP, "jobs_lease", "jobs_due", "jobs_expiry")
    with watching() as plans:
        do(driver, Prune())
        check(plans, CLEANUP, "jobs_prune")


def looking(driver, watching):
    with watching() as plans:
        do(driver, Get(ids=("job-1", "job-2")))
        do(driver, ListQueues())
        do(driver, ListQueues(queues=("q",), place_of="job-900000"))
        do(driver, Find(filter=Filter(queues=("q",)), limit=20))
        do(driver, Find(filter=Filter(states=(State.SUCCEEDED,)), limit=20))
        check(plans, 30_000)


def steering(driver, watching, name):
    do(driver, Enqueue(jobs=(job(name),)))
    with watching() as plans:
        do(driver, Enqueue(jobs=(job(name), job(f"{name}-2", fields={"a": 1}))))
        do(driver, Cancel(filter=Filter(ids=(name,))))
        check(plans, BATCH, "jobs_id")


def taking_turns(driver, watching, name):
    """Jobs without a group are a group like any: nearly a million of them hold up no other."""
    do(driver, Enqueue(jobs=(job(name, group=name),)))
    with watching() as plans:
        assert name in [lease.id for lease in claim(driver, 2, nonce=31)]
        check(plans, 2 * BATCH, "jobs_claim", "jobs_lane")
