"""Gates on a server that many use at once: limits hold exactly, nothing gets stuck, and claims cost the
same whatever stands behind closed gates."""

import threading

import pytest
from asking import claim, do, enqueue, job
from private_postgres import FAST, Server, clean_url
from test_postgres_plans import nodes, watched

from gate_storm import STORMS, weather
from oxmill.drivers.postgres.driver import open_postgres
from oxmill.model.job import Enqueue
from oxmill.model.rule import PutRules, Rule, RuleKey, RuleKind, Scope
from oxmill.model.settings import PutSettings, QueueSettings
from oxmill.model.settlement import Outcome, Settle, Settlement
from oxmill.store.roles.installing import Migrate
from oxmill.testing.operations import plan_for

MANY = 100_000
JOBS = """
INSERT INTO oxmill.jobs (
    seq, place, id, due_at, enqueued_at, priority, max_attempts, crash_limit, queue, task, state,
    payload, group_name, aside
)
SELECT
    n, n, 'old-' || n, 1, 1, 0, 20, 3, 'q', 'slow', 'waiting', '\\x7b7d', {group}, {aside}
FROM generate_series(1, {many}) AS n
"""
LANES = """
INSERT INTO oxmill.lanes (group_name, queue, priority, turn, opens_at)
SELECT group_name, queue, priority, place, {opens_at} FROM oxmill.jobs WHERE group_name IS NOT NULL
"""


@pytest.mark.parametrize("name", STORMS)
def test_limits_hold_and_nothing_is_stuck(name):
    url = clean_url()

    weather(lambda: open_postgres(url, doorbell=False), name, jobs=300)


@pytest.fixture
def gated():
    """A server whose plans can be watched, with an empty store."""
    server = Server(**FAST, autovacuum="off").start()
    driver = open_postgres(server.url, doorbell=False)
    do(driver, Migrate())
    driver.close()
    yield server
    server.stop()


def fill(server, *, group="NULL", aside="NULL", opens_at=None):
    server.ask(JOBS.format(many=MANY, group=group, aside=aside))
    server.ask(f"SELECT setval('oxmill.numbers', {MANY + 1_000})")
    if opens_at is not None:
        server.ask(LANES.format(opens_at=opens_at))


def fresh(driver):
    jobs = tuple(job(f"new-{n}", group=f"fresh-{n}") for n in range(20))
    do(driver, Enqueue(jobs=jobs))


def claim_and_settle(driver, watching, most=1_000):
    """Both look at few rows."""
    with watching() as plans:
        leases = claim(driver, 10)
        check(plans, most)
    assert len(leases) == 10
    items = tuple(
        Settlement(id=each.id, token=each.token, outcome=Outcome.COMPLETE) for each in leases
    )
    with watching() as plans:
        do(driver, Settle(items=items))
        check(plans, most)
    return [each.id for each in leases]


def check(plans, most):
    """Nothing reads many rows or index entries of jobs, lanes or what is set aside."""
    looked = 0
    for message in plans:
        for node in nodes(message):
            if node.get("Relation Name") in {"jobs", "lanes", "lane_news", "asides", "meters"}:
                looked += 1
                loops = node.get("Actual Loops", 1)
                rows = (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * loops
                assert node["Node Type"] != "Seq Scan", node["Query"]
                assert rows <= most, (node.get("Index Name"), node["Query"])
            if node["Node Type"] in {"Sort", "Hash"}:
                assert node["Actual Rows"] <= most, node["Query"]
    assert looked, "nothing was planned: is auto_explain there?"


@pytest.mark.parametrize("statistics", [False, True])
def test_claims_do_not_look_at_parked_lanes(gated, statistics):
    fill(gated, group="'group-' || n", opens_at=2**62)
    with watched(gated) as (driver, watching):
        do(driver, PutSettings(queue="other", settings=QueueSettings(group_concurrency=1)))
        fresh(driver)
        if statistics:
            gated.ask("ANALYZE")

        assert claim_and_settle(driver, watching) == [f"new-{n}" for n in range(10)]


def test_claims_do_not_look_at_jobs_set_aside(gated):
    fill(gated, aside="'pause:task:slow'")
    gated.ask(f"INSERT INTO oxmill.asides VALUES ('pause:task:slow', 'q', {2**62})")
    with watched(gated) as (driver, watching):
        do(driver, PutRules(set=(Rule(kind=RuleKind.PAUSE, target="slow", scope=Scope.TASK),)))
        gated.ask(f"UPDATE oxmill.asides SET opens_at = {2**62}")
        fresh(driver)

        assert claim_and_settle(driver, watching) == [f"new-{n}" for n in range(10)]


@pytest.mark.parametrize("statistics", [False, True])
def test_claims_do_not_look_at_groups_whose_turn_it_is_not(gated, statistics):
    fill(gated, group="'group-' || n", opens_at=0)
    limits = QueueSettings(concurrency=1_000, group_concurrency=2, group_rate="5/s")
    with watched(gated) as (driver, watching):
        do(driver, PutSettings(queue="q", settings=limits))
        if statistics:
            gated.ask("ANALYZE")

        assert claim_and_settle(driver, watching) == [f"old-{n}" for n in range(1, 11)]


def test_a_rule_changes_only_while_no_claim_looks(postgres_server):
    """A lane that is parked because of a rule must not miss the end of that rule."""
    url = clean_url()
    driver, schema = open_postgres(url, doorbell=False), url.partition("schema=")[2]
    key = RuleKey(kind=RuleKind.PAUSE, target="g", scope=Scope.GROUP)
    do(driver, PutRules(set=(Rule(kind=RuleKind.PAUSE, target="g", scope=Scope.GROUP),)))
    lifted = threading.Event()

    def lift():
        do(driver, PutRules(lift=(key,)))
        lifted.set()

    with postgres_server.client() as claim_under_way:
        claim_under_way.autocommit = False
        claim_under_way.execute(f"SELECT {schema}.hold_gates(ARRAY['q'])")
        thread = threading.Thread(target=lift)
        thread.start()
        assert not lifted.wait(0.5)
        claim_under_way.rollback()
    thread.join(20)
    assert lifted.is_set()
    driver.close()


def test_an_open_transaction_with_a_grouped_job_holds_nobody_up(postgres_server):
    """Neither claims nor enqueues of the same group wait for a caller who takes his time."""
    url = clean_url()
    driver = open_postgres(url, doorbell=False)
    enqueue(driver, "a", group="g")
    with postgres_server.client() as caller:
        caller.autocommit = False
        plan = plan_for(driver, Enqueue(jobs=(job("mine", group="g"), job("new", group="h"))))
        driver.borrowing.run(caller, plan, ring=False)
        enqueue(driver, "b", group="g")
        enqueue(driver, "c", group="h")

        assert [each.id for each in claim(driver, 9)] == ["a", "c", "b"]
        assert claim(driver, 9, nonce=2) == ()
        caller.commit()

    assert {each.id for each in claim(driver, 9, nonce=3)} == {"mine", "new"}
    driver.close()
