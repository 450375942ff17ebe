"""Every event loop has its own, and what ended loops had goes."""

import asyncio
import gc
import weakref

from oxmill.store.per_loop import PerLoop


class Thing:
    """Knows its loop, as a connection does."""

    def __init__(self):
        self.loop = asyncio.get_running_loop()


def mine(things):
    async def ask():
        loop = asyncio.get_running_loop()
        return things.of(loop, Thing), things.of(loop, Thing)

    return asyncio.run(ask())


def test_a_loop_keeps_its_own():
    first, again = mine(PerLoop())

    assert first is again


def test_another_loop_has_another_and_ended_ones_are_let_go():
    things = PerLoop()
    first = weakref.ref(mine(things)[0])
    assert first() is not None

    second, _ = mine(things)
    gc.collect()

    assert first() is None
    assert things.take_all() == [second]
    assert things.take_all() == []


def test_of_loops_that_run_beside_each_other_each_is_kept():
    things, one, two = PerLoop(), asyncio.new_event_loop(), asyncio.new_event_loop()
    kept = things.of(one, object), things.of(two, object)

    assert (things.of(one, object), things.of(two, object)) == kept
    assert kept[0] is not kept[1]
    one.close()
    two.close()
