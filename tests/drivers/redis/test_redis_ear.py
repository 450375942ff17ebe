"""The doorbell within an event loop: rung across processes, back after a cut, gone with its loop."""

import asyncio
import gc
import threading
import weakref

import pytest
from redis_load import enqueue

from meddler import Meddler
from oxmill.drivers.redis.driver import open_redis
from oxmill.model.info import ListQueues
from oxmill.store.doorbell import work
from oxmill.testing.operations import plan_for

PATIENCE = 10


@pytest.fixture
def meddler(redis_server):
    meddler = Meddler(redis_server.port)
    yield meddler
    meddler.close()


@pytest.fixture
def pair(redis_server, meddler, tmp_path):
    """The same store twice: one listens through the meddler, the other enqueues."""
    here = open_redis(meddler.through(redis_server.url), namespace=tmp_path.name, mode="process")
    there = open_redis(redis_server.url, namespace=tmp_path.name, mode="process")
    yield here, there
    here.close()
    there.close()


async def settled(bell):
    """The server has begun to listen, and nothing else is to be heard."""
    assert await bell.arrive(PATIENCE)
    while await bell.arrive(0.05):
        pass


async def test_it_is_rung_without_a_thread(pair):
    here, there = pair
    with here.doorbell.attend([work("q")]) as bell:
        await settled(bell)
        await asyncio.to_thread(enqueue, there, "a")

        assert await bell.arrive(PATIENCE)
        assert "oxmill-redis-bell" not in {thread.name for thread in threading.enumerate()}


async def test_other_queues_are_not_heard(pair):
    here, there = pair
    with here.doorbell.attend([work("another")]) as bell:
        await settled(bell)
        await asyncio.to_thread(enqueue, there, "a")

        assert not await bell.arrive(0.2)


async def test_it_is_rung_once_the_connection_is_back_after_a_cut(pair, meddler):
    here, there = pair
    with here.doorbell.attend([work("q")]) as bell:
        await settled(bell)
        meddler.reset()
        await settled(bell)
        await asyncio.to_thread(enqueue, there, "b")

        assert await bell.arrive(PATIENCE)


async def test_a_bell_that_is_closed_leaves_the_others_listening(pair):
    here, there = pair
    with here.doorbell.attend([work("q")]) as bell:
        here.doorbell.attend([work("q")]).close()
        await settled(bell)
        await asyncio.to_thread(enqueue, there, "c")

        assert await bell.arrive(PATIENCE)


def test_outside_of_a_loop_a_thread_listens(pair):
    here, there = pair
    with here.doorbell.attend([work("q")]) as bell:
        enqueue(there, "d")

        assert bell.wait(PATIENCE)


def test_it_ends_with_its_loop(pair):
    """Unclosed sockets and tasks would fail the test by their warnings."""
    here, there = pair

    async def once(name):
        bell = here.doorbell.attend([work("q")])
        await settled(bell)
        await asyncio.to_thread(enqueue, there, name)
        return await bell.arrive(PATIENCE)

    assert [asyncio.run(once(name)) for name in "ef"] == [True, True]


def test_loops_that_have_ended_are_not_kept(pair):
    here, _ = pair
    loops = weakref.WeakSet()

    async def once():
        loops.add(asyncio.get_running_loop())
        here.doorbell.attend([work("q")]).close()
        await here.arun(plan_for(here, ListQueues()))

    for _ in range(5):
        asyncio.run(once())
    gc.collect()

    assert len(loops) <= 1
