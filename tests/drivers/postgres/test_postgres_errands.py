"""Plans that an event loop performs itself: what it leaves to threads, and how they end."""

import asyncio
import gc
import os
import threading
import time
from contextlib import contextmanager

import psycopg
import pytest
from asking import UNSURE, do, enqueue, job
from private_postgres import schema_url, shared_server

from meddler import Meddler
from oxmill.drivers.postgres.connection import Link
from oxmill.drivers.postgres.driver import open_postgres
from oxmill.drivers.postgres.wire import Wire
from oxmill.errors import OutcomeUnknown
from oxmill.model.job import Enqueue, Verdict
from oxmill.model.query import Get
from oxmill.model.unique import UniqueKey
from oxmill.testing.operations import plan_for

SOON = 20
LONG = 4_000_000


def opened(url):
    """A driver with a connection at hand."""
    driver = open_postgres(url, doorbell=False)
    enqueue(driver, "first")
    return driver


@pytest.fixture
def driver(postgres_server):
    driver = opened(schema_url())
    yield driver
    driver.close()


@pytest.fixture
def meddler(postgres_server):
    meddler = Meddler(postgres_server.port)
    yield meddler
    meddler.close()


@pytest.fixture
def said(monkeypatch):
    """What is sent, and whether the test's own thread sends it."""
    sent, here, put = [], threading.get_ident(), Wire.put

    def noting(self, several):
        words = [each if isinstance(each, str) else each.text.name for each in several]
        sent.append((words, threading.get_ident() == here))
        put(self, several)

    monkeypatch.setattr(Wire, "put", noting)
    return sent


def aenqueue(driver, *names, **options):
    request = Enqueue(jobs=tuple(job(name, **options) for name in names))
    return driver.arun(plan_for(driver, request))


def there(driver, name):
    return bool(do(driver, Get(ids=(name,))))


@contextmanager
def locked(driver):
    """Nobody can write jobs meanwhile."""
    with psycopg.connect(shared_server().url) as session:
        session.execute(f"LOCK TABLE {driver.transport._address.schema}.jobs")
        yield


async def under_way(driver, name):
    """A call that the server has begun and cannot end."""
    call = asyncio.create_task(aenqueue(driver, name))
    while not driver.transport._errands:  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(0.001)
    return call


async def test_one_statement_takes_no_thread(driver, said):
    (answer,) = await aenqueue(driver, "a")

    assert answer.verdict is Verdict.CREATED
    assert said == [(["enqueue_one"], True)]
    assert driver.transport._threads is None
    assert not driver.transport._errands


async def test_a_transaction_does_not_wait_for_the_loop(driver):
    """Its locks would be held for as long as somebody keeps the loop busy."""
    call = asyncio.create_task(aenqueue(driver, "a", unique=UniqueKey(key="k")))
    await asyncio.sleep(0)
    deadline = time.monotonic() + SOON
    while not there(driver, "a") and time.monotonic() < deadline:
        time.sleep(0.01)  # noqa: ASYNC251 - the loop is kept busy

    assert there(driver, "a")
    await call


async def test_more_than_a_socket_takes_at_once(driver, said):
    names = tuple(f"long-{n}" for n in range(5))
    await aenqueue(driver, *names, payload=os.urandom(LONG))

    assert all(here for _, here in said)
    (last,) = do(driver, Get(ids=names[-1:]))
    assert len(last.payload) == LONG


async def test_what_conflicts_is_told_as_elsewhere(driver):
    (answer,) = await aenqueue(driver, "first")

    assert answer.verdict is Verdict.DUPLICATE
    assert driver.transport._pool._open <= 2


async def test_a_silent_server_is_given_up(meddler):
    driver = opened(meddler.through(schema_url(timeout=1)))
    meddler.silent = True
    began = time.monotonic()
    with pytest.raises(UNSURE):
        await aenqueue(driver, "a")

    assert time.monotonic() - began < SOON
    meddler.silent = False
    meddler.reset()
    deadline = time.monotonic() + SOON
    while time.monotonic() < deadline:
        try:
            await aenqueue(driver, "b")
            break
        except UNSURE:
            await asyncio.sleep(0.02)
    assert there(driver, "b")
    driver.close()


async def test_an_answer_that_is_lost_is_an_unknown_outcome(meddler):
    driver = opened(meddler.through(schema_url()))
    meddler.swallow_after = b".enqueue_one("
    with pytest.raises(OutcomeUnknown):
        await aenqueue(driver, "a")

    (answer,) = await aenqueue(driver, "a")
    assert answer.verdict is Verdict.DUPLICATE
    driver.close()


async def test_who_is_cancelled_waits_for_the_end_and_the_connection_comes_back(driver):
    with locked(driver):
        call = await under_way(driver, "a")
        call.cancel()
        await asyncio.sleep(0.05)
        assert not call.done()
    with pytest.raises(asyncio.CancelledError):
        await call

    assert there(driver, "a")
    assert not driver.transport._errands
    assert driver.transport._pool._open == len(driver.transport._pool._idle)


async def test_closing_in_the_loop_finishes_what_is_under_way(driver):
    with locked(driver):
        call = await under_way(driver, "a")
    driver.close()

    (answer,) = await call
    assert answer.verdict is Verdict.CREATED


def test_closing_after_the_loop_finishes_what_is_under_way(driver):
    loop = asyncio.new_event_loop()
    with locked(driver):
        call = loop.run_until_complete(under_way(driver, "a"))
        closing = threading.Thread(target=driver.close)
        closing.start()
        time.sleep(0.05)
    closing.join(SOON)

    assert not closing.is_alive()
    assert loop.run_until_complete(call)[0].verdict is Verdict.CREATED
    loop.close()


async def test_closing_from_another_thread_waits_for_the_loop(driver):
    with locked(driver):
        call = await under_way(driver, "a")
        closing = asyncio.create_task(asyncio.to_thread(driver.close))
        await asyncio.sleep(0.05)
        assert not closing.done()
    (answer,) = await call
    await closing

    assert answer.verdict is Verdict.CREATED


def test_a_loop_that_is_closed_amid_a_call_keeps_no_connection(postgres_server):
    driver = opened(schema_url(pool=1))
    loop = asyncio.new_event_loop()
    with locked(driver):
        loop.run_until_complete(under_way(driver, "a")).cancel()
        loop.close()

    (answer,) = enqueue(driver, "b")  # there is one connection only

    assert answer.verdict is Verdict.CREATED
    assert there(driver, "a")
    driver.close()


async def test_an_answer_that_came_while_the_loop_was_kept_busy_counts(driver):
    """Also for a loop that looks at the time first, and only then at what has arrived."""
    call = asyncio.create_task(aenqueue(driver, "a"))
    await asyncio.sleep(0)
    (errand,) = driver.transport._errands
    deadline = time.monotonic() + SOON
    while not there(driver, "a") and time.monotonic() < deadline:
        time.sleep(0.01)  # noqa: ASYNC251 - somebody keeps the loop busy
    time.sleep(0.1)  # noqa: ASYNC251 - the answer comes after what others see
    errand._timer.cancel()
    errand._give_up()

    (answer,) = await call
    assert answer.verdict is Verdict.CREATED


async def test_a_child_process_leaves_the_call_of_its_parent_alone(driver):
    with locked(driver):
        call = await under_way(driver, "a")
        child = os.fork()
        if not child:
            left = [each for each in gc.get_objects() if isinstance(each, Link)]
            for link in left:
                link.close()
            os._exit(len(driver.transport._errands))
        _, status = os.waitpid(child, 0)  # noqa: ASYNC222 - nothing else is to run meanwhile
        assert status == 0
    (answer,) = await call
    (later,) = await aenqueue(driver, "b")  # on the same connection, which nobody has ended

    assert answer.verdict is later.verdict is Verdict.CREATED
