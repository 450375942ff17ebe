"""A worker does not work on a store that could lose jobs unseen, unless it is told to."""

import logging
from dataclasses import replace

import pytest

from oxmill.drivers.memory.driver import open_memory
from oxmill.errors import StoreRefused
from oxmill.maintenance.vetting import Vetting
from oxmill.model.info import Finding, Level
from oxmill.observe.bus import Bus
from oxmill.queue.registry import Registry
from oxmill.store.plan import Plan
from oxmill.worker.config import worker_config
from oxmill.worker.exits import ExitCode
from oxmill.worker.worker import Worker


def finding(level):
    return Finding(
        level=level,
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

    def check(self, request):
        def steps():
            return self.findings
            yield

        return Plan("check", request, steps, writes=False)


def store(*findings):
    return replace(open_memory(), installing=Installing(findings))


@pytest.mark.parametrize(
    ("allow", "code"), [((), ExitCode.FAULT), (("maxmemory-policy",), ExitCode.OK)]
)
async def test_a_refusal_ends_the_worker_unless_it_is_allowed_by_name(allow, code):
    worker = Worker(
        store(finding(Level.REFUSE)), Registry(), worker_config(drain=True, allow=allow)
    )

    assert await worker.serve() == code


async def test_a_refusal_says_what_to_do():
    vetting = Vetting(store(finding(Level.REFUSE)), Bus(), ())

    with pytest.raises(StoreRefused, match=r"CONFIG SET.*allow="):
        await vetting.run_once()


async def test_a_warning_is_told_once(caplog):
    vetting = Vetting(store(finding(Level.WARN), finding(Level.NOTE)), Bus(), ())

    with caplog.at_level(logging.WARNING):
        await vetting.run_once()
        await vetting.run_once()

    assert [record.getMessage().count("allkeys-lru") for record in caplog.records] == [1]
