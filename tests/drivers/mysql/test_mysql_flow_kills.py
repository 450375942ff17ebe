"""Flows on MariaDB while processes and the server are killed at each of their steps."""

import pytest
from private_mysql import QUICK, Server, shared_server

from chaos.flow_kills import KilledProcesses, KilledServers, zygote

__all__ = ["zygote"]


@pytest.fixture
def store():
    return {"url": shared_server().emptied(), "mode": "volatile"}


@pytest.fixture(scope="module")
def mortal(tmp_path_factory):
    # What is written outlives the server's process without any waits for the disk.
    server = Server(tmp_path_factory.mktemp("mysql") / "server", *QUICK).start()
    yield server, {"url": f"{server.database()}?timeout=5", "mode": "process"}
    server.stop()


class TestKilled(KilledProcesses, KilledServers):
    whens = ("after",)
