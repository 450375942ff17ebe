"""Other versions of PostgreSQL than the system's keep the whole contract too: the oldest that is promised,
the newest, and one between.

Through the blocking face and with their doorbell: what differs between servers does not depend on that.
"""

import os

import pytest
from kept_links import KeptLinks
from private_postgres import OTHERS, clean_url, other_programs, shared_server

from oxmill.drivers.postgres.driver import open_postgres
from oxmill.drivers.postgres.findings import OLDEST
from oxmill.store.roles.installing import Migrate
from oxmill.testing.clock import VirtualClock
from oxmill.testing.conformance.suite import all_tests
from oxmill.testing.conformance.world import World
from oxmill.testing.face import Face
from oxmill.testing.operations import plan_for

FRESH = "16"
"""Where each test opens sessions of its own, so that a store is seen to be right from its first call on."""
LINKS = {version: KeptLinks() for version in OTHERS if version != FRESH}


@pytest.fixture(scope="module", autouse=True)
def _links_end():
    yield
    for links in LINKS.values():
        links.close()


@pytest.fixture(params=OTHERS)
def version(request):
    """12 is fetched by `make servers`, the others are of the development tools, where there is a wheel."""
    if other_programs(request.param) is None:
        if "CI" in os.environ:
            pytest.fail(f"there is no PostgreSQL {request.param}, and CI must skip no store")
        pytest.skip(f"there is no PostgreSQL {request.param} here; `make servers` fetches it")
    return request.param


@pytest.fixture
def world(version):
    clock = VirtualClock()
    driver = open_postgres(clean_url(version), clock=clock, doorbell=True)
    if version != FRESH:
        LINKS[version].lend(driver)
    driver.run(plan_for(driver, Migrate()))
    yield World(driver, Face.BLOCKING, clock, rings=True)
    driver.close()


globals().update(all_tests())


def test_each_is_the_server_it_is_taken_for(version):
    ((told,),) = shared_server(version).ask("SHOW server_version")
    assert told.startswith(f"{version}.")


def test_the_oldest_that_is_promised_is_among_them():
    assert min(map(int, OTHERS)) * 10_000 == OLDEST
