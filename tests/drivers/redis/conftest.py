"""A private server for the tests of this folder."""

import os

import pytest
from private_redis import binary, shared_server


@pytest.fixture(scope="session", autouse=True)
def _one_server():
    """All tests that need no fault share one server; it is stopped at the end."""
    if binary() is None:
        if "CI" in os.environ:
            pytest.fail("there is no redis-server on the path, and CI must skip no store")
        pytest.skip("there is no redis-server on the path; `make servers` installs one")
    yield
    if shared_server.cache_info().currsize:
        shared_server().stop()


@pytest.fixture
def redis_server():
    return shared_server()
