"""When the doorbell looks, by a clock of the test's own."""

from types import SimpleNamespace

import pytest
from private_mysql import shared_server

from oxmill.drivers.mysql import watching
from oxmill.drivers.mysql.doorbell import MysqlDoorbell
from oxmill.drivers.mysql.driver import open_mysql
from oxmill.drivers.mysql.watching import LATEST, LEAST, LOOK, Watching
from oxmill.model.claim import Claim
from oxmill.model.job import Enqueue, NewJob
from oxmill.model.settlement import Settle
from oxmill.store.plan import together


class Server:
    """Tells when it was asked; each look takes as long as it is told."""

    takes_blocks = False

    def __init__(self, clock):
        self.clock = clock
        self.took = 0.0
        self.asked = []

    def ask_again(self, _):
        self.asked.append(self.clock.now)
        self.clock.now += self.took
        return [SimpleNamespace(rows=[(0, None)])]


class Clock:
    def __init__(self):
        self.now = 100.0
        self.meanwhile = lambda: None

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        assert seconds >= 0
        self.now += seconds
        self.meanwhile()


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(watching, "time", clock)
    return clock


def gaps(server):
    return [after - before for before, after in zip(server.asked, server.asked[1:], strict=False)]


def looks(server, claimed_at=lambda: 0.0):
    looking = Watching(server, claimed_at)
    for _ in range(5):
        looking.changed()
    return gaps(server)


@pytest.mark.parametrize("took", [0.0, 0.001, LOOK - LEAST])
def test_looks_are_as_far_apart_however_long_they_take(clock, took):
    server = Server(clock)
    server.took = took

    assert looks(server) == pytest.approx([LOOK] * 4)


def test_a_slow_server_is_left_alone_between_two_looks(clock):
    server = Server(clock)
    server.took = 1.0

    assert looks(server) == pytest.approx([1.0 + LEAST] * 4)


def test_a_claim_is_a_look(clock):
    server, claims = Server(clock), [0.0]
    looking = Watching(server, lambda: claims[-1])
    looking.changed()
    claims.append(clock.now + 0.004)

    looking.changed()
    looking.changed()

    assert gaps(server) == pytest.approx([0.004 + LOOK, LOOK])


def test_a_process_that_claims_all_the_time_looks_all_the_same(clock):
    server = Server(clock)

    assert looks(server, clock.monotonic) == pytest.approx([LATEST] * 4)
    assert LATEST < 0.05


def test_the_doorbell_is_told_of_claims_and_of_nothing_else(monkeypatch):
    told = []
    monkeypatch.setattr(MysqlDoorbell, "claimed", lambda _, at: told.append(at))
    driver = open_mysql(shared_server().database())
    job = NewJob(id="job", queue="q", task="t", payload=b"{}")
    claim = Claim(queues=("q",), limit=1, lease=60_000_000, worker="w", nonce=1)
    settle = driver.settling.settle(Settle(items=()))
    try:
        driver.run(driver.enqueueing.enqueue(Enqueue(jobs=(job,))))
        driver.run(settle)
        assert told == []

        driver.run(driver.claiming.claim(claim))
        assert len(told) == 1

        driver.run(together(settle, driver.claiming.claim(claim)))
        assert len(told) == 2
        assert told[0] < told[1]
    finally:
        driver.close()
