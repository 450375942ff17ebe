"""What happens when the server, the network or another transaction gets in the way."""

import asyncio
import os
import random
import select
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from itertools import count

import pytest
from private_mysql import QUICK, Server, shared_server
from pymysql import err

from meddler import Meddler
from oxmill.drivers.mysql import link
from oxmill.drivers.mysql.driver import open_mysql
from oxmill.drivers.mysql.link import Link
from oxmill.drivers.sql.steps import Look
from oxmill.errors import (
    BadConfig,
    BadInput,
    OutcomeUnknown,
    SchemaMismatch,
    StoreError,
    StoreFull,
    StoreRefused,
    StoreUnavailable,
)
from oxmill.model.claim import Claim, Hold, Renew, Renewal
from oxmill.model.info import EventsAfter, Level, ListQueues, Prune, Sweep
from oxmill.model.job import Enqueue, NewJob, Verdict
from oxmill.model.query import Cancel, Filter, Find, Get
from oxmill.model.rule import PutRules, Rule, RuleKey, RuleKind
from oxmill.model.settlement import Outcome, Ruling, Settle, Settlement
from oxmill.model.state import State
from oxmill.model.unique import UniqueKey
from oxmill.store.plan import Plan, together
from oxmill.store.roles.installing import Check, Migrate, Version
from oxmill.testing.operations import plan_for

MINUTE = 60_000_000
nonces = count(1)


@contextmanager
def opened(url, **options):
    driver = open_mysql(url, **options)
    try:
        yield driver
    finally:
        driver.close()


def do(driver, request):
    return driver.run(plan_for(driver, request))


def job(job_id, **options):
    return NewJob(**({"queue": "q", "task": "t", "payload": b"{}"} | options), id=job_id)


def claim(limit=10, lease=MINUTE, queues=("q",)):
    return Claim(queues=queues, limit=limit, lease=lease, worker="w", nonce=random.getrandbits(63))


def completed(jobs):
    items = [Settlement(id=j.id, token=j.token, outcome=Outcome.COMPLETE) for j in jobs]
    return Settle(items=tuple(items))


@pytest.fixture
def url():
    return shared_server().database()


@pytest.fixture
def meddler():
    proxy = Meddler(shared_server().port)
    yield proxy
    proxy.close()


def through(meddler, url, words=""):
    return meddler.through(url) + words


def others(url, condition="TRUE"):
    """The ids of all connections to a database."""
    name = url.rpartition("/")[2]
    rows = shared_server().ask(
        f"SELECT id FROM information_schema.processlist WHERE db = '{name}' AND {condition}"
    )
    return [number for (number,) in rows]


# -- the server goes -------------------------------------------------------------------------------


def test_a_server_killed_under_load_loses_nothing_and_lets_nobody_win_twice(tmp_path):
    server = Server(tmp_path / "s").start()
    try:
        url = server.database()
        with opened(f"{url}?timeout=5") as driver:
            do(driver, Migrate())
            sure, won, numbers, stop = set(), Counter(), count(), threading.Event()

            def produce():
                while not stop.is_set():
                    name = f"job-{next(numbers)}"
                    for _ in range(400):
                        try:
                            do(driver, Enqueue(jobs=(job(name),)))
                        except StoreError:
                            time.sleep(0.05)
                            continue
                        sure.add(name)
                        break

            def work():
                while not stop.is_set():
                    with suppress(StoreError):
                        jobs = do(driver, claim(3, lease=2_000_000)).jobs
                        if jobs:
                            for answer in do(driver, completed(jobs)):
                                won[answer.id] += answer.ruling is Ruling.WON

            threads = [threading.Thread(target=each) for each in (produce, produce, work, work)]
            for thread in threads:
                thread.start()
            for _ in range(2):
                seen = len(sure)
                wait_until(lambda seen=seen: len(sure) > seen + 30)
                server.kill()
                server.start()
            seen = len(sure)
            wait_until(lambda: len(sure) > seen + 10)
            stop.set()
            for thread in threads:
                thread.join(30)
            there = set()
            for name in sure:
                there |= {found.id for found in do(driver, Get(ids=(name,)))}
            assert sure - there == set()
            assert set(won.values()) <= {0, 1}
            (info,) = do(driver, ListQueues(queues=("q",))).items
            assert info.totals.get(State.SUCCEEDED, 0) >= sum(won.values())
            counted = Counter(
                dict(
                    server.ask(
                        "SELECT state, COUNT(*) FROM oxmill_jobs GROUP BY state",
                        url.rpartition("/")[2],
                    )
                )
            )
            assert {state.value: n for state, n in info.counts.items()} == dict(counted)
    finally:
        server.stop()


def wait_until(condition, bound=30.0):
    deadline = time.monotonic() + bound
    while not condition():
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.01)


def test_nobody_listens(tmp_path):
    server = Server(tmp_path / "s")
    with opened(f"{server.url}/db") as driver, pytest.raises(StoreUnavailable, match="try again"):
        do(driver, Enqueue(jobs=(job("a"),)))


@pytest.fixture
def wary(monkeypatch):
    """No connection is trusted without a look."""
    monkeypatch.setattr(link, "_FRESH", 0)


@pytest.mark.usefixtures("wary")
def test_a_connection_killed_while_idle_is_replaced_without_a_word(url):
    with opened(url) as driver:
        do(driver, Enqueue(jobs=(job("a"),)))
        for number in others(url):
            shared_server().ask(f"KILL {number}")

        (answer,) = do(driver, Enqueue(jobs=(job("b"),)))

        assert answer.verdict is Verdict.CREATED


def test_a_connection_killed_before_its_commit_wrote_nothing(url):
    with opened(url) as driver, shared_server().client(url.rpartition("/")[2]) as blocker:
        do(driver, Enqueue(jobs=(job("a"),)))
        blocker.begin()
        blocker.cursor().execute("SELECT seq FROM oxmill_jobs WHERE id = 'a' FOR UPDATE")
        with ThreadPoolExecutor(1) as pool:
            cancel = Cancel(filter=Filter(ids=("a",)))
            waiting = pool.submit(do, driver, cancel)
            wait_until(lambda: others(url, "info LIKE '%FOR UPDATE%' AND command = 'Query'"))
            (number,) = others(url, "info LIKE '%FOR UPDATE%' AND command = 'Query'")
            shared_server().ask(f"KILL {number}")
            with pytest.raises(StoreUnavailable, match="nothing was written"):
                waiting.result(30)
        blocker.rollback()

        (found,) = do(driver, Get(ids=("a",)))
        assert found.state is State.WAITING


# -- the network goes ------------------------------------------------------------------------------


def test_an_answer_lost_after_the_commit_was_sent_is_unknown_and_may_be_repeated(url, meddler):
    with opened(through(meddler, url)) as driver:
        do(driver, Enqueue(jobs=(job("a"),)))
        meddler.swallow_after = b"COMMIT"

        with pytest.raises(OutcomeUnknown, match="repeating the call"):
            do(driver, Enqueue(jobs=(job("b"),)))
        assert meddler.swallowed.is_set()
        (again,) = do(driver, Enqueue(jobs=(job("b"),)))

        assert again.verdict is Verdict.DUPLICATE
        assert len(do(driver, Find()).jobs) == 2


def test_an_answer_to_a_settlement_that_was_lost_is_given_again(url, meddler):
    with opened(through(meddler, url)) as driver:
        do(driver, Enqueue(jobs=(job("a"),)))
        jobs = do(driver, claim()).jobs
        meddler.swallow_after = b"COMMIT"
        with pytest.raises(OutcomeUnknown):
            do(driver, completed(jobs))

        (answer,) = do(driver, completed(jobs))

        assert answer.ruling is Ruling.WON
        (info,) = do(driver, ListQueues(queues=("q",))).items
        assert info.totals == {State.SUCCEEDED: 1}


@pytest.mark.usefixtures("wary")
def test_a_reset_between_two_calls_is_not_noticed(url, meddler):
    with opened(through(meddler, url)) as driver:
        do(driver, Enqueue(jobs=(job("a"),)))
        (idle,) = driver.transport._pool._idle
        meddler.reset()
        wait_until(lambda: select.select([idle._socket], [], [], 0)[0])

        # A read would be tried again in any case; of a commit nobody would know what came.
        (answer,) = do(driver, Enqueue(jobs=(job("b"),)))

        assert answer.verdict is Verdict.CREATED
        assert len(do(driver, Find()).jobs) == 2


def test_a_network_that_swallows_everything_ends_in_time(url, meddler):
    with opened(through(meddler, url, "?timeout=1")) as driver:
        do(driver, Enqueue(jobs=(job("a"),)))
        meddler.silent = True
        began = time.monotonic()

        with pytest.raises((StoreUnavailable, OutcomeUnknown)):
            do(driver, Enqueue(jobs=(job("b"),)))
        with pytest.raises(StoreUnavailable):
            do(driver, Find())

        assert time.monotonic() - began < 8
        meddler.silent = False
        meddler.reset()
        assert len(do(driver, Find()).jobs) == 1


# -- other transactions ----------------------------------------------------------------------------


def test_a_locked_job_keeps_nobody_from_working_on_others(url):
    """On a small table too, where the server would rather read everything than use an index."""
    with (
        opened(url) as driver,
        shared_server().client(url.rpartition("/")[2]) as blocker,
    ):
        unique = UniqueKey(key="k")
        do(driver, Enqueue(jobs=(job("a"), job("b"), job("c"), job("d"), job("e", unique=unique))))
        a, b, c, d, e = do(driver, claim(5)).jobs
        do(driver, Enqueue(jobs=(job("f"), job("g"))))
        blocker.begin()
        blocker.cursor().execute("SELECT seq FROM oxmill_jobs WHERE id = 'a' FOR UPDATE")
        blocker.cursor().execute("SELECT seq FROM oxmill_jobs WHERE id = 'g' FOR UPDATE")
        began = time.monotonic()

        renewal = Renew(items=(Renewal(id="b", token=b.token, progress=b"1"),), lease=MINUTE)
        assert do(driver, renewal).holds == (Hold.KEPT,)
        plain = Renew(items=(Renewal(id="b", token=b.token),), lease=MINUTE)
        assert do(driver, plain).holds == (Hold.KEPT,)
        assert [each.ruling for each in do(driver, completed([b, e]))] == [Ruling.WON] * 2
        result = Settlement(id="c", token=c.token, outcome=Outcome.COMPLETE, result=b"1")
        retry = Settlement(id="d", token=d.token, outcome=Outcome.RETRY)
        for item in (result, retry):
            assert do(driver, Settle(items=(item,)))[0].ruling is Ruling.WON
        assert [each.id for each in do(driver, claim()).jobs] == ["f", "d"]
        assert do(driver, Cancel(filter=Filter(ids=("f",)))).asked == ("f",)
        do(driver, Sweep())
        do(driver, Prune())

        assert time.monotonic() - began < 4
        blocker.rollback()
        assert do(driver, completed([a]))[0].ruling is Ruling.WON


def test_a_row_locked_for_too_long_is_reported_as_busy(url):
    with (
        opened(f"{url}?timeout=3") as driver,
        shared_server().client(url.rpartition("/")[2]) as blocker,
    ):
        do(driver, Enqueue(jobs=(job("a"),)))
        blocker.begin()
        blocker.cursor().execute("SELECT seq FROM oxmill_jobs WHERE id = 'a' FOR UPDATE")

        with pytest.raises((StoreUnavailable, OutcomeUnknown)):
            do(driver, Cancel(filter=Filter(ids=("a",))))
        assert do(driver, claim()).jobs == ()
        blocker.rollback()

        # The server may take a moment to notice that nobody waits for the cancellation any more.
        wait_until(lambda: do(driver, claim()).jobs or do(driver, Get(ids=("a",)))[0].ended_at)


def lock_waits():
    return int(shared_server().ask("SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_waits'")[0][1])


def test_a_lock_wait_that_ends_leaves_nothing_half_done(url, monkeypatch):
    """After error 1205 the server keeps the transaction open: a commit would keep its first half."""
    brief = [
        text.replace(b"lock_wait_timeout = 5", b"lock_wait_timeout = 1") for text in link.SETTINGS
    ]
    monkeypatch.setattr(link, "SETTINGS", brief)
    with (
        opened(url) as driver,
        shared_server().client(url.rpartition("/")[2]) as blocker,
    ):
        do(driver, Enqueue(jobs=(job("a"), job("b"))))
        jobs = do(driver, claim()).jobs
        blocker.begin()
        blocker.cursor().execute("SELECT seq FROM oxmill_jobs WHERE id = 'b' FOR UPDATE")
        before = lock_waits()
        with ThreadPoolExecutor(1) as pool:
            settling = pool.submit(do, driver, completed(jobs))
            wait_until(lambda: lock_waits() >= before + 2)  # the first was given up
            assert not settling.done()
            assert do(driver, Get(ids=("a",)))[0].state is State.RUNNING
            blocker.rollback()
            answers = settling.result(30)

        assert [answer.ruling for answer in answers] == [Ruling.WON] * 2


def test_those_who_name_the_same_jobs_in_opposite_order_do_not_deadlock(url):
    """They lock them in one order, whatever the order in which they were named."""
    with opened(url) as driver:
        names = [f"job-{number}" for number in range(40)]
        do(driver, Enqueue(jobs=tuple(job(name) for name in names)))
        start = threading.Barrier(8)
        before = deadlocks()

        def steer(number):
            start.wait(10)
            order = names if number % 2 else names[::-1]
            for _ in range(15):
                wanted = Filter(ids=tuple(order))
                do(driver, Cancel(filter=wanted, reason="again"))
                fresh = tuple(job(f"{number}-{next(nonces)}") for _ in range(3))
                do(driver, Enqueue(jobs=fresh))

        with ThreadPoolExecutor(8) as pool:
            for done in [pool.submit(steer, number) for number in range(8)]:
                done.result(60)

        (info,) = do(driver, ListQueues(queues=("q",))).items
        assert info.counts == {State.CANCELLED: 40, State.WAITING: 8 * 15 * 3}
        assert deadlocks() == before


def deadlocks():
    return int(shared_server().ask("SHOW GLOBAL STATUS LIKE 'Innodb_deadlocks'")[0][1])


WAITING = (
    "id IN (SELECT trx_mysql_thread_id FROM information_schema.innodb_trx "
    "WHERE trx_state = 'LOCK WAIT')"
)
UNREAD = 0.15
"""InnoDB tells of its transactions anew only if nobody has asked for a tenth of a second."""


def waiting(url):
    """The connections that wait for a lock."""
    time.sleep(UNREAD)
    return others(url, WAITING)


def test_a_forced_deadlock_is_tried_again(url):
    with (
        opened(url) as driver,
        shared_server().client(url.rpartition("/")[2]) as rival,
    ):
        do(driver, Enqueue(jobs=(job("a"), job("b"))))
        jobs = do(driver, claim()).jobs
        before = deadlocks()
        rival.begin()
        # Heavier than ours, so that ours is the one to be given up.
        rival.cursor().execute(
            "INSERT INTO oxmill_fields (name, value, job) SELECT 'x', seq, seq FROM seq_1_to_2000"
        )
        rival.cursor().execute("SELECT seq FROM oxmill_jobs WHERE id = 'b' FOR UPDATE")
        with ThreadPoolExecutor(1) as pool:
            settling = pool.submit(do, driver, completed(jobs))
            wait_until(lambda: waiting(url))  # it holds `a` and waits for `b`
            rival.cursor().execute("SELECT seq FROM oxmill_jobs WHERE id = 'a' FOR UPDATE")
            rival.rollback()
            answers = settling.result(30)

        assert deadlocks() == before + 1
        assert [answer.ruling for answer in answers] == [Ruling.WON] * 2


@pytest.mark.parametrize("code", [1020, 1205, 1213])
def test_a_plan_that_met_another_transaction_starts_again_from_nothing(url, monkeypatch, code):
    """The server rolls back after a deadlock (1213), not after a lock wait (1205) or a row that has
    changed since it was read (1020): what was written so far must not be committed twice."""
    with opened(url) as driver:
        do(driver, Enqueue(jobs=(job("a"), job("b"))))
        jobs = do(driver, claim()).jobs
        failed = [Settlement(id=j.id, token=j.token, outcome=Outcome.FAIL) for j in jobs]
        send, met = Link.send, []

        def meets(link, batch):
            if met or batch[-1] != b"COMMIT":
                return send(link, batch)
            met.append(link)
            # The jobs are written, the counts are not; it would stay so if the next just began.
            send(link, batch[:3] if code != 1213 else [b"ROLLBACK"])
            raise err.OperationalError(code, "another transaction")

        monkeypatch.setattr(Link, "send", meets)

        answers = do(driver, Settle(items=tuple(failed)))

        assert met
        assert [answer.ruling for answer in answers] == [Ruling.WON] * 2
        (info,) = do(driver, ListQueues(queues=("q",))).items
        assert info.counts == {State.FAILED: 2}
        assert info.totals[State.FAILED] == 2


def test_what_was_committed_is_not_done_again_when_the_rest_starts_again(url, monkeypatch):
    """Successes that are not kept go with the first packet; the claim after them meets a deadlock.
    Settled once more, they would be gone."""
    with opened(url) as driver:
        do(driver, Enqueue(jobs=(job("a", keep=0), job("b", keep=0))))
        (a,) = do(driver, claim(1)).jobs
        do(driver, completed([a]))  # teaches it that successes go
        (b,) = do(driver, claim(1)).jobs
        do(driver, Enqueue(jobs=(job("late", delay=1),)))
        send, sent = Link.send, count(1)

        def deadlocked(link, batch):
            if next(sent) == 2:
                raise err.OperationalError(1213, "Deadlock found when trying to get lock")
            return send(link, batch)

        monkeypatch.setattr(Link, "send", deadlocked)
        settle = driver.settling.settle(completed([b]))
        (answer,), claimed = driver.run(together(settle, driver.claiming.claim(claim())))

        assert answer.ruling is Ruling.WON
        assert [each.id for each in claimed.jobs] == ["late"]
        assert next(sent) > 3


def test_events_are_seen_in_order_and_without_gaps_while_many_write(url):
    with opened(url) as driver:
        do(driver, Migrate())
        stop = threading.Event()
        seen = []

        def follow():
            while True:
                last = stop.is_set()
                events = do(driver, EventsAfter(seq=seen[-1] if seen else 0, limit=100))
                seen.extend(event.seq for event in events)
                if last and not events:
                    return

        def rule(number):
            for _ in range(20):
                pause = Rule(kind=RuleKind.PAUSE, target=f"q{number}")
                do(driver, PutRules(set=(pause,)))
                do(driver, PutRules(lift=(RuleKey(kind=RuleKind.PAUSE, target=f"q{number}"),)))

        with ThreadPoolExecutor(6) as pool:
            follower = pool.submit(follow)
            for done in [pool.submit(rule, number) for number in range(5)]:
                done.result(60)
            stop.set()
            follower.result(30)

        assert seen == sorted(seen)
        assert len(seen) == 5 * 20 * 2


# -- settings and rights ---------------------------------------------------------------------------


def test_an_unsafe_server_is_refused_in_durable_mode(url):
    with opened(url) as driver:
        found = {finding.name: finding.level for finding in do(driver, Check())}
    assert found["innodb_flush_log_at_trx_commit"] is Level.REFUSE
    with opened(url, mode="volatile") as driver:
        assert not any(finding.level is Level.REFUSE for finding in do(driver, Check()))


def test_a_look_at_an_empty_database_installs_nothing(url):
    with opened(url) as driver:
        assert do(driver, Version()).current == 0
        do(driver, Check(deep=True))
    assert shared_server().ask("SHOW TABLES", url.rpartition("/")[2]) == ()


def test_counts_changed_by_hand_are_found(url):
    with opened(url) as driver:
        do(driver, Enqueue(jobs=(job("a"),)))
        shared_server().ask("DELETE FROM oxmill_jobs", url.rpartition("/")[2])

        assert "counts" in {finding.name for finding in do(driver, Check(deep=True))}


def test_a_newer_schema_is_refused(url):
    with opened(url) as driver:
        do(driver, Migrate())
    shared_server().ask(
        "INSERT INTO oxmill_migrations VALUES (99, 'later', 0, '')", url.rpartition("/")[2]
    )
    with opened(url) as driver, pytest.raises(SchemaMismatch, match="update Oxmill"):
        do(driver, Find())


def test_a_migration_that_stopped_halfway_is_finished(url):
    name = url.rpartition("/")[2]
    with opened(url) as driver:
        do(driver, Migrate())
        shared_server().ask("DELETE FROM oxmill_migrations", name)
        shared_server().ask("DROP VIEW oxmill_job_view", name)
        shared_server().ask("DROP TABLE oxmill_events", name)
    with opened(url) as driver:
        do(driver, Enqueue(jobs=(job("a"),)))
        assert not do(driver, Version()).pending
    assert shared_server().ask("SELECT id, payload FROM oxmill_job_view", name) == (("a", "{}"),)


def test_who_may_not_is_told_so(url):
    server, name = shared_server(), url.rpartition("/")[2]
    server.ask("CREATE OR REPLACE USER guest@'127.0.0.1' IDENTIFIED BY 'x'")
    here = f"127.0.0.1:{server.port}"
    for place, error in (
        (f"mysql://guest:wrong@{here}/{name}", StoreRefused),
        (f"mysql://guest:x@{here}/{name}", StoreRefused),
        (f"mysql://root@{here}/nowhere", StoreRefused),
    ):
        with opened(place) as driver, pytest.raises(error) as caught:
            do(driver, Find())
        assert "wrong" not in str(caught.value)


def passing(driver):
    findings = do(driver, Check())
    return {each.name: each.passes for each in findings if each.name == "read_only"}


def test_a_server_that_became_read_only_asks_for_the_primary(url):
    server, name = shared_server(), url.rpartition("/")[2]
    server.ask("CREATE OR REPLACE USER clerk@'127.0.0.1' IDENTIFIED BY 'x'")
    server.ask(f"GRANT ALL ON {name}.* TO clerk@'127.0.0.1'")
    with opened(f"mysql://clerk:x@127.0.0.1:{server.port}/{name}") as driver:
        do(driver, Enqueue(jobs=(job("a"),)))
        server.ask("SET GLOBAL read_only = 1")
        try:
            with pytest.raises(StoreUnavailable, match="primary"):
                do(driver, Enqueue(jobs=(job("b"),)))
            assert passing(driver) == {"read_only": True}
            with opened(url) as exempt:  # it could write what the next primary will not have
                assert passing(exempt) == {"read_only": False}
        finally:
            server.ask("SET GLOBAL read_only = 0")
        do(driver, Enqueue(jobs=(job("c"),)))
        assert {found.id for found in do(driver, Find()).jobs} == {"a", "c"}


def test_a_full_disk_takes_no_jobs_and_loses_none(url):
    """The server's own error, raised by a trigger in place of a file system that is full."""
    server, name = shared_server(), url.rpartition("/")[2]
    with opened(url) as driver:
        do(driver, Enqueue(jobs=(job("before"),)))
        server.ask(
            "CREATE TRIGGER full_disk BEFORE INSERT ON oxmill_jobs FOR EACH ROW "
            "SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1021, MESSAGE_TEXT = 'Disk full'",
            name,
        )
        for ids in (("one",), ("some", "more")):
            with pytest.raises(StoreFull):
                do(driver, Enqueue(jobs=tuple(map(job, ids))))
        server.ask("DROP TRIGGER full_disk", name)
        do(driver, Enqueue(jobs=(job("after"),)))
        assert {found.id for found in do(driver, Find()).jobs} == {"before", "after"}


def test_too_many_connections_can_be_tried_again(tmp_path):
    server = Server(tmp_path / "s", *QUICK, "--max-connections=10").start()
    try:
        url = server.database()
        with opened(url) as driver:
            do(driver, Migrate())
        with (
            crowded(server, 11),
            opened(url) as driver,
            pytest.raises(StoreUnavailable, match="max_connections"),
        ):
            do(driver, Find())
        with opened(url) as driver:
            assert persistently(driver, Find()).jobs == ()
    finally:
        server.stop()


def persistently(driver, request):
    """The answer, once the server has noticed that the crowd is gone."""
    deadline = time.monotonic() + 10
    while True:
        try:
            return do(driver, request)
        except StoreUnavailable:
            assert time.monotonic() < deadline
            time.sleep(0.01)


@contextmanager
def crowded(server, number):
    """So many connections at once; one more than the limit is for administrators."""
    with ExitStack() as stack:
        for _ in range(number):
            stack.enter_context(server.client())
        yield


def test_words_of_a_url_that_mean_nothing_are_refused():
    with pytest.raises(BadConfig, match="wait"):
        open_mysql("mysql://root@localhost/db?wait=3")
    with pytest.raises(BadConfig, match="database"):
        open_mysql("mysql://root@localhost/")


def test_secrets_of_a_url_are_not_shown():
    driver = open_mysql("mysql://me:hunter2@localhost:3307/db")
    assert "hunter2" not in driver.url + repr(driver)


def test_text_that_is_none_is_refused_and_the_connection_lives(url):
    with opened(url) as driver:
        do(driver, Migrate())
        with pytest.raises(BadInput):
            do(driver, Find(filter=Filter(ids=("\ud800",))))
        with pytest.raises(BadInput):
            do(driver, Cancel(filter=Filter(group="\ud800")))
        assert do(driver, Find()).jobs == ()


def test_every_byte_and_every_pair_that_could_end_a_literal_survives(url):
    """Payloads are written into the statement: none may break out of its quotes."""
    wild = bytes(range(256)) + b"".join(
        bytes((first, second)) for first in range(256) for second in b"\x27\x5c\x22\x00\x1a"
    )
    payloads = [wild, b"'", b"\\", b"\\'", b"\xbf'; DROP TABLE oxmill_jobs; -- ", b"", b"%s :now"]
    names = [
        "it's",
        "back\\slash",
        "\\'",
        "'; DROP TABLE oxmill_jobs; -- ",
        "%(id)s :id",
        "é\u2028😀",
    ]
    with opened(url) as driver:
        jobs = [job(f"p{n}", payload=payload) for n, payload in enumerate(payloads)]
        jobs += [job(f"{name}-id", queue=name, fields={name: name}) for name in names]
        do(driver, Enqueue(jobs=tuple(jobs)))

        kept = do(driver, Get(ids=tuple(each.id for each in jobs)))
        assert [each.payload for each in kept] == [each.payload for each in jobs]
        assert [each.queue for each in kept] == [each.queue for each in jobs]
        (lease,) = do(driver, claim(1)).jobs
        item = Settlement(id=lease.id, token=lease.token, outcome=Outcome.COMPLETE, result=wild)
        assert do(driver, Settle(items=(item,)))[0].ruling is Ruling.WON
        assert do(driver, Get(ids=(lease.id,)))[0].result == wild
        for name in names:
            (found,) = do(driver, Find(filter=Filter(fields={name: name}))).jobs
            assert found.queue == name


# -- processes and event loops ---------------------------------------------------------------------


def test_a_forked_child_uses_connections_of_its_own(url):
    with opened(url) as driver:
        do(driver, Enqueue(jobs=(job("a"),)))
        child = os.fork()
        if child == 0:
            status = 1
            with suppress(BaseException):
                do(driver, Enqueue(jobs=(job("b"),)))
                asyncio.run(driver.arun(plan_for(driver, Enqueue(jobs=(job("c"),)))))
                driver.close()
                status = 0
            os._exit(status)
        _, status = os.waitpid(child, 0)

        assert status == 0
        assert {found.id for found in do(driver, Find()).jobs} == {"a", "b", "c"}


async def test_a_cancelled_caller_leaves_a_plan_that_is_done_or_never_begun(url):
    driver = open_mysql(url)
    try:
        await driver.arun(plan_for(driver, Migrate()))
        tasks = [
            asyncio.create_task(
                driver.arun(plan_for(driver, Enqueue(jobs=(job(f"{n}-a"), job(f"{n}-b")))))
            )
            for n in range(40)
        ]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        found = {each.id for each in (await driver.arun(plan_for(driver, Find(limit=200)))).jobs}

        for n in range(40):
            assert (f"{n}-a" in found) == (f"{n}-b" in found)
        assert {f"{n}-a" for n in range(1, 40, 2)} <= found
    finally:
        driver.close()


SETTINGS = {
    "transaction_isolation": "READ-COMMITTED",
    "sql_mode": "STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION",
    "time_zone": "+00:00",
    "autocommit": "1",
    "character_set_client": "utf8mb4",
    "character_set_connection": "utf8mb4",
    "innodb_lock_wait_timeout": "5",
}


def test_every_connection_has_the_settings_that_statements_rely_on(url):
    """Whatever the server's own are; also one that takes the place of a broken one."""
    server = shared_server()
    with opened(url) as driver:
        do(driver, ListQueues())
        first = settings_of(driver)
        for number in others(url):
            server.ask(f"KILL {number}")
        do(driver, ListQueues())
        second = settings_of(driver)

    assert first.pop("connection") != second.pop("connection")
    assert first == second == SETTINGS | {"matched": 1, "same": 0, "padded": 0}


def settings_of(driver):
    """How statements are run by the driver's own connection: what its server says, what an UPDATE that
    changes nothing counts, and whether `A` is `a` and `a ` is `a` among names."""
    found = {}

    def act(link):
        names = ", ".join(f"@@{name}" for name in SETTINGS)
        names = names.replace("@@transaction_isolation", "@@tx_isolation")
        values = link.send([f"SELECT CONNECTION_ID(), {names}".encode()])[0].rows[0]
        found["connection"] = values[0]
        found.update(zip(SETTINGS, map(str, values[1:]), strict=True))
        link.send([b"UPDATE oxmill_turns SET number = 0 WHERE name = 'events'"])
        again = link.send([b"UPDATE oxmill_turns SET number = 0 WHERE name = 'events'"])
        found["matched"] = again[0].affected
        for key, name in (("same", b"EVENTS"), ("padded", b"events ")):
            rows = link.send([b"SELECT COUNT(*) FROM oxmill_turns WHERE name = '%b'" % name])
            found[key] = rows[0].rows[0][0]

    driver.run(Plan("look", Version(), lambda: iter_one(Look(act))))
    return found


def iter_one(step):
    return (yield step)
