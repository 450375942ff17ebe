"""Stories of flows on MariaDB."""

import pytest
from private_mysql import shared_server

from flow_cases import FlowCases, _able
from oxmill import App

__all__ = ["_able"]


@pytest.fixture
def app():
    with App(shared_server().emptied(), mode="volatile") as made:
        yield made


class TestFlows(FlowCases):
    pass
