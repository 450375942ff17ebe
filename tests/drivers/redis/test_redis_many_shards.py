"""Jobs spread over several shards: everything holds but what relates jobs of different shards."""

import pytest
from private_redis import shared_server
from sharded_worlds import opened, unrelated_tests

from oxmill.testing.face import Face


@pytest.fixture
def world(tmp_path):
    with opened(shared_server().url, tmp_path.name, Face.ASYNC, rings=False) as world:
        yield world


globals().update(unrelated_tests())
