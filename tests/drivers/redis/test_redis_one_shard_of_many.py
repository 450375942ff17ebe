"""Of several shards, each keeps the whole contract for the jobs that live in it."""

import pytest
from private_redis import shared_server
from sharded_worlds import all_in_one, opened

from oxmill.testing.conformance.suite import all_tests
from oxmill.testing.face import Face


@pytest.fixture
def world(namespace, monkeypatch):
    all_in_one(monkeypatch)
    with opened(shared_server().url, namespace, Face.BLOCKING, rings=True) as world:
        yield world


globals().update(all_tests())
