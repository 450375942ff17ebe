"""What travels on one connection: of any length, interrupted, ended; and the pool that it is taken from."""

import signal
import threading
import time

import psycopg
import pytest
from private_postgres import schema_url

from oxmill.drivers.postgres.address import parse
from oxmill.drivers.postgres.connection import open_link
from oxmill.drivers.postgres.pool import Pool
from oxmill.drivers.postgres.session import Query
from oxmill.drivers.postgres.statements import Text
from oxmill.drivers.postgres.values import packing
from oxmill.errors import StoreUnavailable

SOON = 20
LONG = 1_000_000


def query(sql, values=(), types=()):
    oids, packers = packing(types)
    text = Text("test", sql, (), types, True, sql.encode(), oids, packers, (1,) * len(types))
    return Query(text, values)


@pytest.fixture
def link(postgres_server):
    link = open_link(parse(schema_url(timeout=SOON)))
    yield link
    link.close()


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("text", "Zoë"),
        ("bytea", bytes(range(256))),
        ("bigint", -(2**63)),
        ("integer", 2**31 - 1),
        ("boolean", False),
        ("text[]", ["a", None, ""]),
        ("text[]", ["ab", "cd"]),
        ("text[]", ["Zoë", "Zoe", "Zoes"]),
        ("text[]", ["same", "same"]),
        ("text[]", [None, None]),
        ("bytea[]", [b"", b"\0"]),
        ("bigint[]", [1, None, -1]),
        ("bigint[]", [2**62, 2**62]),
        ("integer[]", []),
        ("text", None),
    ],
)
def test_what_is_sent_is_what_arrives(link, kind, value):
    ((found,),) = link.ask(query(f"SELECT $1::{kind}", [value], (kind,)))

    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("texts", [["a\0b", "abc"], ["\0", "\0"], ["\0\0", "a"], ["\0", None]])
def test_texts_with_nul_arrive_without(link, texts):
    ((found,),) = link.ask(query("SELECT $1::text[]", [texts], ("text[]",)))

    assert found == [text and text.replace("\0", "\ufffd") for text in texts]


def test_several_long_ones_in_one_round_trip_do_not_block_each_other(link):
    """The server sends answers before it has taken all, and both have more than a socket holds."""
    asked = [query("SELECT $1::text", [f"{n}" * LONG], ("text",)) for n in range(10)]

    answers = link.send(["BEGIN", *asked, "COMMIT"])

    assert [rows[0][0] for rows in answers[1:-1]] == [f"{n}" * LONG for n in range(10)]
    assert answers[0] == answers[-1] == []
    assert link.idle


def test_of_several_none_is_performed_after_one_that_fails(link):
    with pytest.raises(psycopg.errors.DivisionByZero):
        link.send(["CREATE TEMP TABLE t (n integer)", query("SELECT 1 / 0"), query("SELECT 1")])

    assert link.idle
    with pytest.raises(psycopg.errors.UndefinedTable):
        link.ask(query("SELECT n FROM t"))
    assert link.ask(query("SELECT 1")) == [(1,)]


@pytest.mark.parametrize("beside", [[], ["BEGIN"]], ids=["alone", "among several"])
def test_a_session_that_is_ended_says_why(link, beside):
    ended = query("SELECT pg_terminate_backend(pg_backend_pid())")

    with pytest.raises(psycopg.errors.AdminShutdown):
        link.send([*beside, ended])


def test_a_silent_server_is_given_up(postgres_server):
    link = open_link(parse(schema_url(timeout=0.3)))
    link.say("SET statement_timeout = 0")
    began = time.monotonic()

    with pytest.raises(psycopg.OperationalError, match="does not answer"):
        link.ask(query("SELECT pg_sleep(20)"))

    assert time.monotonic() - began < 10
    link.close()


@pytest.mark.parametrize("beside", [[], ["BEGIN"]], ids=["alone", "among several"])
def test_what_is_interrupted_is_not_left_running(link, postgres_server, beside):
    class Interrupted(BaseException):
        pass

    def interrupt(*_):
        raise Interrupted

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(Interrupted):
            link.send([*beside, query("SELECT pg_sleep(19.5)")])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

    running = "SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND query ~ 'pg_sleep.19'"
    assert not postgres_server.ask(f"{running} AND pid <> pg_backend_pid()")


class Pretended:
    """A connection that works until it is told otherwise."""

    def __init__(self):
        self.used = time.monotonic()
        self.alive = True
        self.closed = False

    def close(self):
        self.closed = True


def test_who_waits_for_a_connection_gets_the_next_that_is_given_back_or_dropped():
    pool = Pool(Pretended, 2, SOON)
    first, second = pool.take(), pool.take()
    got = []
    threads = [threading.Thread(target=lambda: got.append(pool.take())) for _ in range(2)]
    for thread in threads:
        thread.start()
    while pool._waiting < 2:
        time.sleep(0.001)

    pool.give_back(first)
    pool.drop(second)

    for thread in threads:
        thread.join(SOON)
    assert first in got
    assert second.closed
    assert second not in got
    assert len(got) == 2


def test_no_more_connections_are_open_than_the_pool_is_large():
    opened = []
    pool = Pool(lambda: opened.append(Pretended()) or opened[-1], 3, SOON)

    def use():
        for _ in range(300):
            pool.give_back(pool.take())

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SOON)

    assert len(opened) <= 3
    assert not any(thread.is_alive() for thread in threads)


def test_a_full_pool_says_so_and_one_that_cannot_connect_leaves_its_place_free():
    def refuse():
        raise ConnectionError

    pool = Pool(refuse, 1, 0.05)
    for _ in range(3):
        with pytest.raises(ConnectionError):
            pool.take()

    pool = Pool(Pretended, 1, 0.05)
    pool.take()
    with pytest.raises(StoreUnavailable, match="stayed busy"):
        pool.take()


def test_an_idle_connection_that_has_ended_is_replaced():
    pool = Pool(Pretended, 1, SOON)
    link = pool.take()
    pool.give_back(link)
    link.used, link.alive = link.used - 60, False

    assert pool.take() is not link
    assert link.closed
