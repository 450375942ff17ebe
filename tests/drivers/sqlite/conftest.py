"""A store of its own for each test."""

import pytest
from sqlite_stage import Store

from oxmill.drivers.sqlite.driver import open_sqlite


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


@pytest.fixture
def store(path):
    driver = open_sqlite(path, mode="volatile")
    yield Store(driver, path)
    driver.close()
