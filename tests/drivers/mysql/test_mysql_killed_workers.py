"""Workers killed at every step of fan-out and join on MariaDB."""

import pytest
from private_mysql import shared_server

from chaos.kill_cases import KillCases, scene_on


@pytest.fixture
def flows(tmp_path):
    with scene_on(tmp_path, shared_server().emptied(), "volatile") as scene:
        yield scene


class TestKilled(KillCases):
    pass
