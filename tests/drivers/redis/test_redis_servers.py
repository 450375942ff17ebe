"""The oldest Redis and the newest Valkey keep the whole contract too.

One through the blocking face and with its doorbell, the other through the async face and without:
what differs between servers does not depend on that.
"""

import pytest
from private_redis import WHEELS, shared_server

from oxmill.drivers.redis.driver import open_redis
from oxmill.store.roles.installing import Migrate
from oxmill.testing.clock import VirtualClock
from oxmill.testing.conformance.suite import all_tests
from oxmill.testing.conformance.world import World
from oxmill.testing.face import Face
from oxmill.testing.operations import plan_for

KINDS = [
    pytest.param((name, face, rings), id=f"{name}-{face}-{'bell' if rings else 'silent'}")
    for name, face, rings in zip(WHEELS, Face, (True, False), strict=True)
]


@pytest.fixture(params=KINDS)
def world(request, namespace):
    name, face, rings = request.param
    clock, url = VirtualClock(), shared_server(name).url
    driver = open_redis(url, namespace=namespace, clock=clock, doorbell=rings)
    driver.run(plan_for(driver, Migrate()))
    yield World(driver, face, clock, rings)
    driver.close()


globals().update(all_tests())


@pytest.mark.parametrize(
    ("name", "field", "version"),
    [("redis-6.2", "redis_version", "6.2."), ("valkey-9", "valkey_version", "9.")],
)
def test_the_wheels_hold_the_servers_they_are_taken_for(name, field, version):
    with shared_server(name).client() as client:
        assert client.info("server")[field].startswith(version)
