"""How often the server plans: a turn that it knows already is planned once, where it is called."""

import pytest
from asking import SECOND, do, job
from private_postgres import schema_url

import flow_load
from oxmill.drivers.postgres.driver import open_postgres
from oxmill.model.claim import Claim
from oxmill.model.job import Enqueue
from oxmill.model.settlement import Outcome, Settle, Settlement
from oxmill.store.plan import together
from oxmill.testing.operations import plan_for

BATCH, KNOWN = 20, 8
"""Jobs of a turn, and turns after which a session has settled on its plans."""


@pytest.fixture
def watched(postgres_server):
    """A driver with one connection, and a word for each time that its server plans."""
    options = "-c%20log_planner_stats=on%20-c%20client_min_messages=log"
    driver = open_postgres(schema_url(pool=1, options=options), doorbell=False)
    do(driver, Enqueue(jobs=(job("first", queue="other"),)))
    said = []
    link = driver.transport._pool.take()
    link.connection.add_notice_handler(lambda notice: said.append(notice.message_primary))
    driver.transport._pool.give_back(link)
    yield driver, said
    driver.close()


def turn(driver, leases, nonce):
    ends = tuple(
        Settlement(id=each.id, token=each.token, outcome=Outcome.COMPLETE) for each in leases
    )
    request = Claim(queues=("q",), limit=BATCH, lease=60 * SECOND, worker="w", nonce=nonce)
    plan = together(plan_for(driver, Settle(items=ends)), plan_for(driver, request))
    return driver.run(plan)[1].jobs


@pytest.mark.parametrize("keep", [0, None], ids=["gone", "kept"])
def test_a_turn_is_planned_once(watched, keep):
    driver, said = watched
    for number in range(KNOWN + 2):
        jobs = (job(f"{number}-{each}", keep=keep) for each in range(BATCH))
        do(driver, Enqueue(jobs=tuple(jobs)))
    leases = ()
    for nonce in range(KNOWN):
        leases = turn(driver, leases, nonce + 1)
        assert len(leases) == BATCH
    said.clear()

    assert len(turn(driver, leases, KNOWN + 1)) == BATCH

    assert said == ["PLANNER STATISTICS"]


def test_a_turn_of_steps_is_planned_once(watched):
    driver, said = watched
    flow_load.start_pipelines(driver, flow_load.BATCH)
    leases = do(driver, flow_load.claim()).jobs
    for _ in range(KNOWN):
        leases = flow_load.turn(driver, flow_load.steps(leases))
        assert len(leases) == flow_load.BATCH
    said.clear()

    assert len(flow_load.turn(driver, flow_load.steps(leases))) == flow_load.BATCH

    assert said == ["PLANNER STATISTICS"]
