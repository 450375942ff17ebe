"""What no call may do to a server, and what must go on when it is short of memory or gone silent."""

import asyncio
import re
import threading
import time
from importlib.resources import files

import pytest
from private_redis import WHEELS, program_of
from redis_load import SECOND, claim, do, enqueue, job, settle

from meddler import Meddler
from oxmill.drivers.redis import doorbell, ear
from oxmill.drivers.redis.driver import open_redis
from oxmill.drivers.redis.lane import Lane
from oxmill.drivers.redis.wire import Wire
from oxmill.errors import StoreFull
from oxmill.model.claim import ClaimIds, Renew, Renewal
from oxmill.model.info import Beat, ListQueues, ListWorkers, Prune, Sweep, WorkerInfo
from oxmill.model.job import Enqueue
from oxmill.model.query import Cancel, Filter, Find, Get
from oxmill.model.settings import PutSettings, QueueSettings
from oxmill.model.settlement import Failure, Outcome, Ruling
from oxmill.model.state import State
from oxmill.store.doorbell import work

ENDLESS = {"keys", "scan", "hscan", "sscan", "zscan", "sort", "lrange", "hkeys", "randomkey"}
"""Commands that look through everything that is there."""


def worker(name):
    return WorkerInfo(id=name, host="h", pid=1, version="1", queues=("q",), slots=1)


def day(driver):
    """One of each call of apps and workers."""
    enqueue(driver, "a", "b", "c", "d", "e", "f", "g", fields={"user": 1})
    enqueue(driver, "later", delay=60 * SECOND)
    leases = claim(driver, 3)
    items = tuple(Renewal(id=each.id, token=each.token) for each in leases)
    do(driver, Renew(items=items, lease=SECOND))
    settle(driver, leases[0])
    settle(driver, leases[1], Outcome.RETRY, delay=SECOND)
    settle(driver, leases[2], Outcome.FAIL, error=Failure(type="E", message="m"))
    do(driver, ClaimIds(ids=("e",), lease=SECOND, worker="w", nonce=7))
    do(driver, Beat(worker=worker("w"), ttl=SECOND))
    do(driver, Cancel(filter=Filter(ids=("d",))))
    do(driver, Find(filter=Filter(fields={"user": 1})))
    for request in (Sweep(), Prune(), ListQueues(), ListWorkers(), Get(ids=("a",))):
        do(driver, request)


def test_no_call_looks_through_all_keys(own):
    server = own()
    driver = open_redis(server.url)
    with server.client() as client:
        client.config_resetstat()
        day(driver)
        asked = {name.removeprefix("cmdstat_") for name in client.info("commandstats")}

    assert {"evalsha", "zadd", "hset"} <= asked
    assert asked & ENDLESS == set()
    driver.close()


def test_no_script_but_those_that_mend_can_look_through_all_keys():
    scripts = [
        each for each in files("oxmill.drivers.redis.lua").iterdir() if each.suffix == ".lua"
    ]
    called = {
        (name, command.lower())
        for name, text in ((each.name, each.read_text()) for each in scripts)
        for command in re.findall(r"'([A-Z]+)'", text)
    }

    assert len(scripts) > 40
    odd = {name for name, command in called if command in ENDLESS}
    assert {name for name in odd if not name.startswith("mend_")} == set()


def test_threads_that_ask_at_once_share_round_trips(own, monkeypatch):
    server = own()
    driver = open_redis(server.url)
    enqueue(driver, "first")
    sizes, true_exchange = [], Lane._exchange

    def exchange(lane, batch):
        sizes.append(len(batch))
        true_exchange(lane, batch)

    monkeypatch.setattr(Lane, "_exchange", exchange)
    threads = [threading.Thread(target=enqueue, args=(driver, f"job-{n}")) for n in range(100)]
    server.freeze()
    for thread in threads:
        thread.start()
    lane = next(iter(driver.transport._lanes.values()))
    deadline = time.monotonic() + 20
    while len(lane._pending) < 99:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    server.thaw()
    for thread in threads:
        thread.join(30)

    assert sizes == [1, 99]
    assert len(do(driver, Find(limit=200)).jobs) == 101
    driver.close()


async def test_tasks_that_ask_at_once_share_round_trips(own, monkeypatch):
    server = own()
    driver = open_redis(server.url)

    async def add(name):
        return await driver.arun(driver.enqueueing.enqueue(Enqueue(jobs=(job(name),))))

    await add("first")
    writes, true_send = [], Wire._send

    def send(wire):
        writes.append(len(wire._unsent))
        true_send(wire)

    monkeypatch.setattr(Wire, "_send", send)

    await asyncio.gather(*(add(f"job-{n}") for n in range(100)))

    # The first goes out at once; what is asked meanwhile goes together.
    assert len(writes) <= 2
    assert sum(writes) == 100
    driver.close()


@pytest.mark.parametrize("name", [None, *WHEELS], ids=str)
def test_over_the_memory_limit_everything_but_new_work_goes_on(own, name):
    server = own("--maxmemory-policy", "noeviction", program=program_of(name))
    driver = open_redis(server.url)
    do(driver, PutSettings(queue="q", settings=QueueSettings(keep_succeeded=1)))
    enqueue(driver, *(f"job-{n}" for n in range(9)))
    enqueue(driver, "due", delay=1)
    leases = claim(driver, 5)
    assert settle(driver, leases[0]).ruling is Ruling.WON
    with server.client() as client:
        client.config_set("maxmemory", client.info("memory")["used_memory"] // 2)

    with pytest.raises(StoreFull):
        enqueue(driver, "new")
    failure = Failure(type="E", message="m")
    assert settle(driver, leases[1], Outcome.FAIL, error=failure).ruling is Ruling.WON
    assert settle(driver, leases[2], Outcome.SNOOZE, delay=SECOND).ruling is Ruling.WON
    assert settle(driver, leases[3], Outcome.RELEASE).ruling is Ruling.WON
    assert do(driver, Beat(worker=worker("w"), ttl=60 * SECOND)).now
    claimed = do(driver, ClaimIds(ids=("job-7",), lease=1, worker="w", nonce=8)).jobs
    assert [each.id for each in claimed] == ["job-7"]
    do(driver, Sweep())
    assert do(driver, Get(ids=("job-7",)))[0].state is State.WAITING
    assert do(driver, Cancel(filter=Filter(ids=("job-8",)))).ids == ("job-8",)
    assert do(driver, Prune()).jobs >= 1
    assert do(driver, Get(ids=(leases[0].id,))) == ()
    driver.close()


@pytest.mark.parametrize("name", [None, *WHEELS], ids=str)
def test_over_the_memory_limit_groups_are_served(own, name):
    server = own("--maxmemory-policy", "noeviction", program=program_of(name))
    driver = open_redis(server.url)
    do(driver, PutSettings(queue="q", settings=QueueSettings(group_concurrency=2)))
    for group in "ab":
        enqueue(driver, *(f"{group}{n}" for n in range(4)), group=group)
    with server.client() as client:
        client.config_set("maxmemory", client.info("memory")["used_memory"] // 2)

    leases = claim(driver, 2)

    assert len(leases) == 2
    assert {settle(driver, lease).ruling for lease in leases} == {Ruling.WON}
    assert len(claim(driver, 3, nonce=2)) == 3
    driver.close()


@pytest.fixture
def meddler(redis_server):
    meddler = Meddler(redis_server.port)
    yield meddler
    meddler.close()


def test_a_doorbell_in_a_black_hole_finds_out_by_itself(
    redis_server, meddler, tmp_path, monkeypatch
):
    monkeypatch.setattr(doorbell, "_QUIET", 0.2)
    here = open_redis(
        f"{meddler.through(redis_server.url)}?timeout=1&connect_timeout=0.5",
        namespace=tmp_path.name,
    )
    there = open_redis(redis_server.url, namespace=tmp_path.name)
    with here.doorbell.listen([work("q")]) as bell:
        enqueue(there, "a")
        assert bell.wait(10)
        before = len(meddler.pairs)
        meddler.silent = True
        wait_until(lambda: len(meddler.pairs) > before)
        meddler.silent = False

        assert bell.wait(20)  # once it listens again it wakes everybody
        enqueue(there, "b")
        assert bell.wait(10)
    here.close()
    there.close()


async def test_an_ear_in_a_black_hole_finds_out_by_itself(
    redis_server, meddler, tmp_path, monkeypatch
):
    monkeypatch.setattr(ear, "_QUIET", 0.2)
    here = open_redis(
        f"{meddler.through(redis_server.url)}?timeout=1&connect_timeout=0.5",
        namespace=tmp_path.name,
    )
    there = open_redis(redis_server.url, namespace=tmp_path.name)
    with here.doorbell.attend([work("q")]) as bell:
        await asyncio.to_thread(enqueue, there, "a")
        assert await bell.arrive(10)
        before = len(meddler.pairs)
        meddler.silent = True
        await asyncio.to_thread(wait_until, lambda: len(meddler.pairs) > before)
        meddler.silent = False

        assert await bell.arrive(20)
        await asyncio.to_thread(enqueue, there, "b")
        assert await bell.arrive(10)
    here.close()
    there.close()


def wait_until(check, bound=20.0):
    deadline = time.monotonic() + bound
    while not check():
        assert time.monotonic() < deadline
        time.sleep(0.02)
