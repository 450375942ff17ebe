"""What a statement locks where there is little: on small tables the server would rather look through all of
it, and wait for whatever others have there."""

import pytest
from private_mysql import shared_server

from oxmill.drivers.mysql.driver import open_mysql
from oxmill.drivers.mysql.statements import statement
from oxmill.model.claim import Claim
from oxmill.model.job import Enqueue, NewJob
from oxmill.testing.operations import plan_for

NUMBERS = str(list(range(1, 101)))
NAMES = '["a", "b", "c"]'
DROPS = {
    "drop_news": {"numbers": NUMBERS},
    "drop_ripples": {"numbers": NUMBERS},
    "drop_nodes": {"seqs": NUMBERS},
    "drop_edges": {"seqs": NUMBERS},
    "drop_closing": {"ids": NAMES},
    "drop_flows": {"ids": NAMES},
    "drop_flow_fields": {"ids": NAMES},
    "drop_flow_stages": {"ids": NAMES},
    "drop_flow_state": {"ids": NAMES},
    "drop_stages": {"names": NAMES},
    "drop_attempts": {"jobs": NUMBERS},
    "delete_jobs": {"seqs": NUMBERS},
    "fold_drop": {},
}


@pytest.fixture
def driver():
    driver = open_mysql(shared_server().database(), doorbell=False)
    yield driver
    driver.close()


def do(driver, request):
    return driver.run(plan_for(driver, request))


def enqueue(driver, number):
    jobs = [
        NewJob(id=f"j{n}", queue="q", task="t", payload=b"{}", group=f"g{n}") for n in range(number)
    ]
    do(driver, Enqueue(jobs=tuple(jobs)))


def claim():
    return Claim(queues=("q",), limit=10, lease=60_000_000, worker="w", nonce=1)


def test_news_that_are_not_committed_yet_keep_nobody_from_claiming(driver):
    enqueue(driver, 20)
    with shared_server().client(driver.url.rpartition("/")[2]) as other:
        other.begin()
        other.query("INSERT INTO oxmill_lane_news (queue, group_name) VALUES ('q', 'g1')")

        claimed = do(driver, claim())

        other.rollback()
    assert len(claimed.jobs) == 10


def test_what_is_deleted_is_found_by_its_key(driver):
    enqueue(driver, 20)

    for name, parameters in DROPS.items():
        text = statement(name, parameters).decode()
        text = text.replace("@oxmill_chosen", f"'{NUMBERS}'")
        _, (*_, access, _, key, _, _, _, _) = shared_server().ask(
            f"EXPLAIN {text}", driver.url.rpartition("/")[2]
        )
        assert access in {"ref", "eq_ref"}, name
        assert key is not None, name
