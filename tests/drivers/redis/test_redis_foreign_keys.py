"""A key that somebody else has put among ours stops a script, but loses no job."""

import pytest
from redis_load import SECOND, claim, do, enqueue, settle

from oxmill.drivers.redis.driver import open_redis
from oxmill.errors import StoreError
from oxmill.model.info import Sweep
from oxmill.model.job import Verdict
from oxmill.model.query import Find
from oxmill.model.settings import PutSettings, QueueSettings
from oxmill.model.settlement import Outcome, Ruling
from oxmill.model.unique import UniqueKey

WAYS = {
    "plain": ({}, ("line:q", "ids", "jobs", "queues", "filled")),
    "later": ({"delay": 1}, ("due:q", "moments")),
    "grouped": ({"group": "g"}, ("lane:q\x1fg", "groups:q", "lanes:q")),
    "keyed": ({"unique": UniqueKey(key="k")}, ("line:q", "uniques")),
    "long": ({"fields": {"user": 1}}, ("line:q", "ids", "jobs", "field:user=i1")),
    "long and grouped": ({"fields": {"user": 1}, "group": "g"}, ("lane:q\x1fg", "groups:q")),
    "long and later": ({"fields": {"user": 1}, "delay": 1}, ("due:q",)),
    "expiring": ({"expires_in": 60 * SECOND}, ("expiring:q", "line:q")),
}


@pytest.fixture
def store(redis_server, request):
    driver = open_redis(redis_server.url, namespace=request.node.name)
    with redis_server.client() as client:
        yield driver, client, f"{{{request.node.name}:0}}"
    driver.close()


@pytest.mark.parametrize(
    ("options", "name"),
    [
        pytest.param(options, name, id=f"{way}-{name.partition(chr(31))[0]}")
        for way, (options, names) in WAYS.items()
        for name in names
    ],
)
def test_an_enqueue_that_was_stopped_can_be_repeated(redis_server, options, name):
    namespace = f"foreign {name.replace(chr(31), '')} {sorted(options)}"
    driver, key = open_redis(redis_server.url, namespace=namespace), f"{{{namespace}:0}}:{name}"
    with redis_server.client() as client:
        claim(driver)  # the keys were looked at when the connection was made
        client.set(key, "of somebody else")

        with pytest.raises(StoreError):
            enqueue(driver, "a", **options)
        client.delete(key)

        assert enqueue(driver, "a", **options)[0].verdict is Verdict.CREATED
        assert [job.id for job in claimed(driver)] == ["a"]
        assert [job.id for job in do(driver, Find()).jobs] == ["a"]
    driver.close()


def claimed(driver):
    """What can be had; due jobs are seen to by the claim."""
    found = []
    for nonce in range(1, 50):
        found += claim(driver, 10, nonce=nonce)
        if found:
            break
    return [*found, *claim(driver, 10, nonce=99)]


@pytest.mark.parametrize(
    "options", [{}, {"fields": {"user": 1}}, {"group": "g"}], ids=["plain", "long", "grouped"]
)
def test_a_claim_that_was_stopped_leaves_the_jobs_in_line(store, options):
    driver, client, root = store
    enqueue(driver, "late", priority=7, **options)
    enqueue(driver, "early", priority=-3, **options)
    client.set(f"{root}:leases:q", "of somebody else")

    for limit in (1, 2, 3):
        with pytest.raises(StoreError):
            claim(driver, limit)
    client.delete(f"{root}:leases:q")

    jobs = claim(driver, 3)
    assert [job.id for job in jobs] == ["early", "late"]
    assert [job.token.attempt for job in jobs] == [1, 1]


def test_a_claim_of_the_only_job_that_was_stopped_leaves_it_at_its_rank(store):
    driver, client, root = store
    enqueue(driver, "late", priority=7)
    client.set(f"{root}:leases:q", "of somebody else")

    with pytest.raises(StoreError):
        claim(driver, 3)
    client.delete(f"{root}:leases:q")
    enqueue(driver, "early", priority=5)

    assert [job.id for job in claim(driver, 3)] == ["early", "late"]


@pytest.mark.parametrize("outcome", [Outcome.COMPLETE, Outcome.RETRY, Outcome.RELEASE])
@pytest.mark.parametrize("name", ["groups:q", "line:q", "due:q", "lane:q\x1fg"])
def test_a_settlement_that_was_stopped_leaves_the_lease(store, outcome, name):
    driver, client, root = store
    enqueue(driver, "a", group="g")
    (lease,) = claim(driver)
    dump = client.dump(f"{root}:{name}")
    client.delete(f"{root}:{name}")
    client.set(f"{root}:{name}", "of somebody else")

    options = {} if outcome is Outcome.COMPLETE else {"delay": 1}
    try:
        stopped = settle(driver, lease, outcome, **options) is None
    except StoreError:
        stopped = True
    client.delete(f"{root}:{name}")
    if dump is not None:
        client.restore(f"{root}:{name}", 0, dump)

    if stopped:
        assert client.zcard(f"{root}:leases:q") == 1
        assert settle(driver, lease, outcome, **options).ruling is Ruling.WON
    ends = [job.id for job in claimed(driver)]
    assert ends == ([] if outcome is Outcome.COMPLETE else ["a"])


def test_a_sweep_that_was_stopped_leaves_the_lease(store):
    driver, client, root = store
    do(driver, PutSettings(queue="q", settings=QueueSettings()))
    enqueue(driver, "a")
    assert claim(driver, lease=1)
    client.set(f"{root}:line:q", "of somebody else")

    with pytest.raises(StoreError):
        do(driver, Sweep(limit=10))
    client.delete(f"{root}:line:q")

    assert do(driver, Sweep(limit=10)).lapsed == 1
    assert [job.id for job in claim(driver, nonce=2)] == ["a"]
