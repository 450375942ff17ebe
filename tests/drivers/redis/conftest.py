"""Private servers for the tests of this folder."""

from uuid import uuid4

import pytest
from private_redis import STARTED, Server, binary, missing, shared_server


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


@pytest.fixture
def namespace():
    """Of this test alone; to name one takes less than to make a folder."""
    return uuid4().hex


@pytest.fixture
def own(tmp_path):
    """A maker of servers that only this test uses."""
    servers = []

    def make(*options, **more):
        servers.append(Server(tmp_path / f"server-{len(servers)}", *options, **more).start())
        return servers[-1]

    yield make
    for server in servers:
        server.stop()
