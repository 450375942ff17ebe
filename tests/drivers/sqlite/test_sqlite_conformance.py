"""The SQLite driver keeps the whole contract, through each face, with and without its doorbell."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from oxmill.drivers.sqlite.driver import open_sqlite
from oxmill.store.roles.installing import Migrate
from oxmill.testing.conformance.suite import all_tests, worlds
from oxmill.testing.operations import plan_for


@cache
def installed():
    """A store as it is made: to copy it takes a fraction of the time. How it is made is shown by
    `test_sqlite_migrations.py`."""
    with TemporaryDirectory(prefix="oxmill-") as folder:
        path = Path(folder) / "store.db"
        driver = open_sqlite(path, mode="volatile")
        driver.run(plan_for(driver, Migrate()))
        driver.close()
        assert [each.name for each in path.parent.glob("store.db-wal")] == []
        return path.read_bytes()


def sqlite(opening):
    path = opening.path / "store.db"
    path.write_bytes(installed())
    return open_sqlite(path, clock=opening.clock, doorbell=opening.doorbell, mode="volatile")


world = worlds({"sqlite": sqlite})
globals().update(all_tests())
