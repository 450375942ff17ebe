"""Workers killed at every step of fan-out and join on PostgreSQL."""

import pytest
from private_postgres import clean_url

from chaos.kill_cases import KillCases, scene_on


@pytest.fixture
def flows(tmp_path):
    with scene_on(tmp_path, clean_url(), "volatile") as scene:
        yield scene


class TestKilled(KillCases):
    pass
