"""Stories of flows on SQLite."""

import pytest

from flow_cases import FlowCases, _able
from oxmill import App

__all__ = ["_able"]


@pytest.fixture
def app(tmp_path):
    with App(f"sqlite:///{tmp_path}/jobs.db") as made:
        yield made


class TestFlows(FlowCases):
    pass
