"""Stories of flows on PostgreSQL."""

import pytest
from private_postgres import Server, clean_url

from flow_cases import FlowCases, _able, survives
from oxmill import App

__all__ = ["_able"]


@pytest.fixture
def app():
    with App(clean_url(), mode="volatile") as made:
        yield made


class TestFlows(FlowCases):
    pass


def test_flows_survive_a_server_that_is_killed_again_and_again():
    server = Server().start()
    try:
        with App(f"{server.url}?timeout=5") as killed:
            survives(killed, server)
    finally:
        server.stop()
