"""PostgreSQL keeps the whole contract, through each face, with and without its doorbell."""

from private_postgres import clean_url

from oxmill.drivers.postgres.driver import open_postgres
from oxmill.testing.conformance.suite import all_tests, worlds


def postgres(opening):
    return open_postgres(clean_url(), clock=opening.clock, doorbell=opening.doorbell)


world = worlds({"postgres": postgres})
globals().update(all_tests())
