"""Flows on PostgreSQL while processes and the server are killed at each of their steps."""

import pytest
from private_postgres import Server, clean_url

from chaos.flow_kills import KilledProcesses, KilledServers, zygote

__all__ = ["zygote"]


@pytest.fixture
def store():
    return {"url": clean_url(), "mode": "volatile"}


@pytest.fixture(scope="module")
def mortal():
    # What is written outlives the server's processes without any waits for the disk.
    server = Server(fsync="off", full_page_writes="off").start()
    yield server, {"url": f"{server.url}?timeout=5", "mode": "process"}
    server.stop()


class TestKilled(KilledProcesses, KilledServers):
    whens = ("after",)
