"""Flows while processes and the server are killed: nothing hangs, and each join fires once."""

import threading
import time
from itertools import count

import pytest
from private_redis import Server
from redis_load import SECOND, UNSURE, claim, do, eventually, job, settle

from chaos.flow_kills import KilledProcesses, KilledServers, zygote
from oxmill.drivers.redis.driver import open_redis
from oxmill.model.flow import FlowStatus, FlowStep, ListFlows, NewFlow
from oxmill.model.info import Sweep
from oxmill.model.job import Enqueue
from oxmill.model.query import Filter, Find
from oxmill.model.settlement import Ruling
from oxmill.model.state import State

__all__ = ["zygote"]

CHILDREN = 4
KILLS = 3


@pytest.fixture
def store(redis_server, tmp_path):
    return {"url": f"{redis_server.url}?namespace={tmp_path.name}", "mode": "process"}


@pytest.fixture(scope="module")
def mortal(tmp_path_factory):
    # What is written outlives the server's process without any waits for the disk. With everysec it does not
    # where a sync is under way: the server holds the write back and answers all the same (decision 30).
    path = tmp_path_factory.mktemp("redis")
    server = Server(path, "--appendonly", "yes", "--appendfsync", "no").start()
    yield server, {"url": server.url, "mode": "process"}
    server.stop()


class TestKilled(KilledProcesses, KilledServers):
    pass


class Fans:
    """Threads that begin flows, fan out, run children, and go on when these have ended."""

    def __init__(self, driver):
        self.driver = driver
        self.stop = threading.Event()
        self.begun = []
        self.resumed = {}
        self.surprises = []
        self.nonces = count(1)
        targets = (self._begin, self._work, self._work, self._sweep)
        self.threads = [threading.Thread(target=self._guard, args=(t,)) for t in targets]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *exc):
        self.stop.set()
        for thread in self.threads:
            thread.join(60)

    def _guard(self, target):
        try:
            while not self.stop.is_set():
                try:
                    target()
                except UNSURE:
                    time.sleep(0.02)
        except Exception as error:
            self.surprises.append(error)

    def _begin(self):
        name = f"f{time.monotonic_ns()}"
        request = Enqueue(
            jobs=(
                job(name, flow=name, crash_limit=1_000),
                job(f"{name}.last", flow=name, after=(name,), crash_limit=1_000),
            ),
            flow=NewFlow(id=name, name="fan"),
        )
        eventually(lambda: do(self.driver, request))
        self.begun.append(name)
        time.sleep(0.005)

    def _sweep(self):
        do(self.driver, Sweep())
        time.sleep(0.05)

    def _work(self):
        for lease in claim(self.driver, 5, nonce=next(self.nonces), lease=2 * SECOND):
            self.run(lease)

    def run(self, lease):
        """One job: a first run fans out, a continuation and all others just end."""
        step = None
        if "." not in lease.id and lease.resume is None:
            children = (job(f"{lease.id}.{n}", crash_limit=1_000) for n in range(CHILDREN))
            step = FlowStep(spawn=tuple(children), merge={"n": b"1"}, resume="gather")
        elif lease.resume is not None:
            assert len(lease.joined) == CHILDREN
            states = eventually(lambda: do(self.driver, Find(filter=Filter(ids=lease.joined))).jobs)
            assert {each.state for each in states} == {State.SUCCEEDED}
        answer = eventually(lambda: settle(self.driver, lease, flow=step))
        if answer.ruling is Ruling.WON and lease.resume is not None:
            self.resumed.setdefault(lease.id, set()).add(lease.token)


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a_killed_server_leaves_no_join_behind(own):
    server = own("--appendonly", "yes", "--appendfsync", "always")
    driver = open_redis(server.url)
    with Fans(driver) as fans:
        for _ in range(KILLS):
            before, deadline = len(fans.begun), time.monotonic() + 15
            while len(fans.begun) < before + 15 and time.monotonic() < deadline:
                time.sleep(0.01)
            server.kill()
            server.start()
    assert fans.surprises == []
    assert len(fans.begun) >= 15 * KILLS
    deadline = time.monotonic() + 60
    while eventually(lambda: do(driver, ListFlows(status=FlowStatus.RUNNING, limit=1))).items:
        assert time.monotonic() < deadline, "a flow hangs"
        leases = eventually(lambda: claim(driver, 50, nonce=next(fans.nonces)))
        for lease in leases:
            fans.run(lease)
        if not leases:
            eventually(lambda: do(driver, Sweep()))
            time.sleep(0.1)

    flows, cursor = {}, None
    while True:
        page = do(driver, ListFlows(limit=500, after=cursor))
        flows |= {each.id: each for each in page.items}
        cursor = page.next
        if cursor is None:
            break
    assert set(fans.begun) <= flows.keys()
    assert {each.status for each in flows.values()} == {FlowStatus.SUCCEEDED}
    assert {each.counts[State.SUCCEEDED] for each in flows.values()} == {CHILDREN + 2}
    assert {len(tokens) for tokens in fans.resumed.values()} == {1}
    driver.close()
