"""A private server for the tests of this folder."""

import os

import pytest
from private_mysql import binary, shared_server, stop_shared


@pytest.fixture(scope="session", autouse=True)
def _one_server():
    """All tests that need no fault share one server; it is stopped at the end."""
    if binary() is None:
        if "CI" in os.environ:
            pytest.fail("there is no mariadbd on the path, and CI must skip no store")
        pytest.skip("there is no mariadbd on the path; `make servers` installs one")
    yield
    stop_shared()


@pytest.fixture
def mysql_server():
    return shared_server()
