"""Flows on a SQLite file whose processes are killed at each of their steps."""

import pytest

from chaos.flow_kills import KilledProcesses, zygote

__all__ = ["zygote"]


@pytest.fixture
def store(tmp_path):
    return {"url": f"sqlite:///{tmp_path}/jobs.db", "mode": "process"}


class TestKilled(KilledProcesses):
    pass
