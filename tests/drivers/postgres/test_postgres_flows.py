"""Stories of flows on PostgreSQL."""

import pytest
from private_postgres import clean_url

from flow_cases import FlowCases, _able
from oxmill import App

__all__ = ["_able"]


@pytest.fixture
def app():
    with App(clean_url(), mode="volatile") as made:
        yield made


class TestFlows(FlowCases):
    pass
