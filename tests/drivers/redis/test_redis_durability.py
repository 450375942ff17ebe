"""What survives a killed server, and what the doctor says about it beforehand."""

import contextlib
import threading
import time
from itertools import count

import pytest
from private_redis import WHEELS, program_of
from redis_load import UNSURE, do, enqueue, found_of, put_through

from oxmill import App
from oxmill.drivers.redis.driver import open_redis
from oxmill.errors import BadConfig, OutcomeUnknown, StoreRefused
from oxmill.model.info import Level
from oxmill.model.job import Verdict
from oxmill.model.state import State
from oxmill.store.capabilities import Capability
from oxmill.store.roles.installing import Check, Migrate


@pytest.mark.slow
@pytest.mark.parametrize("name", [None, *WHEELS])
def test_a_killed_server_loses_nothing_and_has_no_double_winner(own, name):
    server = own("--appendonly", "yes", "--appendfsync", "always", program=program_of(name))
    driver = open_redis(server.url)

    load, _ = put_through(server, driver, 4)

    found = found_of(driver, load.acknowledged)
    assert set(load.acknowledged) - set(found) == set()
    assert set(found.values()) == {State.SUCCEEDED}
    assert load.doubled() == set()
    driver.close()


@pytest.mark.slow
def test_a_server_that_syncs_every_second_loses_two_seconds_at_most(own):
    """While a sync is under way it puts off even the write to the kernel, for up to 2 s."""
    server = own("--appendonly", "yes", "--appendfsync", "everysec")
    driver = open_redis(server.url, mode="process")

    load, kills = put_through(server, driver, 4)

    found = found_of(driver, load.acknowledged)
    lost = set(load.acknowledged) - set(found)
    early = {
        job_id
        for job_id in lost
        if not any(kill - 3 < load.times[job_id] <= kill + 0.1 for kill in kills)
    }
    assert early == set()
    assert load.doubled(kills) == set()
    assert set(found.values()) == {State.SUCCEEDED}
    driver.close()


def test_durable_means_what_it_says(own):
    """Only what no kill and no power cut can lose is durable; the rest has to be asked for."""
    server = own("--appendonly", "yes")
    durable, process = open_redis(server.url), open_redis(f"{server.url}?mode=process")

    def levels(driver):
        return {each.name: each.level for each in do(driver, Check()) if each.name != "maxmemory"}

    told = {}
    for sync in ("always", "everysec", "no"):
        with server.client() as client:
            client.config_set("appendfsync", sync)
        told[sync] = (levels(durable).get("appendfsync"), levels(process).get("appendfsync"))
    with server.client() as client:
        client.config_set("no-appendfsync-on-rewrite", "yes")

    assert told == {
        "always": (None, None),
        "everysec": (Level.WARN, Level.NOTE),
        "no": (Level.REFUSE, Level.WARN),
    }
    assert levels(durable)["no-appendfsync-on-rewrite"] is Level.REFUSE
    assert Capability.DURABLE in durable.capabilities
    assert Capability.DURABLE not in process.capabilities
    with pytest.raises(BadConfig):
        open_redis(f"{server.url}?mode=hopeful")
    durable.close()
    process.close()


@pytest.mark.slow
def test_a_killed_server_may_lose_what_it_held_back_during_a_sync(own):
    """Why syncing every second is not durable: killed while a sync is under way, a server takes with
    it what it has acknowledged and not yet written. Seen by chance only, so a run without loss
    proves nothing; but what is lost never is older than the sync."""
    server = own("--appendonly", "yes", "--appendfsync", "everysec")
    driver = open_redis(server.url, mode="process")
    acknowledged, stop = {}, threading.Event()

    def produce(name):
        with contextlib.suppress(*UNSURE):
            for number in count():
                if stop.is_set():
                    return
                enqueue(driver, f"{name}-{number}")
                acknowledged[f"{name}-{number}"] = time.monotonic()

    threads = [threading.Thread(target=produce, args=(name,)) for name in range(3)]
    for thread in threads:
        thread.start()
    with server.client() as client:
        deadline, idle = time.monotonic() + 5, time.monotonic()
        while time.monotonic() < deadline:
            before, facts = time.monotonic(), client.info("persistence")
            if not facts["aof_pending_bio_fsync"]:
                idle = before
            elif facts["aof_buffer_length"]:
                break
    server.kill()
    stop.set()
    for thread in threads:
        thread.join(20)
    server.start()

    found = found_of(driver, list(acknowledged))
    lost = [moment for job_id, moment in acknowledged.items() if job_id not in found]
    assert all(moment >= idle - 0.1 for moment in lost)
    driver.close()


def test_the_doctor_names_what_is_unsafe(own):
    server = own("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")
    driver = open_redis(server.url)
    do(driver, Migrate())

    found = {finding.name: finding.level for finding in do(driver, Check())}

    assert found["maxmemory-policy"] is Level.REFUSE
    assert found["appendonly"] is Level.REFUSE
    driver.close()


def test_the_doctor_has_nothing_against_a_safe_server(own):
    server = own("--appendonly", "yes", "--appendfsync", "always", "--maxmemory", "100mb")
    driver = open_redis(server.url)

    assert do(driver, Check()) == ()
    driver.close()


def test_a_write_waits_for_its_replica(own):
    primary = own()
    replica = own("--replicaof", "127.0.0.1", primary.port)
    driver = open_redis(f"{primary.url}?replicas=1&timeout=2")
    with primary.client() as client:
        deadline = time.monotonic() + 20
        while client.info("replication").get("slave0", {}).get("state") != "online":
            assert time.monotonic() < deadline
            time.sleep(0.05)

    assert enqueue(driver, "a")[0].verdict is Verdict.CREATED
    with replica.client() as client:
        assert client.exists("{oxmill:0}:jobs")
    replica.kill()
    with pytest.raises(OutcomeUnknown, match="replicas"):
        enqueue(driver, "b")
    driver.close()


def test_the_doctor_judges_replicas_and_snapshots(own):
    primary = own("--appendonly", "yes", "--appendfsync", "always", "--maxmemory", "100mb")
    driver = open_redis(primary.url)
    with primary.client() as client:
        client.config_set("min-replicas-to-write", 1)
        lacking = {each.name: each.level for each in do(driver, Check())}
        client.config_set("min-replicas-to-write", 0)
        own("--replicaof", "127.0.0.1", primary.port)
        deadline = time.monotonic() + 20
        while not client.info("replication")["connected_slaves"]:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        there = {each.name: each.level for each in do(driver, Check())}
        # A folder in place of the file: the snapshot cannot be put there.
        (primary.path / "dump.rdb").unlink(missing_ok=True)
        (primary.path / "dump.rdb" / "full").mkdir(parents=True)
        client.bgsave()
        while client.info("persistence")["rdb_last_bgsave_status"] == "ok":
            assert time.monotonic() < deadline
            time.sleep(0.05)
        broken = {each.name: each.level for each in do(driver, Check())}

    assert lacking == {"min-replicas-to-write": Level.REFUSE}
    assert there == {"replicas": Level.NOTE, "min-replicas-to-write": Level.NOTE}
    assert broken["rdb_last_bgsave_status"] is Level.WARN
    driver.close()


def test_a_restart_is_told_once(own):
    server = own("--appendonly", "yes", "--appendfsync", "always", "--maxmemory", "100mb")
    driver = open_redis(server.url)
    assert do(driver, Check()) == ()
    server.kill()
    server.start()

    while True:
        with contextlib.suppress(*UNSURE):
            found = do(driver, Check())
            break

    assert {each.name: each.level for each in found} == {"run_id": Level.WARN}
    assert do(driver, Check()) == ()
    driver.close()


def test_a_worker_refuses_a_server_that_throws_jobs_away(own):
    server = own("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru", "--appendonly", "yes")
    with App(server.url) as app, pytest.raises(StoreRefused, match="maxmemory-policy"):
        app.worker(queues=["q"]).run()
