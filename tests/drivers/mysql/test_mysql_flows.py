"""Stories of flows on MariaDB."""

import pytest
from private_mysql import Server, shared_server

from flow_cases import FlowCases, _able, survives
from oxmill import App

__all__ = ["_able"]


@pytest.fixture
def app():
    with App(shared_server().emptied(), mode="volatile") as made:
        yield made


class TestFlows(FlowCases):
    pass


def test_flows_survive_a_server_that_is_killed_again_and_again(tmp_path):
    server = Server(tmp_path / "server").start()
    try:
        with App(f"{server.database()}?timeout=5") as killed:
            survives(killed, server)
    finally:
        server.stop()
