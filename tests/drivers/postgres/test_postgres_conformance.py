"""PostgreSQL keeps the whole contract, through each face, with and without its doorbell."""

import pytest
from kept_links import KeptLinks
from private_postgres import clean_url

from oxmill.drivers.postgres.driver import open_postgres
from oxmill.testing.conformance.suite import all_tests, worlds

LINKS = KeptLinks()


@pytest.fixture(scope="module", autouse=True)
def _links_end():
    yield
    LINKS.close()


def postgres(opening):
    driver = open_postgres(clean_url(), clock=opening.clock, doorbell=opening.doorbell)
    return LINKS.lend(driver)


world = worlds({"postgres": postgres})
globals().update(all_tests())
