"""What a worker with nothing to do asks the server, by round trips."""

import pytest
from private_mysql import shared_server

from oxmill.drivers.mysql.driver import open_mysql
from oxmill.drivers.mysql.link import Link
from oxmill.model.claim import Claim
from oxmill.model.info import Sweep
from oxmill.model.schedule import ListSchedules
from oxmill.testing.operations import plan_for


@pytest.fixture
def driver():
    driver = open_mysql(shared_server().database(), doorbell=False)
    driver.run(plan_for(driver, ListSchedules()))
    yield driver
    driver.close()


@pytest.mark.parametrize(
    ("request_", "most"),
    [
        (ListSchedules(due_only=True), 1),
        (Claim(queues=("q",), limit=10, lease=60_000_000, worker="w", nonce=1), 1),
        (Sweep(limit=100), 9),
    ],
    ids=lambda each: type(each).__name__ if not isinstance(each, int) else "",
)
def test_an_idle_look_takes_few_round_trips(driver, monkeypatch, request_, most):
    sent = []
    send = Link.send
    monkeypatch.setattr(Link, "send", lambda link, batch: sent.append(batch) or send(link, batch))

    driver.run(plan_for(driver, request_))

    assert 0 < len(sent) <= most
