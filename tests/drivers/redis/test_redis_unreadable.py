"""Jobs that cannot be read, on Redis."""

import msgspec
import pytest

from oxmill import App
from oxmill.drivers.redis.record import pack_id
from unreadable_cases import UnreadableCases


@pytest.fixture
def app(redis_server, tmp_path):
    with App(f"{redis_server.url}?namespace={tmp_path.name}", mode="volatile") as made:
        yield made


@pytest.fixture
def damage(redis_server, tmp_path):
    root = f"{{{tmp_path.name}:0}}"

    def spoil(job_id, shape):
        with redis_server.client() as client:
            number = client.hget(f"{root}:ids", pack_id(job_id))
            blob = client.hget(f"{root}:jobs", number)
            client.hset(f"{root}:jobs", number, _described_as(blob, shape))

    return spoil


def _described_as(blob, shape):
    """The record with another description, between its standing and its payload."""
    start = 7 + blob[0]
    middle = start + int.from_bytes(blob[1:4])
    end = middle + int.from_bytes(blob[4:7])
    described = _words(shape)
    return blob[:4] + len(described).to_bytes(3) + blob[7:middle] + described + blob[end:]


def _words(shape):
    fields = [word for name, value in shape.get("fields", {}).items() for word in (name, value)]
    headers, tags = shape.get("headers", {}), shape.get("tags", [])
    return msgspec.msgpack.encode(["ok", "", -1, headers, "", tags, fields])


class TestUnreadable(UnreadableCases):
    pass
