"""A worker does not work on a store that could lose jobs unseen, unless it is told to."""

import asyncio
import logging
from dataclasses import replace

import pytest

from oxmill.drivers.memory.driver import open_memory
from oxmill.errors import StoreRefused
from oxmill.maintenance import vetting
from oxmill.maintenance.vetting import Vetting
from oxmill.model.info import Finding, Level
from oxmill.observe.bus import Bus
from oxmill.queue.registry import Registry
from oxmill.store.plan import Plan
from oxmill.worker.config import worker_config
from oxmill.worker.exits import ExitCode
from oxmill.worker.worker import Worker


def finding(level, **more):
    return Finding(
        level=level,
        **more,
        name="maxmemory-policy",
        found="allkeys-lru",
        wanted="noeviction",
        risk="jobs are thrown away",
        remedy="CONFIG SET maxmemory-policy noeviction",
    )


class Installing:
    """A store that has something to say about itself."""

    def __init__(self, findings):
        self.findings = findings
        self.answered = asyncio.Event()
        self.looks = 0

    def check(self, request):
        def steps():
            self.answered.set()
            self.looks += 1
            return self.findings
            yield

        return Plan("check", request, steps, writes=False)


def store(*findings):
    return replace(open_memory(), installing=Installing(findings))


async def test_a_worker_does_not_start_on_a_store_that_is_refused():
    worker = Worker(store(finding(Level.REFUSE)), Registry(), worker_config(drain=True))

    with pytest.raises(StoreRefused):
        await worker.serve()


async def test_it_starts_if_the_finding_is_allowed_by_name():
    config = worker_config(drain=True, allow=["maxmemory-policy"])
    worker = Worker(store(finding(Level.REFUSE)), Registry(), config)

    assert await worker.serve() == ExitCode.OK


async def test_it_ends_if_the_store_becomes_unsafe_later(monkeypatch):
    monkeypatch.setattr(vetting, "EVERY", 0.01)
    driver = store()
    worker = Worker(driver, Registry(), worker_config())
    working = asyncio.ensure_future(worker.serve())
    await asyncio.wait_for(driver.installing.answered.wait(), 10)

    driver.installing.findings = (finding(Level.REFUSE),)

    assert await asyncio.wait_for(working, 10) == ExitCode.FAULT


async def test_a_refusal_says_what_to_do():
    agent = Vetting(store(finding(Level.REFUSE)), Bus(), ())

    with pytest.raises(StoreRefused, match=r"CONFIG SET.*allow="):
        await agent.run_once()


async def test_a_warning_is_told_once(caplog):
    agent = Vetting(store(finding(Level.WARN), finding(Level.NOTE)), Bus(), ())

    with caplog.at_level(logging.WARNING):
        await agent.run_once()
        await agent.run_once()

    assert [record.getMessage().count("allkeys-lru") for record in caplog.records] == [1]


PASSING = finding(Level.REFUSE, passes=True)


async def test_a_worker_does_not_start_on_a_store_that_is_failing_over():
    worker = Worker(store(PASSING), Registry(), worker_config(drain=True))

    with pytest.raises(StoreRefused):
        await worker.serve()


async def test_what_passes_by_itself_does_not_end_a_worker_that_runs(monkeypatch):
    monkeypatch.setattr(vetting, "EVERY", 0.01)
    driver = store()
    installing = driver.installing
    worker = Worker(driver, Registry(), worker_config())
    working = asyncio.ensure_future(worker.serve())
    await asyncio.wait_for(installing.answered.wait(), 10)

    installing.findings = (PASSING,)
    seen = installing.looks
    async with asyncio.timeout(10):
        while installing.looks < seen + 5:  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.001)
    assert not working.done()
    installing.findings = (PASSING, finding(Level.REFUSE))  # and this would lose jobs

    assert await asyncio.wait_for(working, 10) == ExitCode.FAULT


async def test_what_passes_by_itself_is_told_once_each_time_it_comes_and_goes(caplog):
    driver = store()
    agent = Vetting(driver, Bus(), ())

    with caplog.at_level(logging.INFO):
        for findings in ((), (PASSING,), (PASSING,), (), (), (PASSING,)):
            driver.installing.findings = findings
            await agent.run_once()

    told = [record.getMessage().split(":")[0] for record in caplog.records]
    assert told == ["unsafe store", "store", "unsafe store"]
