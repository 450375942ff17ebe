"""What the driver does when the server, the link or the memory fails."""

import asyncio
import os
import threading
import time

import pytest
from private_redis import WHEELS, program_of
from redis_load import SECOND, UNSURE, claim, do, enqueue, eventually, job, settle

from meddler import Meddler
from oxmill.drivers.redis.driver import open_redis
from oxmill.errors import OutcomeUnknown, StoreFull, StoreRefused, StoreUnavailable
from oxmill.model.claim import Hold, Renew, Renewal
from oxmill.model.job import Enqueue, Verdict
from oxmill.model.query import Get
from oxmill.model.settlement import Outcome, Ruling
from oxmill.model.unique import UniqueKey
from oxmill.store.doorbell import work
from oxmill.testing.operations import plan_for


@pytest.fixture
def driver(redis_server, tmp_path):
    driver = open_redis(redis_server.url, namespace=tmp_path.name, mode="process")
    yield driver
    driver.close()


def test_scripts_that_the_server_forgot_are_loaded_again(driver, redis_server):
    enqueue(driver, "a", "b")
    with redis_server.client() as client:
        client.script_flush()
    (lease,) = claim(driver)
    with redis_server.client() as client:
        client.script_flush()

    assert settle(driver, lease).ruling is Ruling.WON


def test_a_killed_connection_is_replaced(own):
    server = own()
    driver = open_redis(server.url)
    enqueue(driver, "a")
    with server.client() as client:
        client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")

    answer = eventually(lambda: enqueue(driver, "b")[0])

    assert answer.verdict in {Verdict.CREATED, Verdict.DUPLICATE}
    driver.close()


async def test_a_killed_connection_of_a_loop_is_replaced(own):
    server = own()
    driver = open_redis(server.url)
    await driver.arun(plan_for(driver, Enqueue(jobs=(job("a"),))))
    with server.client() as client:
        client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    lanes = driver.transport._loops.of(asyncio.get_running_loop(), dict)
    async with asyncio.timeout(20):
        while not all(lane._wire.broken for lane in lanes.values()):  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.001)

    answer = (await driver.arun(plan_for(driver, Enqueue(jobs=(job("b"),)))))[0]

    assert answer.verdict is Verdict.CREATED
    driver.close()


def test_a_flushed_server_is_an_empty_store(own):
    server = own()
    driver = open_redis(server.url)
    enqueue(driver, "a", "b")
    (lease,) = claim(driver)
    with server.client() as client:
        client.flushall()

    assert settle(driver, lease).ruling is Ruling.GONE
    assert do(driver, Renew(items=(Renewal(id="a", token=lease.token),), lease=SECOND)).holds == (
        Hold.LOST,
    )
    assert enqueue(driver, "a")[0].verdict is Verdict.CREATED
    assert claim(driver, nonce=2)[0].token.attempt == 1
    assert settle(driver, lease).ruling is Ruling.LOST  # the count repeats, the nonce does not
    driver.close()


def test_a_token_of_a_lost_future_is_refused(own, tmp_path):
    server = own("--dbfilename", "old.rdb")
    driver = open_redis(server.url)
    enqueue(driver, "a")
    with server.client() as client:
        client.save()
    (lost,) = claim(driver, nonce=1)
    driver.close()
    server.kill()
    server.start()
    driver = open_redis(server.url)

    (lease,) = claim(driver, nonce=2)

    assert lease.token.attempt == lost.token.attempt
    assert settle(driver, lost).ruling is Ruling.LOST
    assert settle(driver, lease).ruling is Ruling.WON
    driver.close()


class Full:
    """A server whose memory limit has been reached."""

    def __init__(self, server):
        with server.client() as client:
            used = client.info("memory")["used_memory"]
            client.config_set("maxmemory", used // 2)


@pytest.mark.parametrize("name", [None, *WHEELS])
def test_over_the_memory_limit_leases_can_still_be_settled(own, name):
    server = own("--maxmemory-policy", "noeviction", program=program_of(name))
    driver = open_redis(server.url)
    enqueue(driver, *(f"job-{number}" for number in range(10)))
    enqueue(driver, "keyed", unique=None, delay=1, headers={"a": "b"})
    leases = claim(driver, 3)
    Full(server)

    with pytest.raises(StoreFull):
        enqueue(driver, "new")
    with pytest.raises(StoreFull):
        enqueue(driver, "later", delay=SECOND)
    with pytest.raises(StoreFull):
        enqueue(driver, "fields", "found", fields={"user": 1})
    with pytest.raises(StoreFull):
        enqueue(driver, "unique", unique=UniqueKey(key="k"))
    assert do(driver, Get(ids=("new", "later", "fields", "found", "unique"))) == ()
    renewal = Renewal(id=leases[0].id, token=leases[0].token, progress=b"half")
    assert do(driver, Renew(items=(renewal,), lease=SECOND)).holds == (Hold.KEPT,)
    assert settle(driver, leases[0], result=b"r" * 1000).ruling is Ruling.WON
    assert settle(driver, leases[1], Outcome.RETRY, delay=SECOND).ruling is Ruling.WON
    assert settle(driver, leases[2]).ruling is Ruling.WON
    assert len(claim(driver, 2, nonce=9)) == 2
    driver.close()


def test_a_cut_link_gives_typed_errors_and_heals(redis_server, tmp_path):
    meddler = Meddler(redis_server.port)
    driver = open_redis(meddler.through(redis_server.url), namespace=tmp_path.name)
    for number in range(20):
        assert eventually(lambda number=number: enqueue(driver, f"job-{number}"))
        meddler.reset()
    leases = eventually(lambda: claim(driver, 20))

    assert len(leases) == 20
    driver.close()
    meddler.close()


def test_a_black_hole_ends_in_time(redis_server, tmp_path):
    meddler = Meddler(redis_server.port)
    driver = open_redis(
        f"{meddler.through(redis_server.url)}?timeout=0.3&connect_timeout=0.3",
        namespace=tmp_path.name,
    )
    enqueue(driver, "a")
    meddler.silent = True

    started = time.monotonic()
    with pytest.raises(OutcomeUnknown):
        enqueue(driver, "b")
    with pytest.raises(UNSURE):
        enqueue(driver, "c")
    assert time.monotonic() - started < 3
    meddler.silent = False
    meddler.reset()

    assert eventually(lambda: enqueue(driver, "b"))[0].verdict in {
        Verdict.CREATED,
        Verdict.DUPLICATE,
    }
    driver.close()
    meddler.close()


async def test_a_black_hole_ends_in_time_for_a_loop(redis_server, tmp_path):
    meddler = Meddler(redis_server.port)
    driver = open_redis(
        f"{meddler.through(redis_server.url)}?timeout=0.3&connect_timeout=0.3",
        namespace=tmp_path.name,
    )
    await driver.arun(plan_for(driver, Enqueue(jobs=(job("a"),))))
    meddler.silent = True

    with pytest.raises(OutcomeUnknown):
        await driver.arun(plan_for(driver, Enqueue(jobs=(job("b"),))))
    with pytest.raises(StoreUnavailable):
        await driver.arun(plan_for(driver, Get(ids=("a",))))
    meddler.silent = False
    meddler.reset()

    assert len(await driver.arun(plan_for(driver, Get(ids=("a",))))) == 1
    driver.close()
    meddler.close()


def test_a_server_that_is_not_there_is_unavailable():
    driver = open_redis("redis://127.0.0.1:1/0?connect_timeout=0.5")

    with pytest.raises(StoreUnavailable, match="nothing was written"):
        enqueue(driver, "a")


def test_a_frozen_server_is_survived(own):
    server = own()
    driver = open_redis(f"{server.url}?timeout=0.5")
    enqueue(driver, "a")
    server.freeze()

    with pytest.raises(UNSURE):
        enqueue(driver, "b")
    server.thaw()

    assert eventually(lambda: enqueue(driver, "b"))[0].id == "b"
    driver.close()


def test_the_doorbell_rings_across_processes_and_after_a_cut(redis_server, tmp_path):
    meddler = Meddler(redis_server.port)
    here = open_redis(meddler.through(redis_server.url), namespace=tmp_path.name)
    there = open_redis(redis_server.url, namespace=tmp_path.name)
    with here.doorbell.listen([work("q")]) as bell:
        enqueue(there, "a")
        assert bell.wait(5)

        meddler.reset()

        assert bell.wait(10)  # once it listens again it wakes everybody
        enqueue(there, "b")
        assert bell.wait(5)
    here.close()
    there.close()
    meddler.close()


def test_threads_share_a_connection_and_get_their_own_answers(own):
    server = own()
    driver = open_redis(server.url)
    wrong = []

    def ask(name):
        for number in range(20):
            job_id = f"{name}-{number}"
            enqueue(driver, job_id)
            (found,) = do(driver, Get(ids=(job_id,)))
            if found.id != job_id:
                wrong.append((job_id, found.id))

    threads = [threading.Thread(target=ask, args=(name,)) for name in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert wrong == []
    with server.client() as client:
        assert len(client.client_list()) <= 2
        assert client.info("stats")["total_connections_received"] <= 5
    driver.close()


async def test_cancelled_calls_do_not_mix_up_answers(driver):
    await driver.arun(
        plan_for(driver, Enqueue(jobs=tuple(job(f"job-{number}") for number in range(50))))
    )

    async def ask(number):
        (found,) = await driver.arun(plan_for(driver, Get(ids=(f"job-{number}",))))
        assert found.id == f"job-{number}"

    for round_ in range(20):
        tasks = [asyncio.create_task(ask(number)) for number in range(50)]
        await asyncio.sleep(0 if round_ % 2 else 0.001)
        for task in tasks[::3]:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(r is None or isinstance(r, asyncio.CancelledError) for r in results)


def test_a_forked_child_uses_a_connection_of_its_own(driver):
    enqueue(driver, "a")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if enqueue(driver, "child")[0].verdict is Verdict.CREATED else 2
        finally:
            os._exit(code)

    _, status = os.waitpid(child, 0)

    assert os.waitstatus_to_exitcode(status) == 0
    assert enqueue(driver, "parent")[0].verdict is Verdict.CREATED


def test_a_wrong_password_is_refused(own):
    server = own()
    with server.client() as client:
        client.acl_setuser(
            "mill",
            enabled=True,
            passwords=["+secret"],
            keys=["*"],
            channels=["*"],
            categories=["+@all"],
        )
    good = open_redis(f"redis://mill:secret@127.0.0.1:{server.port}/0")
    bad = open_redis(f"redis://mill:wrong@127.0.0.1:{server.port}/0")

    assert enqueue(good, "a")
    assert "secret" not in good.url
    with pytest.raises(StoreRefused):
        enqueue(bad, "a")
    good.close()
    bad.close()


def test_an_interrupted_leader_leaves_nobody_waiting(driver, monkeypatch):
    enqueue(driver, "a")
    lane = next(iter(driver.transport._lanes.values()))
    entered, go = threading.Event(), threading.Event()
    true_exchange = lane._exchange

    def interrupted(batch):
        monkeypatch.setattr(lane, "_exchange", true_exchange)
        entered.set()
        go.wait(10)
        for asked in batch:
            asked.error = KeyboardInterrupt()
        raise KeyboardInterrupt

    outcomes = []

    def ask():
        try:
            outcomes.append(do(driver, Get(ids=("a",))))
        except KeyboardInterrupt:
            outcomes.append("interrupted")

    monkeypatch.setattr(lane, "_exchange", interrupted)
    threads = [threading.Thread(target=ask) for _ in range(4)]
    threads[0].start()
    assert entered.wait(10)
    for thread in threads[1:]:
        thread.start()
    go.set()
    for thread in threads:
        thread.join(10)

    assert len(outcomes) == 4
    assert outcomes.count("interrupted") == 1
