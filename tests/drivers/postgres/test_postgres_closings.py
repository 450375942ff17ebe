"""Flows that ended by their last steps go when their time is over: they are listed together, and each is looked
at before it goes."""

import pytest
from asking import SECOND, do, settle
from private_postgres import schema_url

import flow_load
from oxmill.drivers.postgres.address import parse
from oxmill.drivers.postgres.driver import open_postgres
from oxmill.drivers.sql.ledger import KEEP_FAILED, KEEP_SUCCEEDED
from oxmill.model.flow import NewFlow
from oxmill.model.info import Prune
from oxmill.model.job import Enqueue
from oxmill.model.query import Filter, Redrive
from oxmill.model.settlement import Outcome

START = 1_700_000_000 * SECOND
FLOWS = 20


@pytest.fixture
def clock():
    return [START]


@pytest.fixture
def driver(postgres_server, clock):
    driver = open_postgres(schema_url(), doorbell=False, clock=lambda: clock[0])
    yield driver
    driver.close()


@pytest.fixture
def told(driver):
    """The rows of a statement."""

    def ask(sql):
        link = driver.transport._pool.take()
        try:
            cursor = link.connection.execute(
                sql.replace("oxmill.", f"{parse(driver.url).schema}."), prepare=False
            )
            return cursor.fetchall() if cursor.description else []
        finally:
            driver.transport._pool.give_back(link)

    return ask


def run_all(driver):
    leases = do(driver, flow_load.claim(FLOWS)).jobs
    flow_load.turn(driver, flow_load.steps(leases, last=True))
    return leases


def rows_of(told):
    """How long which flows are kept."""
    rows = told("SELECT prune_at - ended_at, flows FROM oxmill.closings")
    return {(keep, tuple(names)) for keep, names in rows}


def flows(told):
    return {row[0] for row in told("SELECT id FROM oxmill.flows")}


@pytest.fixture
def ended(driver):
    flow_load.start_pipelines(driver, FLOWS)
    run_all(driver)
    return {f"p{number}" for number in range(FLOWS)}


@pytest.fixture
def stumbled(driver):
    """Two flows have ended, of which one has a job that failed."""
    flow_load.start_pipelines(driver, 2)
    more = flow_load.job("p1.7", flow="p1")
    do(driver, Enqueue(jobs=(more,), flow=NewFlow(id="p1", name="p")))
    *firsts, failing = do(driver, flow_load.claim(3)).jobs
    settle(driver, failing, Outcome.FAIL)
    flow_load.turn(driver, flow_load.steps(firsts, last=True))


def test_one_row_tells_of_all_that_a_turn_has_ended(ended, told):
    ((prune_at, ended_at, names),) = told("SELECT prune_at, ended_at, flows FROM oxmill.closings")

    assert (prune_at, ended_at) == (START + KEEP_SUCCEEDED, START)
    assert set(names) == ended
    assert told("SELECT count(*) FROM oxmill.flows WHERE prune_at IS NOT NULL") == [(0,)]


def test_they_stay_until_then_and_go_in_parts(driver, clock, ended, told):
    clock[0] = START + KEEP_SUCCEEDED - 1
    assert do(driver, Prune()).jobs == 0

    clock[0] += 1
    assert (pruned := do(driver, Prune(limit=FLOWS - 5))).jobs == FLOWS - 5
    assert pruned.more
    assert len(flows(told)) == 5
    assert do(driver, Prune()).jobs == 5
    assert flows(told) == set()
    do(driver, Prune())
    assert told("SELECT count(*) FROM oxmill.closings") == [(0,)]


def test_one_that_went_on_since_has_a_time_of_its_own(driver, clock, stumbled, told):
    assert rows_of(told) == {(KEEP_SUCCEEDED, ("p0",)), (KEEP_FAILED, ("p1",))}
    clock[0] = again = START + KEEP_FAILED - 1
    do(driver, Redrive(filter=Filter(ids=("p1.7",))))
    run_all(driver)

    clock[0] = again + KEEP_SUCCEEDED - 1
    do(driver, Prune())
    assert flows(told) == {"p1"}
    clock[0] += 1
    do(driver, Prune())
    assert flows(told) == set()


def test_one_that_runs_again_stays(driver, clock, stumbled, told):
    do(driver, Redrive(filter=Filter(ids=("p1.7",))))

    clock[0] = START + 2 * KEEP_FAILED
    do(driver, Prune())
    do(driver, Prune())

    assert flows(told) == {"p1"}
    assert rows_of(told) == set()


def test_what_the_last_version_has_ended_goes_in_order_with_the_rest(driver, clock, ended, told):
    told(
        f"UPDATE oxmill.flows SET prune_at = {START + KEEP_SUCCEEDED - 1} WHERE id IN ('p7', 'p8')"
    )

    clock[0] = START + KEEP_SUCCEEDED
    assert do(driver, Prune(limit=2)).jobs == 2
    assert flows(told) == ended - {"p7", "p8"}
    do(driver, Prune())
    assert flows(told) == set()


def test_flows_that_are_gone_do_not_stand_in_the_way(driver, clock, told):
    for number in range(FLOWS):
        flow_load.start_pipelines(driver, 1, first=number)
        run_all(driver)
        clock[0] += 1
    told("UPDATE oxmill.closings SET flows = array_fill('gone'::text, ARRAY[9]) || flows")
    clock[0] += KEEP_SUCCEEDED

    pruned = [do(driver, Prune(limit=4)) for _ in range(FLOWS // 4 + 1)]

    assert [each.jobs for each in pruned] == [4] * (FLOWS // 4) + [0]
    assert [each.more for each in pruned] == [True] * (FLOWS // 4 - 1) + [False] * 2
    assert rows_of(told) == set()
