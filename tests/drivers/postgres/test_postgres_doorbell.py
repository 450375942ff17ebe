"""The doorbell by NOTIFY: how often it speaks, and that it finds out when nobody answers."""

import select
import threading
import time

import pytest
from asking import enqueue
from private_postgres import schema_url

from meddler import Meddler
from oxmill.drivers.postgres import doorbell as module
from oxmill.drivers.postgres.connection import Link
from oxmill.drivers.postgres.doorbell import PostgresDoorbell, hashed
from oxmill.drivers.postgres.driver import open_postgres
from oxmill.store.doorbell import CONTROL, SWEEP, ended, work

SOON = 20


class Mouth:
    """What the doorbells of this process say, when, and whether they may go on."""

    def __init__(self):
        self.said = []
        self.speaking = threading.Semaphore(0)
        self.go_on = threading.Event()
        self.go_on.set()
        self.meanwhile = lambda message: None
        """Happens before what is said has gone out."""


@pytest.fixture
def mouth(monkeypatch):
    mouth = Mouth()
    notify = PostgresDoorbell._notify

    def notifying(self, link, message):
        if not message.startswith("?"):
            mouth.said.append((time.monotonic(), message))
            mouth.speaking.release()
            assert mouth.go_on.wait(SOON)
            mouth.meanwhile(message)
        notify(self, link, message)

    monkeypatch.setattr(PostgresDoorbell, "_notify", notifying)
    return mouth


@pytest.fixture
def ringer(postgres_server):
    driver = open_postgres(schema_url())
    enqueue(driver, "first", queue="other")
    with driver.doorbell.listen([work("none")]):
        pass  # it is connected
    yield driver.doorbell
    driver.close()


def test_what_rings_while_a_notification_is_under_way_is_one_more(mouth, ringer):
    mouth.go_on.clear()
    ringer.ring([work("first")])
    while hashed(work("first")) not in "".join(said for _, said in mouth.said):
        assert mouth.speaking.acquire(timeout=SOON)
        mouth.go_on.set()
    mouth.go_on.clear()
    ringer.ring([work("held up")])
    assert mouth.speaking.acquire(timeout=SOON)
    before = len(mouth.said)

    for _ in range(3):
        for number in range(100):
            ringer.ring([work(f"q{number}")])
    mouth.go_on.set()
    assert mouth.speaking.acquire(timeout=SOON)

    assert len(mouth.said) == before + 1
    topics = mouth.said[-1][1]
    assert len(topics) == 8 * 100
    assert all(hashed(work(f"q{number}")) in topics for number in range(100))


def test_without_a_break_it_speaks_ever_more_seldom_up_to_a_bound(mouth, ringer):
    topic, least, most = work("q"), *module._CALM
    moments, over = [], threading.Event()

    def meanwhile(message):
        if hashed(topic) in message:
            moments.append(time.monotonic())
            if len(moments) < 8:
                ringer.ring([topic])
            else:
                over.set()

    mouth.meanwhile = meanwhile
    ringer.ring([topic])
    assert over.wait(SOON)

    for number in range(7):
        gap = moments[number + 1] - moments[number]
        assert gap >= min(least * 2**number, most)


def test_what_comes_with_a_sign_of_life_rings_too(ringer, postgres_server, monkeypatch):
    """The socket is silent after it, and the next look would be a long time away."""
    topic, say = work("q"), Link.say

    def saying(self, command):
        if command == "SELECT 1":
            monkeypatch.setattr(module, "_QUIET", 3 * SOON)
            postgres_server.ask(f"SELECT pg_notify('{ringer.channel}', '{hashed(topic)}')")
            assert select.select([self.connection.pgconn.socket], [], [], SOON)[0], "it arrives"
        say(self, command)

    monkeypatch.setattr(Link, "say", saying)
    monkeypatch.setattr(module, "_QUIET", 0.1)
    with ringer.listen([topic]) as bell:
        ringer.ring([work("other")])  # it sleeps for the shorter time from now on

        assert bell.wait(SOON)


def test_what_is_about_to_be_said_is_not_said_twice(mouth, ringer):
    mouth.go_on.clear()
    ringer.ring([work("held up")])
    assert mouth.speaking.acquire(timeout=SOON)
    for _ in range(100):
        ringer.ring([work("q")])
    mouth.go_on.set()
    assert mouth.speaking.acquire(timeout=SOON)

    assert "".join(said for _, said in mouth.said).count(hashed(work("q"))) == 1


def test_too_many_ends_to_be_named_wake_those_who_wait_for_one_and_no_others(ringer):
    """What a busy worker settles must not make all workers renew, beat and sweep."""
    elsewhere = PostgresDoorbell(ringer._address)
    ends = [ended(f"job {number}") for number in range(2 * module._MOST)]
    with (
        elsewhere.listen([CONTROL, SWEEP]) as asked,
        elsewhere.listen([work("idle")]) as idle,
        elsewhere.listen([work("q")]) as working,
        elsewhere.listen([ended("another")]) as waiting,
        elsewhere.listen([work("last")]) as last,
    ):
        ringer.ring([work("q"), *ends])

        assert waiting.wait(SOON)
        assert working.wait(SOON)
        ringer.ring([work("last")])
        assert last.wait(SOON)
        assert not asked.wait(0)
        assert not idle.wait(0)
    elsewhere.close()


def test_too_many_topics_of_other_kinds_ring_for_everybody(ringer):
    elsewhere = PostgresDoorbell(ringer._address)
    with elsewhere.listen([CONTROL]) as asked, elsewhere.listen([work("q")]) as working:
        ringer.ring([work(f"q{number}") for number in range(2 * module._MOST)])

        assert asked.wait(SOON)
        assert working.wait(SOON)
    elsewhere.close()


def test_a_listener_in_a_black_hole_finds_out_and_looks_again(postgres_server, monkeypatch):
    """Nothing is cut, so only the question for a sign of life can tell."""
    monkeypatch.setattr(module, "_QUIET", 0.1)
    meddler = Meddler(postgres_server.port)
    url = schema_url(timeout=1)
    listener, ringer = open_postgres(meddler.through(url)), open_postgres(url)
    enqueue(ringer, "first")
    with listener.doorbell.listen([work("q")]) as bell:
        while bell.wait(0.3):
            pass
        meddler.silent = True
        enqueue(ringer, "unheard")
        deadline = time.monotonic() + SOON
        while listener.doorbell._heard and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not listener.doorbell._heard, "it never noticed"
        meddler.silent = False

        assert bell.wait(SOON), "who missed something is woken"
        while bell.wait(0.3):
            pass
        enqueue(ringer, "heard")
        assert bell.wait(SOON)
    listener.close()
    ringer.close()
    meddler.close()


async def test_an_event_loop_does_not_wait_for_the_server(postgres_server, monkeypatch):
    monkeypatch.setattr(module, "_CONFIRMED", 60)
    meddler = Meddler(postgres_server.port)
    meddler.silent = True
    driver = open_postgres(meddler.through(schema_url(timeout=1)))
    began = time.monotonic()
    with driver.doorbell.attend([work("q")]) as bell:
        assert time.monotonic() - began < 30
        meddler.silent = False

        assert await bell.arrive(SOON), "when the server listens, everybody is woken"
    driver.close()
    meddler.close()
