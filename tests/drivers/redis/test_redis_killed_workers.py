"""Workers killed at every step of fan-out and join on Redis."""

import pytest

from chaos.kill_cases import KillCases, scene_on


@pytest.fixture
def flows(redis_server, tmp_path):
    with scene_on(tmp_path, f"{redis_server.url}?namespace={tmp_path.name}", "process") as scene:
        yield scene


class TestKilled(KillCases):
    pass
