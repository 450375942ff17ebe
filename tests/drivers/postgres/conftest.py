"""A private server for the tests of this folder."""

import os

import pytest
from private_postgres import programs, shared_server, stop_shared


@pytest.fixture(scope="session", autouse=True)
def _one_server():
    """All tests that need no fault share one server; it is stopped at the end."""
    if programs() is None:
        if "CI" in os.environ:
            pytest.fail("there is no PostgreSQL server here, and CI must skip no store")
        pytest.skip("there is no PostgreSQL server here; `make servers` installs one")
    yield
    stop_shared()


@pytest.fixture
def postgres_server():
    return shared_server()
