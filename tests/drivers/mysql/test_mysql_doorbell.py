"""Listeners learn what other processes have written, without asking for jobs."""

import asyncio
import os
import threading
import time
from contextlib import closing, contextmanager

import pytest
from private_mysql import shared_server

from oxmill.drivers.mysql import doorbell as module
from oxmill.drivers.mysql import watching
from oxmill.drivers.mysql.address import parse
from oxmill.drivers.mysql.driver import open_mysql
from oxmill.drivers.mysql.link import Link
from oxmill.drivers.mysql.literals import Sql
from oxmill.drivers.mysql.statements import statement
from oxmill.model.claim import Claim
from oxmill.model.job import Enqueue, NewJob
from oxmill.model.query import Cancel, Filter
from oxmill.store.doorbell import CONTROL, work


@contextmanager
def opened(url):
    driver = open_mysql(url)
    try:
        yield driver
    finally:
        driver.close()


@pytest.fixture
def url():
    return shared_server().database()


def enqueue(driver, job_id):
    job = NewJob(id=job_id, queue="q", task="t", payload=b"{}")
    driver.run(driver.enqueueing.enqueue(Enqueue(jobs=(job,))))


def calm(bell):
    """Wait until what came before was heard."""
    while bell.wait(0.3):
        pass


def looking():
    return [each for each in threading.enumerate() if each.name == "oxmill-mysql-bell"]


def test_a_listener_hears_of_what_another_writes(url):
    with opened(url) as here, opened(url) as there, here.doorbell.listen([work("q")]) as bell:
        enqueue(there, "first")
        calm(bell)

        for number in range(5):
            enqueue(there, f"job-{number}")
            assert bell.wait(5)
            calm(bell)


def test_who_waits_to_be_asked_is_woken_by_nothing_else(url):
    with opened(url) as here, opened(url) as there:
        enqueue(there, "job")
        claim = Claim(queues=("q",), limit=1, lease=60_000_000, worker="w", nonce=1)
        with here.doorbell.listen([CONTROL]) as control, here.doorbell.listen([work("q")]) as bell:
            calm(bell)
            there.run(there.claiming.claim(claim))
            assert bell.wait(5)
            assert not control.wait(0.1)

            there.run(there.steering.cancel(Cancel(filter=Filter(ids=("job",)))))

            assert control.wait(5)


def test_who_waits_for_work_is_woken_before_it_is_asked_who_else_may_be_concerned(url, monkeypatch):
    woken, send = threading.Event(), Link.send

    def held_up(link, batch):
        if list(batch) == [statement("last_call", {})]:
            woken.wait(30)
        return send(link, batch)

    with opened(url) as here, opened(url) as there:
        enqueue(there, "first")
        with here.doorbell.listen([work("q")]) as bell:
            calm(bell)
            monkeypatch.setattr(Link, "send", held_up)

            enqueue(there, "second")

            heard = bell.wait(5)
            woken.set()
            assert heard


def test_what_was_numbered_first_and_committed_last_is_heard_of(url):
    with opened(url) as here, opened(url) as there:
        enqueue(there, "first")
        with (
            shared_server().client(url.rpartition("/")[2]) as late,
            late.cursor() as cursor,
            here.doorbell.listen([work("q")]) as bell,
        ):
            cursor.execute("START TRANSACTION")
            cursor.execute("INSERT INTO oxmill_changes (queue, waiting) VALUES ('x', 0)")
            enqueue(there, "second")
            calm(bell)

            cursor.execute("COMMIT")

            assert bell.wait(5)


async def test_an_event_loop_does_not_wait_for_the_first_look(url, monkeypatch):
    monkeypatch.setattr(module, "_CONFIRMED", 60)
    with opened(url) as here:
        began = time.monotonic()
        with here.doorbell.attend([work("q")]) as bell:  # there are no tables yet to look at
            assert time.monotonic() - began < 30

            await asyncio.to_thread(enqueue, here, "first")

            assert await bell.arrive(10)


@pytest.fixture
def asked(monkeypatch):
    """Every question of the doorbell's."""
    asked = []
    ask = Link.ask_again
    monkeypatch.setattr(Link, "ask_again", lambda link, q: asked.append(q) or ask(link, q))
    return asked


def test_while_nothing_is_written_the_server_looks(url, asked):
    with opened(url) as here, opened(url) as there, here.doorbell.listen([work("q")]) as bell:
        enqueue(there, "first")
        calm(bell)
        deadline = time.monotonic() + 30
        while len(asked) < 3 or len(set(asked[-3:])) > 1 or b"LOOP" not in asked[-1].packet:
            assert time.monotonic() < deadline, "the server was never left to look by itself"
            time.sleep(0.01)  # counts may be added up meanwhile, which is something written
        enqueue(there, "second")
        assert bell.wait(5)


def test_a_server_that_looks_answers_only_after_many_looks(url):
    with opened(url) as here, closing(Link(parse(url))) as link:
        enqueue(here, "first")
        seen, rows, took = [], None, 0.0
        while rows != seen:  # counts may be added up meanwhile
            seen = link.send([statement("last_change", {})])[0].rows
            ((many, number),) = seen
            asked = {"many": many, "number": number, "looks": 10, "pause": Sql(b"0.03")}
            began = time.monotonic()
            rows = link.send([statement("await_change", asked)])[0].rows
            took = time.monotonic() - began

        assert took > 0.9 * 9 * 0.03


def test_where_blocks_do_not_pass_listeners_look_by_themselves(url, asked, monkeypatch):
    monkeypatch.setattr(watching, "CALM", 0.05)
    monkeypatch.setattr(watching, "_PAUSE", Sql(b"THIS IS NO PAUSE"))
    with opened(url) as here, opened(url) as there, here.doorbell.listen([work("q")]) as bell:
        enqueue(there, "first")
        calm(bell)
        deadline = time.monotonic() + 30
        while len(set(asked)) < 2:
            assert time.monotonic() < deadline, "no block was tried"
            time.sleep(0.01)
        for number in range(3):
            enqueue(there, f"job-{number}")
            assert bell.wait(5)
            calm(bell)

        assert len({question.packet for question in asked}) == 2, "one block was tried, once"


def test_a_lost_connection_is_made_up_for(url, monkeypatch):
    monkeypatch.setattr(module, "_AGAIN", (0.05, 0.1))
    server = shared_server()
    with opened(url) as here, opened(url) as there, here.doorbell.listen([work("q")]) as bell:
        enqueue(there, "first")
        calm(bell)
        database = url.rpartition("/")[2]
        sessions = server.ask(
            f"SELECT id FROM information_schema.processlist WHERE db = '{database}'"
        )
        for (session,) in sessions:
            server.ask(f"KILL {session}")

        enqueue(there, "second")

        assert bell.wait(5)


def test_nobody_looks_where_nobody_listens(url, monkeypatch):
    monkeypatch.setattr(module, "LINGER", 0.1)
    with opened(url) as here:
        enqueue(here, "first")
        before = len(looking())
        with here.doorbell.listen([work("q")]):
            assert len(looking()) == before + 1

        deadline = time.monotonic() + 10
        while len(looking()) > before and time.monotonic() < deadline:
            time.sleep(0.02)

        assert len(looking()) == before
        with here.doorbell.listen([work("q")]) as bell, opened(url) as there:
            calm(bell)
            enqueue(there, "second")
            assert bell.wait(5)


def test_a_closed_doorbell_leaves_no_thread(url):
    before = len(looking())
    with opened(url) as here:
        bell = here.doorbell.listen([work("q")])
        assert len(looking()) == before + 1

    assert len(looking()) == before
    assert not bell.wait(0)


def test_a_forked_child_listens_for_itself(url):
    with opened(url) as here, opened(url) as there:
        enqueue(there, "first")
        with here.doorbell.listen([work("q")]) as bell:
            calm(bell)
            ready, go = os.pipe()
            child = os.fork()
            if child == 0:
                own = here.doorbell.listen([work("q")])
                calm(own)
                os.write(go, b".")
                os._exit(0 if own.wait(10) else 1)
            assert os.read(ready, 1) == b"."

            enqueue(there, "second")

            assert os.waitpid(child, 0)[1] == 0
            assert bell.wait(5)
