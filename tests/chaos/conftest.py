"""Worker processes on one SQLite file."""

import json

import pytest

from .scene import Scene


@pytest.fixture
def scene(tmp_path):
    made = Scene(tmp_path)
    yield made
    made.let_go()
    made.close()


@pytest.fixture(autouse=True)
def _store(monkeypatch, tmp_path):
    store = {"url": f"sqlite:///{tmp_path}/jobs.db"}
    monkeypatch.setenv("CHAOS_STORE", json.dumps(store))
