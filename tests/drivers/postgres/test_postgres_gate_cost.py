"""What gates cost in PostgreSQL, counted: rows that a turn looks at, however many groups there are."""

import pytest
from asking import SECOND, claim, do, job
from private_postgres import schema_url
from test_postgres_plans import PLANS, nodes

from oxmill.drivers.postgres.driver import open_postgres
from oxmill.model.claim import Claim
from oxmill.model.job import Enqueue
from oxmill.model.settings import PutSettings, QueueSettings
from oxmill.model.settlement import Outcome, Settle, Settlement
from oxmill.store.plan import together
from oxmill.testing.operations import plan_for

BATCH, GROUPS = 50, 600
LIMITS = {
    "of the queue": QueueSettings(concurrency=GROUPS, rate="1000000/s"),
    "of groups too": QueueSettings(
        concurrency=GROUPS, rate="1000000/s", group_concurrency=3, group_rate="1000/s"
    ),
}


def turn(driver, ends, nonce):
    items = [Settlement(id=each.id, token=each.token, outcome=Outcome.COMPLETE) for each in ends]
    request = Claim(queues=("q",), limit=BATCH, lease=60 * SECOND, worker="w", nonce=nonce)
    settling = plan_for(driver, Settle(items=tuple(items)))
    _, claimed = driver.run(together(settling, plan_for(driver, request)))
    return claimed.jobs


def fill(driver, groups, each):
    names = [f"group {number}" for number in range(groups)]
    jobs = [job(f"{groups}-{name}-{n}", group=name) for n in range(each) for name in names]
    for first in range(0, len(jobs), 1_000):
        do(driver, Enqueue(jobs=tuple(jobs[first : first + 1_000])))


@pytest.mark.parametrize("limits", LIMITS)
def test_a_turn_looks_at_as_many_lanes_as_it_serves(postgres_server, limits):
    """Although its plans were made when there were few of them, and the server knew of none."""
    options = "%20".join(f"-c%20{name}={value}" for name, value in PLANS.items())
    driver = open_postgres(schema_url(pool=1, options=options), doorbell=False)
    do(driver, PutSettings(queue="q", settings=LIMITS[limits]))
    schema = driver.transport._address.schema
    postgres_server.ask(f"VACUUM ANALYZE {schema}.lanes, {schema}.meters, {schema}.jobs")
    fill(driver, 3, 4)
    ends = claim(driver, 3)
    for nonce in range(2, 8):
        ends = turn(driver, ends, nonce)
    fill(driver, GROUPS, 2)
    plans = []
    for nonce in range(8, 21):
        ends = turn(driver, ends, nonce)
    link = driver.transport._pool.take()
    link.connection.add_notice_handler(lambda notice: plans.append(notice.message_primary))
    driver.transport._pool.give_back(link)

    assert len(turn(driver, ends, 21)) == BATCH

    looked = set()
    for message in plans:
        for node in nodes(message):
            rows = node.get("Actual Rows", 0) + node.get("Rows Removed by Filter", 0)
            rows += node.get("Rows Removed by Join Filter", 0)
            told = (node["Node Type"], node.get("Index Name"), node["Query"])
            assert rows * node.get("Actual Loops", 1) <= 5 * BATCH, told
            looked.add(node.get("Relation Name"))
    assert looked >= {"jobs", "lanes", "meters"}
    driver.close()
