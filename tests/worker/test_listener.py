"""Rings are passed on at once, and each of them once."""

import asyncio

import pytest

from oxmill.drivers.memory.driver import open_memory
from oxmill.observe.bus import Bus
from oxmill.worker.listener import Listener


@pytest.fixture
async def heard():
    """What was heard, a driver whose doorbell can be rung, and a listener in its first wait."""
    rings, driver = [], open_memory()
    listener = Listener(driver, Bus(), ["work:q"], lambda: rings.append("ring"))
    task = asyncio.ensure_future(listener.run())
    await asyncio.sleep(0)
    yield rings, driver.doorbell
    listener.stop()
    driver.doorbell.ring(["work:q"])
    await task


async def test_a_ring_is_passed_on_before_anybody_else_has_a_turn(heard):
    rings, doorbell = heard

    doorbell.ring(["work:q"])

    assert rings == ["ring"]


async def test_a_ring_is_passed_on_once(heard):
    rings, doorbell = heard

    doorbell.ring(["work:q"])
    for _ in range(10):
        await asyncio.sleep(0.001)

    assert rings == ["ring"]


async def test_rings_outside_of_a_wait_are_passed_on_too(heard):
    rings, doorbell = heard

    doorbell.ring(["work:q"])
    await asyncio.sleep(0)  # it has heard that one, and does not wait again yet
    doorbell.ring(["work:q"])
    for _ in range(10):
        await asyncio.sleep(0.001)

    assert rings == ["ring", "ring"]
