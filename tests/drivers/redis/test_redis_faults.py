"""What the driver does when the server, the link or the memory fails."""

import asyncio
import os
import shutil
import subprocess
import threading
import time
from itertools import count

import pytest
import redis
from private_redis import Server, free_port
from proxy import Proxy

from oxmill.drivers.redis.driver import open_redis
from oxmill.errors import OutcomeUnknown, StoreFull, StoreRefused, StoreUnavailable
from oxmill.model.claim import Claim, Hold, Renew, Renewal
from oxmill.model.info import Level, ListQueues
from oxmill.model.job import Enqueue, NewJob, Verdict
from oxmill.model.query import Find, Get
from oxmill.model.settlement import Outcome, Ruling, Settle, Settlement
from oxmill.model.state import State
from oxmill.store.doorbell import work
from oxmill.store.roles.installing import Check, Migrate
from oxmill.testing.operations import plan_for

SECOND = 1_000_000
UNSURE = (StoreUnavailable, OutcomeUnknown)


def do(driver, request):
    return driver.run(plan_for(driver, request))


def job(name, **options):
    return NewJob(**({"queue": "q", "task": "t", "payload": b"x" * 100} | options), id=name)


def enqueue(driver, *names, **options):
    return do(driver, Enqueue(jobs=tuple(job(name, **options) for name in names)))


def claim(driver, limit=1, nonce=1, lease=60 * SECOND):
    request = Claim(queues=("q",), limit=limit, lease=lease, worker="w", nonce=nonce)
    return do(driver, request).jobs


def settle(driver, lease, outcome=Outcome.COMPLETE, **options):
    item = Settlement(id=lease.id, token=lease.token, outcome=outcome, **options)
    return do(driver, Settle(items=(item,)))[0]


@pytest.fixture
def driver(redis_server, tmp_path):
    driver = open_redis(redis_server.url, namespace=tmp_path.name, mode="process")
    yield driver
    driver.close()


@pytest.fixture
def own(tmp_path):
    """A maker of servers that only this test uses."""
    servers = []

    def make(*options, **more):
        servers.append(Server(tmp_path / f"server-{len(servers)}", *options, **more).start())
        return servers[-1]

    yield make
    for server in servers:
        server.stop()


def eventually(check, bound=20.0):
    """Try again until it does not raise a typed error of the store."""
    deadline = time.monotonic() + bound
    while True:
        try:
            return check()
        except UNSURE:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


class Load:
    """Threads that enqueue, claim and complete, and remember what was acknowledged."""

    def __init__(self, driver):
        self.driver = driver
        self.stop = threading.Event()
        self.acknowledged = []
        self.times = {}
        self.won = {}
        self.surprises = []
        self.nonces = count(1)
        self.threads = [
            threading.Thread(target=self._guard, args=(target, name))
            for name, target in enumerate((self._produce, self._produce, self._work, self._work))
        ]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *exc):
        self.stop.set()
        for thread in self.threads:
            thread.join(60)

    def _guard(self, target, name):
        try:
            while not self.stop.is_set():
                try:
                    target(name)
                except UNSURE:
                    time.sleep(0.02)
        except Exception as error:
            self.surprises.append(error)

    def _produce(self, name):
        for number in count(len(self.acknowledged)):
            if self.stop.is_set():
                return
            job_id = f"{name}-{number}-{time.monotonic_ns()}"
            answer = eventually(lambda job_id=job_id: enqueue(self.driver, job_id)[0])
            if answer.verdict in {Verdict.CREATED, Verdict.DUPLICATE}:
                self.times[job_id] = time.monotonic()
                self.acknowledged.append(job_id)

    def _work(self, name):
        for lease in claim(self.driver, 5, nonce=next(self.nonces), lease=2 * SECOND):
            answer = eventually(lambda lease=lease: settle(self.driver, lease))
            if answer.ruling is Ruling.WON:
                self.remember(lease)

    def remember(self, lease):
        """This token won."""
        self.won.setdefault(lease.id, set()).add(lease.token)


def put_through(server, driver, kills):
    """Kill and restart the server under load, then let all that is left be done."""
    moments = []
    with Load(driver) as load:
        for _ in range(kills):
            before, deadline = len(load.acknowledged), time.monotonic() + 15
            while len(load.acknowledged) < before + 50 and time.monotonic() < deadline:
                time.sleep(0.01)
            server.kill()
            moments.append(time.monotonic())
            server.start()
    assert load.surprises == []
    assert len(load.acknowledged) >= 50 * kills
    eventually(lambda: do(driver, Find(limit=1)))
    finish(driver, load)
    return load, moments


def finish(driver, load):
    """Settle everything that is left."""
    for nonce in count(10_000):
        leases = eventually(lambda nonce=nonce: claim(driver, 100, nonce=nonce), 30)
        for lease in leases:
            if eventually(lambda lease=lease: settle(driver, lease), 30).ruling is Ruling.WON:
                load.remember(lease)
        if not leases:
            counts = eventually(lambda: do(driver, ListQueues(queues=("q",)))).items[0].counts
            if not counts.get(State.RUNNING):
                return
            time.sleep(0.2)


def found_of(driver, ids):
    parts = (tuple(ids[first : first + 500]) for first in range(0, len(ids), 500))
    return {each.id: each.state for part in parts for each in do(driver, Get(ids=part))}


@pytest.mark.slow
def test_a_killed_server_loses_nothing_and_has_no_double_winner(own):
    server = own("--appendonly", "yes", "--appendfsync", "always")
    driver = open_redis(server.url)

    load, _ = put_through(server, driver, 4)

    found = found_of(driver, load.acknowledged)
    assert set(load.acknowledged) - set(found) == set()
    assert set(found.values()) == {State.SUCCEEDED}
    assert {job_id for job_id, tokens in load.won.items() if len(tokens) > 1} == set()
    driver.close()


@pytest.mark.slow
def test_a_server_that_syncs_every_second_loses_two_seconds_at_most(own):
    """While a sync is under way Redis puts off even the write to the kernel, for up to 2 s."""
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
    assert set(found.values()) == {State.SUCCEEDED}
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
    await asyncio.sleep(0.05)  # the loop learns of the end of its connection

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


def test_over_the_memory_limit_leases_can_still_be_settled(own):
    server = own("--maxmemory-policy", "noeviction")
    driver = open_redis(server.url)
    enqueue(driver, *(f"job-{number}" for number in range(10)))
    enqueue(driver, "keyed", unique=None, delay=1, headers={"a": "b"})
    leases = claim(driver, 3)
    Full(server)

    with pytest.raises(StoreFull):
        enqueue(driver, "new")
    with pytest.raises(StoreFull):
        enqueue(driver, "later", delay=SECOND)
    assert do(driver, Get(ids=("new", "later"))) == ()
    renewal = Renewal(id=leases[0].id, token=leases[0].token, progress=b"half")
    assert do(driver, Renew(items=(renewal,), lease=SECOND)).holds == (Hold.KEPT,)
    assert settle(driver, leases[0], result=b"r" * 1000).ruling is Ruling.WON
    assert settle(driver, leases[1], Outcome.RETRY, delay=SECOND).ruling is Ruling.WON
    assert settle(driver, leases[2]).ruling is Ruling.WON
    assert len(claim(driver, 2, nonce=9)) == 2
    driver.close()


def test_a_cut_link_gives_typed_errors_and_heals(redis_server, tmp_path):
    proxy = Proxy(redis_server.port)
    driver = open_redis(proxy.url, namespace=tmp_path.name)
    for number in range(20):
        assert eventually(lambda number=number: enqueue(driver, f"job-{number}"))
        proxy.reset()
    leases = eventually(lambda: claim(driver, 20))

    assert len(leases) == 20
    driver.close()
    proxy.close()


def test_a_black_hole_ends_in_time(redis_server, tmp_path):
    proxy = Proxy(redis_server.port)
    driver = open_redis(f"{proxy.url}?timeout=0.3&connect_timeout=0.3", namespace=tmp_path.name)
    enqueue(driver, "a")
    proxy.mute = True

    started = time.monotonic()
    with pytest.raises(OutcomeUnknown):
        enqueue(driver, "b")
    with pytest.raises(UNSURE):
        enqueue(driver, "c")
    assert time.monotonic() - started < 3
    proxy.mute = False
    proxy.reset()

    assert eventually(lambda: enqueue(driver, "b"))[0].verdict in {
        Verdict.CREATED,
        Verdict.DUPLICATE,
    }
    driver.close()
    proxy.close()


async def test_a_black_hole_ends_in_time_for_a_loop(redis_server, tmp_path):
    proxy = Proxy(redis_server.port)
    driver = open_redis(f"{proxy.url}?timeout=0.3&connect_timeout=0.3", namespace=tmp_path.name)
    await driver.arun(plan_for(driver, Enqueue(jobs=(job("a"),))))
    proxy.mute = True

    with pytest.raises(OutcomeUnknown):
        await driver.arun(plan_for(driver, Enqueue(jobs=(job("b"),))))
    with pytest.raises(StoreUnavailable):
        await driver.arun(plan_for(driver, Get(ids=("a",))))
    proxy.mute = False
    proxy.reset()

    assert len(await driver.arun(plan_for(driver, Get(ids=("a",))))) == 1
    driver.close()
    proxy.close()


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
    proxy = Proxy(redis_server.port)
    here = open_redis(proxy.url, namespace=tmp_path.name)
    there = open_redis(redis_server.url, namespace=tmp_path.name)
    with here.doorbell.listen([work("q")]) as bell:
        enqueue(there, "a")
        assert bell.wait(5)

        proxy.reset()

        assert bell.wait(10)  # once it listens again it wakes everybody
        enqueue(there, "b")
        assert bell.wait(5)
    here.close()
    there.close()
    proxy.close()


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


def test_a_unix_socket_will_do(own, tmp_path):
    path = tmp_path / "r.sock"
    own("--unixsocket", path)
    driver = open_redis(f"unix://{path}?db=3")

    assert enqueue(driver, "a")[0].verdict is Verdict.CREATED
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


def test_tls_is_spoken_and_checked(own, tmp_path):
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate with")
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-keyout", key, "-out", certificate, "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"),
        ],
        check=True,
        capture_output=True,
    )
    port = free_port()
    files = (
        "--tls-cert-file",
        certificate,
        "--tls-key-file",
        key,
        "--tls-ca-cert-file",
        certificate,
    )
    try:
        own("--tls-port", port, *files, "--tls-auth-clients", "no")
    except redis.ConnectionError:
        pytest.skip("this server was built without TLS")
    trusting = open_redis(f"rediss://127.0.0.1:{port}/0?ssl_ca_certs={certificate}")
    wary = open_redis(f"rediss://127.0.0.1:{port}/0")

    assert enqueue(trusting, "a")[0].verdict is Verdict.CREATED
    with pytest.raises(StoreUnavailable, match="certificate"):
        enqueue(wary, "b")
    trusting.close()
    wary.close()


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
