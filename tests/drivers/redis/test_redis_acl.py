"""The rights that the documentation names are enough, and a right that lacks is told as that."""

import time
from itertools import count
from pathlib import Path

import pytest
from private_redis import WHEELS, Server, program_of
from redis_load import claim, do, enqueue, job, settle

from oxmill.drivers.redis.driver import open_redis
from oxmill.errors import StoreRefused
from oxmill.model.info import EventsAfter, ListQueues, Prune, Sweep
from oxmill.model.job import Enqueue, Verdict
from oxmill.model.query import Cancel, Filter, Find, Purge
from oxmill.model.settlement import Outcome, Ruling
from oxmill.store.doorbell import work
from oxmill.store.roles.installing import Check, Migrate, Version

PAGE = Path(__file__).parents[3] / "docs" / "operations" / "redis.md"


def rights():
    (line,) = (line for line in PAGE.read_text().splitlines() if line.startswith("ACL SETUSER"))
    return line.split()[3:]


@pytest.fixture(params=[None, *WHEELS], ids=str)
def server(request, tmp_path):
    server = Server(tmp_path, program=program_of(request.param)).start()
    yield server
    server.stop()


def user(server, *words):
    with server.client() as client:
        client.execute_command("ACL", "SETUSER", "mill", "reset", *words)
    return open_redis(f"redis://mill:secret@127.0.0.1:{server.port}/0")


def test_the_documented_rights_are_enough(server):
    driver = user(server, *rights())

    assert do(driver, Version()).newest
    assert do(driver, Migrate()).current
    found = {finding.name: finding.found for finding in do(driver, Check())}
    assert enqueue(driver, "a", "b", "c", group="g", fields={"user": 1})
    assert enqueue(driver, "d", delay=60_000_000)
    leases = claim(driver, 2)
    assert settle(driver, leases[0], result=b"1").ruling is Ruling.WON
    assert settle(driver, leases[1], Outcome.RETRY, delay=1).ruling is Ruling.WON
    assert len(do(driver, Find()).jobs) == 4
    assert do(driver, ListQueues()).items
    do(driver, Sweep())
    do(driver, Prune())
    do(driver, Cancel(filter=Filter(queues=("q",))))
    do(driver, Purge(filter=Filter(queues=("q",))))
    do(driver, EventsAfter(seq=0))
    assert "unknown" not in found.values()
    driver.close()


def test_the_documented_rights_let_the_doorbell_ring(server):
    driver = user(server, *rights())
    enqueue(driver, "a")  # the server is reached

    with driver.doorbell.listen([work("q")]) as bell:
        eventually_rings(driver, bell)
    driver.close()


def eventually_rings(driver, bell):
    deadline = time.monotonic() + 20
    for number in count():
        enqueue(driver, f"again-{number}")
        if bell.wait(1):
            return
        assert time.monotonic() < deadline


async def test_the_documented_rights_are_enough_for_a_loop(server):
    driver = user(server, *rights())

    (answer,) = await driver.arun(driver.enqueueing.enqueue(Enqueue(jobs=(job("a"),))))

    assert answer.verdict is Verdict.CREATED
    driver.close()


@pytest.mark.parametrize("lacking", ["+time", "+@sortedset", "+evalsha"])
def test_a_right_that_lacks_is_told_as_that(server, lacking):
    driver = user(server, *(word for word in rights() if word != lacking))

    with pytest.raises(StoreRefused, match="ACL"):
        enqueue(driver, "a")
    driver.close()
