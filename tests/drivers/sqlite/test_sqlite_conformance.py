"""The SQLite driver keeps the whole contract, through each face, with and without its doorbell."""

from oxmill.drivers.sqlite.driver import open_sqlite
from oxmill.testing.conformance.suite import all_tests, worlds


def sqlite(opening):
    return open_sqlite(
        opening.path / "store.db", clock=opening.clock, doorbell=opening.doorbell, mode="volatile"
    )


world = worlds({"sqlite": sqlite})
globals().update(all_tests())
