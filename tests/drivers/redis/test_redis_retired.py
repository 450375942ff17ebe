"""Flows that ended by their last steps go when their time is over: they are listed together, and each is looked
at before it goes."""

import pytest
from redis_load import do, settle

import flow_load
from oxmill.drivers.redis.driver import open_redis
from oxmill.model.flow import ListFlows, NewFlow
from oxmill.model.info import Prune
from oxmill.model.job import Enqueue
from oxmill.model.query import Filter, Find, Redrive
from oxmill.model.settlement import Outcome
from oxmill.testing.clock import VirtualClock

DAY = 86_400_000_000
KEEP_SUCCEEDED, KEEP_FAILED = DAY, 30 * DAY
FLOWS = 20


@pytest.fixture
def clock():
    return VirtualClock()


@pytest.fixture
def driver(redis_server, namespace, clock):
    driver = open_redis(redis_server.url, namespace=namespace, clock=clock, mode="process")
    yield driver
    driver.close()


@pytest.fixture
def retired(redis_server, namespace, driver):
    """The members by which flows are to go, with their times."""

    def look():
        with redis_server.client() as client:
            return client.zrange(f"{{{namespace}:0}}:retired", 0, -1, withscores=True)

    return look


def run_all(driver):
    leases = do(driver, flow_load.claim(FLOWS)).jobs
    flow_load.turn(driver, flow_load.steps(leases, last=True))


def flows(driver):
    return {each.id for each in do(driver, ListFlows(limit=100)).items}


@pytest.fixture
def ended(driver):
    flow_load.start_pipelines(driver, FLOWS)
    run_all(driver)


def test_one_member_tells_of_all_that_a_settlement_has_ended(ended, retired, clock):
    ((member, due),) = retired()

    assert due == clock() + KEEP_SUCCEEDED
    assert all(b"p%d" % number in member for number in range(FLOWS))


def test_they_stay_until_then_and_go_in_parts(driver, clock, ended, retired):
    clock.advance(KEEP_SUCCEEDED - 1)
    assert do(driver, Prune()).jobs == 0
    assert len(flows(driver)) == FLOWS

    clock.advance(1)
    pruned = do(driver, Prune(limit=FLOWS - 5))
    assert (pruned.jobs, pruned.more) == (FLOWS - 5, True)
    assert len(flows(driver)) == 5
    pruned = do(driver, Prune())
    assert (pruned.jobs, pruned.more) == (5, False)
    assert flows(driver) == set()
    assert do(driver, Find()).jobs == ()
    assert retired() == []


def test_more_than_one_prune_takes_go_by_and_by(driver, clock, retired):
    for first in range(0, 240, 40):
        flow_load.start_pipelines(driver, 40, first)
        leases = do(driver, flow_load.claim(40)).jobs
        flow_load.turn(driver, flow_load.steps(leases, last=True))
    clock.advance(KEEP_SUCCEEDED)

    rounds = 1
    while do(driver, Prune()).more:
        rounds += 1

    assert rounds == 5  # of 50 jobs at most
    assert flows(driver) == set()
    assert retired() == []


def test_one_that_went_on_since_has_a_time_of_its_own(driver, clock, retired):
    flow_load.start_pipelines(driver, 3)
    for name in ("p1", "p2"):
        more = flow_load.job(f"{name}.7", flow=name)
        do(driver, Enqueue(jobs=(more,), flow=NewFlow(id=name, name="p")))
    *firsts, one, two = do(driver, flow_load.claim(5)).jobs
    settle(driver, one, Outcome.FAIL)
    settle(driver, two, Outcome.FAIL)
    flow_load.turn(driver, flow_load.steps(firsts, last=True))
    assert len(retired()) == 2  # one that succeeded, two that did not

    clock.advance(KEEP_FAILED - 1)
    do(driver, Redrive(filter=Filter(ids=("p1.7",))))
    run_all(driver)
    clock.advance(1)
    do(driver, Prune())
    assert flows(driver) == {"p1"}
    clock.advance(KEEP_SUCCEEDED - 2)
    do(driver, Prune())
    assert flows(driver) == {"p1"}
    clock.advance(1)
    do(driver, Prune())
    assert flows(driver) == set()
    assert retired() == []
