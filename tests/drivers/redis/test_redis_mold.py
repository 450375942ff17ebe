"""Single plain jobs are stored as a batch of one would store them, byte for byte, by a shorter way."""

import pytest

from oxmill.drivers.redis.driver import open_redis
from oxmill.drivers.redis.mold import Cast, Mold
from oxmill.drivers.redis.record import ASIDE_BYTES
from oxmill.errors import OxmillError
from oxmill.model.job import Enqueue, NewJob, Verdict
from oxmill.store.prepared import BatchOfOne

PLAIN = NewJob(id="", queue="q", task="t", payload=b"")
ODD = {
    "delay": {"delay": 1},
    "moment": {"run_at": 10**15},
    "expiry": {"expires_in": 9},
    "group": {"group": "g"},
    "fields": {"fields": {"a": "b"}},
    "unsound": {"queue": ""},
}


@pytest.fixture
def driver(redis_server, namespace):
    driver = open_redis(redis_server.url, namespace=namespace)
    yield driver
    driver.close()


@pytest.mark.parametrize("more", ODD.values(), ids=ODD)
def test_a_kind_that_is_not_plain_has_no_mold(driver, more):
    like = NewJob(**{"id": "", "queue": "q", "task": "t", "payload": b"", **more})

    assert isinstance(driver.enqueueing.prepare(like), BatchOfOne)


def test_a_kind_over_several_shards_has_no_mold(redis_server, namespace):
    driver = open_redis(redis_server.url, namespace=namespace, shards=2)

    assert isinstance(driver.enqueueing.prepare(PLAIN), BatchOfOne)
    driver.close()


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"priority": -7, "keep": 0},
        {"max_attempts": 3, "crash_limit": 1},
        {"tags": ("x", "y"), "headers": {"h": "v"}, "timeout": 9},
        {"content_type": "text/plain"},
    ],
)
@pytest.mark.parametrize("job_id", ["a", "0198c0de-7e57-7abc-8def-0123456789ab"])
def test_the_same_is_sent_as_for_a_batch_of_one(driver, more, job_id):
    like = NewJob(**{"id": "", "queue": "q", "task": "t", "payload": b"", **more})
    mold = driver.enqueueing.prepare(like)
    assert isinstance(mold, Mold)

    short = mold.enqueue(job_id, b"\0 payload")
    usual = mold.usual.enqueue(job_id, b"\0 payload")

    assert type(short.start) is Cast
    assert type(usual.request) is Enqueue
    assert short.request.jobs == usual.request.jobs
    assert next(short.start()) == next(usual.start())
    assert driver.run(short)[0].verdict is Verdict.CREATED
    assert driver.run(usual)[0].verdict is Verdict.DUPLICATE


@pytest.mark.parametrize(
    ("job_id", "payload"),
    [("", b""), ("a\n", b""), ("é", b""), ("a", b"p" * (ASIDE_BYTES + 1)), (7, b""), ("a", "text")],
)
def test_what_is_not_plain_about_one_job_goes_the_usual_way(driver, job_id, payload):
    mold = driver.enqueueing.prepare(PLAIN)
    try:
        usual = mold.usual.enqueue(job_id, payload)
    except OxmillError as refusal:
        with pytest.raises(type(refusal)):
            mold.enqueue(job_id, payload)
    else:
        assert mold.enqueue(job_id, payload).request == usual.request
