"""Stories of flows on Redis."""

import pytest

from flow_cases import FlowCases, _able
from oxmill import App

__all__ = ["_able"]


@pytest.fixture
def app(redis_server, tmp_path):
    with App(f"{redis_server.url}?namespace={tmp_path.name}", mode="process") as made:
        yield made


class TestFlows(FlowCases):
    pass
