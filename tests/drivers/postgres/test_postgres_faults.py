"""What the driver does when the server or the link fails."""

import os
import threading
import time
from contextlib import contextmanager
from itertools import count

import psycopg
import pytest
from asking import UNSURE, claim, do, enqueue, eventually, settle
from private_postgres import Server, free_port, schema_url

from meddler import Meddler
from oxmill.drivers.postgres.driver import open_postgres
from oxmill.errors import OutcomeUnknown, StoreError, StoreFull, StoreRefused, StoreUnavailable
from oxmill.model.info import ListQueues
from oxmill.model.job import Verdict
from oxmill.model.query import Cancel, Filter, Get
from oxmill.model.settlement import Outcome, Ruling, Settle, Settlement
from oxmill.model.state import State
from oxmill.model.unique import OnConflict, UniqueKey
from oxmill.store.doorbell import work


@pytest.fixture
def own():
    """A maker of servers that only this test uses."""
    servers = []

    def make(**settings):
        servers.append(Server(**settings))
        return servers[-1].start()

    yield make
    for server in servers:
        server.stop()


@pytest.fixture
def driver(postgres_server):
    driver = open_postgres(schema_url())
    yield driver
    driver.close()


@pytest.fixture
def meddler(postgres_server):
    meddler = Meddler(postgres_server.port)
    yield meddler
    meddler.close()


def load(driver, stop, told, won, names):
    """Enqueue, claim and settle until told to stop; note what was acknowledged."""
    nonces = count(int.from_bytes(os.urandom(6), "big"))
    while not stop.is_set():
        try:
            name = f"job-{next(names)}"
            enqueue(driver, name)
            told.append(name)
            for lease in claim(driver, 2, nonce=next(nonces)):
                if settle(driver, lease).ruling is Ruling.WON:
                    won.append(lease.id)
        except UNSURE:
            time.sleep(0.01)


def test_a_killed_server_loses_nothing_and_has_no_double_winner(own):
    server = own()
    driver = open_postgres(f"{server.url}?timeout=5")
    stop, told, won, names = threading.Event(), [], [], count()
    threads = [
        threading.Thread(target=load, args=(driver, stop, told, won, names)) for _ in range(3)
    ]
    enqueue(driver, "first")
    for thread in threads:
        thread.start()
    for _ in range(2):
        before = len(won)
        while len(won) < before + 30:
            time.sleep(0.01)
        server.kill()
        server.start()
    before = len(won)
    while len(won) < before + 10:
        time.sleep(0.01)
    stop.set()
    for thread in threads:
        thread.join(30)

    jobs = {}
    for start in range(0, len(told), 5_000):
        found = eventually(lambda at=start: do(driver, Get(ids=tuple(told[at : at + 5_000]))))
        jobs |= {each.id: each for each in found}
    assert set(told) <= set(jobs)
    assert len(won) == len(set(won))
    assert {jobs[name].state for name in won if name in jobs} == {State.SUCCEEDED}
    (info,) = do(driver, ListQueues(queues=("q",))).items
    ((there,),) = server.ask("SELECT count(*) FROM oxmill.jobs")
    assert sum(info.counts.values()) == there
    driver.close()


def test_a_terminated_session_is_replaced(driver, postgres_server):
    enqueue(driver, "a")
    ended = postgres_server.ask(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE application_name = 'oxmill' AND pid <> pg_backend_pid()"
    )
    assert ended

    answers = eventually(lambda: enqueue(driver, "b"))

    assert answers[0].verdict is Verdict.CREATED
    assert [lease.id for lease in claim(driver, 9)] == ["a", "b"]


def test_a_cut_link_gives_typed_errors_and_heals(meddler):
    driver = open_postgres(meddler.through(schema_url()))
    enqueue(driver, "a")
    for number in range(5):
        meddler.reset()
        eventually(lambda n=number: enqueue(driver, f"b-{n}"))
    assert len(claim(driver, 9)) == 6
    driver.close()


def test_a_black_hole_ends_in_time(meddler):
    driver = open_postgres(meddler.through(schema_url(timeout=1)))
    enqueue(driver, "a")
    meddler.silent = True
    began = time.monotonic()

    with pytest.raises(UNSURE):
        enqueue(driver, "b")

    assert time.monotonic() - began < 8
    meddler.silent = False
    eventually(lambda: enqueue(driver, "b"))
    driver.close()


@pytest.mark.parametrize("unique", [None, UniqueKey(key="k")], ids=["one call", "a transaction"])
def test_an_answer_lost_after_the_commit_is_an_unknown_outcome(meddler, unique):
    driver = open_postgres(meddler.through(schema_url()), doorbell=False)
    enqueue(driver, "a")
    meddler.swallow_after = b"COMMIT\0" if unique else b".enqueue_one("

    with pytest.raises(OutcomeUnknown):
        enqueue(driver, "b", unique=unique)

    deadline = time.monotonic() + 5
    while not do(driver, Get(ids=("b",))) and time.monotonic() < deadline:
        time.sleep(0.01)
    (answer,) = enqueue(driver, "b", unique=unique)
    assert answer.verdict is Verdict.DUPLICATE
    assert len(claim(driver, 9)) == 2
    driver.close()


def test_an_answer_lost_before_the_commit_wrote_nothing(meddler):
    driver = open_postgres(meddler.through(schema_url()), doorbell=False)
    enqueue(driver, "a")
    meddler.swallow_after = b"nextval"

    with pytest.raises(StoreUnavailable):
        enqueue(driver, "b", unique=UniqueKey(key="k"))

    assert [lease.id for lease in claim(driver, 9)] == ["a"]
    driver.close()


def test_a_server_that_is_not_there_is_unavailable():
    driver = open_postgres(f"postgresql://postgres@127.0.0.1:{free_port()}/postgres")
    with pytest.raises(StoreUnavailable):
        enqueue(driver, "a")
    driver.close()


def test_a_wrong_database_or_user_is_refused(postgres_server):
    for url in (
        f"postgresql://postgres@127.0.0.1:{postgres_server.port}/none",
        f"postgresql://nobody_here@127.0.0.1:{postgres_server.port}/postgres",
    ):
        driver = open_postgres(url)
        with pytest.raises(StoreError) as refused:
            enqueue(driver, "a")
        assert not isinstance(refused.value, OutcomeUnknown)
        driver.close()


def test_a_user_without_rights_is_refused_with_what_to_do(postgres_server):
    url = schema_url()
    owner = open_postgres(url, doorbell=False)
    enqueue(owner, "a")
    owner.close()
    postgres_server.ask("DROP ROLE IF EXISTS poor")
    postgres_server.ask("CREATE ROLE poor LOGIN")
    driver = open_postgres(url.replace("postgres@", "poor@"), doorbell=False)

    with pytest.raises(StoreRefused, match="GRANT"):
        enqueue(driver, "b")
    driver.close()


def test_a_full_disk_takes_no_jobs_and_loses_none(postgres_server):
    """The server's own error, raised by a trigger in place of a file system that is full."""
    url = schema_url()
    driver = open_postgres(url, doorbell=False)
    enqueue(driver, "before")
    table = f"{url.rpartition('=')[2]}.jobs"
    postgres_server.ask(
        f"CREATE FUNCTION {table}_full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"RAISE 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$"
    )
    postgres_server.ask(
        f"CREATE TRIGGER full_disk BEFORE INSERT ON {table} EXECUTE FUNCTION {table}_full()"
    )

    for ids in (("one",), ("some", "more")):
        with pytest.raises(StoreFull, match="disk space"):
            enqueue(driver, *ids)
    (lease,) = claim(driver, 5)
    settle(driver, lease)
    postgres_server.ask(f"DROP TRIGGER full_disk ON {table}")

    assert [answer.id for answer in enqueue(driver, "after")] == ["after"]
    driver.close()


def test_a_server_that_takes_no_writes_asks_for_the_primary(own):
    server = own()
    driver = open_postgres(server.url, doorbell=False)
    enqueue(driver, "before")
    server.ask("ALTER SYSTEM SET default_transaction_read_only = on")
    server.ask("SELECT pg_reload_conf()")

    def refused():
        with pytest.raises(StoreUnavailable, match="primary"):
            enqueue(driver, "meanwhile")
        return True

    assert eventually(refused)
    server.ask("ALTER SYSTEM RESET default_transaction_read_only")
    server.ask("SELECT pg_reload_conf()")

    assert eventually(lambda: enqueue(driver, "after"))
    driver.close()


def test_a_server_full_of_connections_is_unavailable(own):
    server = own(max_connections=8, superuser_reserved_connections=0)
    driver = open_postgres(server.url, doorbell=False)
    others = []
    with pytest.raises(StoreUnavailable, match=r"connection|clients"):  # noqa: PT012 - until full
        for _ in range(12):
            others.append(psycopg.connect(server.url))
            if len(others) == 7:
                break
        others.append(psycopg.connect(server.url))
        enqueue(driver, "a")
    for other in others:
        other.close()
    eventually(lambda: enqueue(driver, "a"))
    driver.close()


def test_a_frozen_server_is_survived(own):
    server = own()
    driver = open_postgres(f"{server.url}?timeout=1")
    enqueue(driver, "a")
    server.freeze()
    try:
        with pytest.raises(UNSURE):
            enqueue(driver, "b")
    finally:
        server.thaw()
    eventually(lambda: enqueue(driver, "b"))
    assert len(claim(driver, 9)) == 2
    driver.close()


@contextmanager
def crossed(driver, server, *names):
    """Whoever locks these jobs in their order meets a deadlock, finds it, and must start again."""
    schema = driver.url.partition("schema=")[2]
    lock = f"SELECT 1 FROM {schema}.jobs WHERE id = %s FOR UPDATE"
    first, last = names
    before = deadlocks(server)
    with server.client() as other:
        other.execute("SET deadlock_timeout = '20s'")
        other.execute("BEGIN")
        other.execute(lock, [last])
        yield
        while not server.ask("SELECT 1 FROM pg_locks WHERE NOT granted"):
            time.sleep(0.01)
        other.execute(lock, [first])
        other.execute("COMMIT")
    deadline = time.monotonic() + 10
    while deadlocks(server) == before:
        assert time.monotonic() < deadline, "there was no deadlock"
        time.sleep(0.05)


def deadlocks(server):
    ((count,),) = server.ask("SELECT sum(deadlocks) FROM pg_stat_database")
    return int(count)


def later(act):
    """Do it in another thread; the list will hold its answer."""
    answer = []
    thread = threading.Thread(target=lambda: answer.append(act()))
    thread.start()
    return thread, answer


def test_a_deadlock_is_tried_again(driver, postgres_server):
    enqueue(driver, "a", "b")
    with crossed(driver, postgres_server, "a", "b"):
        thread, answer = later(lambda: do(driver, Cancel(filter=Filter(ids=("a", "b")))))
    thread.join(20)

    assert set(answer[0].ids) == {"a", "b"}


def test_what_was_committed_is_not_done_again_after_a_deadlock(driver, postgres_server):
    """The plain one of these successes is committed, and deleted, before the others deadlock."""
    enqueue(driver, "plain", keep=0)
    for name in ("a", "b"):
        enqueue(driver, name, unique=UniqueKey(key=name))
    items = tuple(
        Settlement(id=lease.id, token=lease.token, outcome=Outcome.COMPLETE)
        for lease in claim(driver, 3)
    )
    with crossed(driver, postgres_server, "a", "b"):
        thread, answer = later(lambda: do(driver, Settle(items=items)))
    thread.join(20)

    assert [each.ruling for each in answer[0]] == [Ruling.WON] * 3


def test_keys_and_jobs_are_locked_in_one_order(own):
    """Whoever replaces, settles, claims, cancels and sweeps the same keys never deadlocks."""
    server = own()
    driver = open_postgres(server.url, doorbell=False)
    key = UniqueKey(key="k", on_conflict=OnConflict.REPLACE)
    stop = time.monotonic() + 4
    enqueue(driver, "first", unique=key)

    def replace(names):
        while time.monotonic() < stop:
            enqueue(driver, f"r-{next(names)}", unique=key)

    def work_off(nonces):
        while time.monotonic() < stop:
            for lease in claim(driver, 5, nonce=next(nonces)):
                settle(driver, lease)

    def stop_some():
        while time.monotonic() < stop:
            do(driver, Cancel(filter=Filter(queues=("q",)), limit=3))

    names, nonces = count(), count(1)
    threads = [threading.Thread(target=replace, args=(names,)) for _ in range(2)]
    threads += [threading.Thread(target=work_off, args=(nonces,)) for _ in range(2)]
    threads += [threading.Thread(target=stop_some)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert deadlocks(server) == 0
    ((wrong,),) = server.ask(
        "SELECT count(*) FROM oxmill.jobs "
        "WHERE unique_key = 'k' AND state IN ('waiting', 'running') HAVING count(*) > 1"
    ) or [(0,)]
    assert wrong == 0
    driver.close()


def test_a_forked_child_uses_connections_of_its_own(driver):
    enqueue(driver, "a")
    child = os.fork()
    if child == 0:
        try:
            enqueue(driver, "child")
            os._exit(0)
        except BaseException:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert [lease.id for lease in claim(driver, 9)] == ["a", "child"]


def test_the_doorbell_rings_across_processes_and_after_a_cut(meddler):
    url = schema_url()
    listener, ringer = open_postgres(meddler.through(url)), open_postgres(url)
    enqueue(ringer, "first")
    with listener.doorbell.listen([work("q")]) as bell:
        bell.wait(0.2)
        enqueue(ringer, "a")
        assert bell.wait(5)
        meddler.reset()
        assert bell.wait(10), "who missed something is woken"
        enqueue(ringer, "b")
        assert bell.wait(5)
    listener.close()
    ringer.close()


def test_one_who_dies_in_the_middle_leaves_nothing(own):
    server = own(max_connections=20)
    driver = open_postgres(server.url, doorbell=False)
    enqueue(driver, "a")
    child = os.fork()
    if child == 0:
        with psycopg.connect(server.url) as rogue:
            rogue.execute("SELECT 1 FROM oxmill.jobs WHERE id = 'a' FOR UPDATE")
            os.kill(os.getpid(), 9)
    os.waitpid(child, 0)
    deadline = time.monotonic() + 10
    while not (leases := claim(driver, 9)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert [lease.id for lease in leases] == ["a"]
    driver.close()
