"""A world per test: a store, tasks, workers that are stopped at the end."""

import pytest

from oxmill.drivers.memory.driver import open_memory
from oxmill.drivers.sqlite.driver import open_sqlite

from .world import World


@pytest.fixture(params=["memory", "sqlite"])
def driver(request, tmp_path):
    """Each test of the worker runs on both stores."""
    if request.param == "memory":
        opened = open_memory()
    else:
        opened = open_sqlite(tmp_path / "jobs.db", mode="volatile")
    yield opened
    opened.close()


@pytest.fixture
async def world(driver):
    """Tasks and workers on that store."""
    made = World(driver)
    yield made
    await made.close()


@pytest.fixture
async def quick():
    """The same in memory only, for what has nothing to do with the store."""
    driver = open_memory()
    made = World(driver)
    yield made
    await made.close()
    driver.close()
