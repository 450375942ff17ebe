"""Stories of flows on MariaDB."""

import pytest
from private_mysql import Server, shared_server

from flow_cases import FlowCases, _able, survives
from oxmill import App
from store_kills import flows_outlive_their_server

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


def test_flows_outlive_a_server_that_is_killed_at_each_of_their_steps(tmp_path, monkeypatch):
    server = Server(tmp_path / "server").start()
    try:
        with App(f"{server.database()}?timeout=5") as felled:
            flows_outlive_their_server(felled, server, monkeypatch)
    finally:
        server.stop()
