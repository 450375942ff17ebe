"""Private servers for the tests of this folder."""

import pytest
from private_redis import STARTED, binary, missing, shared_server


@pytest.fixture(scope="session", autouse=True)
def _shared_servers():
    """All tests that need no fault share one server of a kind; they are stopped at the end."""
    if binary() is None:
        missing("redis-server on the path")
    yield
    for server in STARTED:
        server.stop()


@pytest.fixture
def redis_server():
    return shared_server()
