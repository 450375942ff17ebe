"""What a store was made as is written down at its first use, and looked at by everybody."""

import logging
import shutil

import pytest
from click.testing import CliRunner
from redis_load import UNSURE, claim, do, enqueue, job, settle

from oxmill import App
from oxmill.cli.main import main
from oxmill.drivers.redis import meeting
from oxmill.drivers.redis.driver import open_redis
from oxmill.errors import OutcomeUnknown, SchemaMismatch, StoreReplaced
from oxmill.model.info import ListQueues
from oxmill.model.job import Enqueue, Verdict
from oxmill.model.query import Find
from oxmill.model.settlement import Ruling
from oxmill.store.roles.installing import Check, Migrate, Version
from oxmill.testing.operations import plan_for

ROOT = "{oxmill:0}"


def everything(driver):
    """Calls of an app, of a worker and of the command line."""
    yield lambda: enqueue(driver, "x")
    yield lambda: claim(driver)
    yield lambda: do(driver, ListQueues())
    yield lambda: do(driver, Version())


async def aenqueue(driver, name):
    return await driver.arun(driver.enqueueing.enqueue(Enqueue(jobs=(job(name),))))


def test_the_first_use_gives_a_store_its_layout(own):
    server = own()
    with App(server.url) as app, server.client() as client:
        assert client.keys() == []  # looking is no use

        @app.task
        def hello():
            pass

        hello.enqueue()

        made = client.hgetall(ROOT)
        assert made[b"version"] == b"2"
        assert made[b"shards"] == b"1"
        assert len(made[b"identity"]) == 16
        other = open_redis(server.url)
        assert do(other, Version()).current == 2
        enqueue(other, "b")
        do(other, Migrate())
        assert client.hget(ROOT, "identity") == made[b"identity"]
        other.close()


@pytest.mark.parametrize("shards", [1, 3])
async def test_who_only_looks_leaves_an_empty_store_as_it_is(own, shards):
    server = own()
    driver = open_redis(server.url, shards=shards)
    for request in (Version(), Check(deep=True), ListQueues(), Find(), ListQueues()):
        do(driver, request)
        await driver.arun(plan_for(driver, request))
    with server.client() as client:
        assert client.keys() == []
        await aenqueue(driver, "a")
        assert client.hget(ROOT, "shards") == str(shards).encode()
    driver.close()


def test_jobs_of_a_release_that_wrote_no_layout_are_no_empty_store(own):
    server = own()
    driver = open_redis(server.url)
    enqueue(driver, "a")
    driver.close()
    with server.client() as client:
        client.hdel(ROOT, "version", "shards", "identity")
        driver = open_redis(server.url)

        assert do(driver, Version()).current == 2
        assert [each.id for each in claim(driver)] == ["a"]
        assert client.hget(ROOT, "version") == b"2"
        driver.close()


def test_a_layout_of_the_future_is_refused_by_all(own):
    server = own()
    with server.client() as client:
        client.hset(ROOT, "version", 99)
        driver = open_redis(server.url)
        for call in everything(driver):
            with pytest.raises(SchemaMismatch, match="layout 99"):
                call()
        assert client.hgetall(ROOT) == {b"version": b"99"}
        assert client.keys() == [ROOT.encode()]
    driver.close()


async def test_a_layout_of_the_future_is_refused_in_a_loop(own):
    server = own()
    with server.client() as client:
        client.hset(ROOT, "version", 99)
    driver = open_redis(server.url)
    for name in "ab":
        with pytest.raises(SchemaMismatch, match="upgrade oxmill"):
            await aenqueue(driver, name)
    driver.close()


@pytest.mark.parametrize(("made", "given"), [(4, 1), (1, 4), (4, 8), (8, 4)])
def test_another_number_of_shards_is_refused_by_all(own, made, given):
    server = own()
    first = open_redis(server.url, shards=made)
    enqueue(first, *map(str, range(40)))
    with server.client() as client:
        keys = client.keys()
        other = open_redis(server.url, shards=given)
        for call in everything(other):
            with pytest.raises(SchemaMismatch, match=f"shards={made}"):
                call()
        assert sorted(client.keys()) == sorted(keys)
    assert len(claim(first, 100)) == 40
    first.close()
    other.close()


async def test_another_number_of_shards_is_refused_in_a_loop(own):
    server = own()
    first, other = open_redis(server.url, shards=4), open_redis(server.url, shards=3)
    await aenqueue(first, "a")

    for number in range(10):
        with pytest.raises(SchemaMismatch, match="shards=4"):
            await aenqueue(other, f"job-{number}")
    first.close()
    other.close()


def test_a_key_of_another_type_is_told_when_the_connection_is_made(own):
    server = own()
    with server.client() as client:
        client.set(f"{ROOT}:jobs", "of somebody else")
    driver = open_redis(server.url)

    with pytest.raises(SchemaMismatch, match=":0}:jobs"):
        enqueue(driver, "a")
    driver.close()


def test_an_emptied_store_is_noticed_under_an_open_connection(own, monkeypatch):
    server = own()
    driver = open_redis(server.url)
    enqueue(driver, "a")
    with server.client() as client:
        client.flushall()
    monkeypatch.setattr(meeting, "EVERY", 0.0)
    driver.transport.close()  # the next connection greets at every call
    with pytest.raises(StoreReplaced, match="was emptied"):
        enqueue(driver, "b")
    with server.client() as client:
        assert client.keys() == []  # nothing was written
        assert enqueue(driver, "b")[0].verdict is Verdict.CREATED
        client.flushall()
        with pytest.raises(StoreReplaced):
            claim(driver)
        assert claim(driver) == ()
        assert client.hget(ROOT, "identity")
    driver.close()


def test_a_store_is_looked_at_again_after_a_while(own, monkeypatch):
    monkeypatch.setattr(meeting, "EVERY", 0.05)
    server = own()
    driver = open_redis(server.url)
    enqueue(driver, "a")
    with server.client() as client:
        client.flushall()

    with pytest.raises(StoreReplaced):
        [enqueue(driver, f"b{number}") for number in range(1_000_000)]
    driver.close()


async def test_an_emptied_store_is_noticed_in_a_loop(own, monkeypatch):
    monkeypatch.setattr(meeting, "EVERY", 0.05)
    server = own()
    driver = open_redis(server.url)
    await aenqueue(driver, "a")
    with server.client() as client:
        client.flushall()

    with pytest.raises(StoreReplaced):
        [await aenqueue(driver, f"b{number}") for number in range(1_000_000)]
    assert (await aenqueue(driver, "c"))[0].verdict is Verdict.CREATED
    driver.close()


def after_a_restart(call):
    """The old connection may have been used too lately to be looked at: then its end is told first."""
    try:
        return call()
    except OutcomeUnknown:
        return call()


def test_another_store_at_the_same_address_is_noticed(own):
    server = own()
    driver = open_redis(server.url)
    enqueue(driver, "a")
    server.kill()  # without a log it comes back empty
    server.start()
    with server.client() as client:
        client.flushall()
    newcomer = open_redis(server.url)
    enqueue(newcomer, "b")

    with pytest.raises(StoreReplaced, match="another store"):
        after_a_restart(lambda: enqueue(driver, "c"))

    assert enqueue(driver, "c")[0].verdict is Verdict.CREATED
    driver.close()
    newcomer.close()


def test_a_restored_old_snapshot_is_noticed(own, tmp_path):
    server = own("--dbfilename", "dump.rdb")
    driver = open_redis(server.url)
    enqueue(driver, "a")
    (old,) = claim(driver)
    with server.client() as client:
        client.save()
    shutil.copy(server.path / "dump.rdb", tmp_path / "old.rdb")
    enqueue(driver, "b", "c")
    driver.transport.close()
    do(driver, ListQueues())  # a new connection knows how far the store is
    server.kill()
    shutil.copy(tmp_path / "old.rdb", server.path / "dump.rdb")
    server.start()

    with pytest.raises(StoreReplaced, match="older copy of itself, from 2 jobs"):
        after_a_restart(lambda: claim(driver))

    assert settle(driver, old).ruling is Ruling.WON
    driver.close()


def test_a_restart_that_keeps_everything_is_no_other_store(own):
    server = own("--appendonly", "yes", "--appendfsync", "always")
    driver = open_redis(server.url)
    enqueue(driver, "a")
    server.kill()
    server.start()

    for _ in range(3):
        try:
            jobs = claim(driver)
        except StoreReplaced:
            raise
        except UNSURE:
            continue
        break

    assert [each.id for each in jobs] == ["a"]
    driver.close()


def test_a_producer_is_warned_of_a_server_that_evicts(own, caplog):
    server = own("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")
    with App(server.url) as app, caplog.at_level(logging.WARNING):

        @app.task
        def hello():
            pass

        hello.enqueue()
        hello.enqueue()

    (told,) = (each for each in caplog.records if "maxmemory-policy" in each.getMessage())
    assert "allkeys-lru" in told.getMessage()
    driver = open_redis(server.url)
    assert "maxmemory-policy" in {finding.name for finding in do(driver, Check())}
    driver.close()


def test_a_store_of_which_nothing_is_promised_is_not_warned_of(own, caplog):
    server = own("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")
    driver = open_redis(server.url, mode="volatile")

    enqueue(driver, "a")

    assert not caplog.records
    driver.close()


def test_the_command_line_refuses_another_number_of_shards(own):
    server = own()
    driver = open_redis(server.url, shards=4)
    enqueue(driver, *map(str, range(40)))
    driver.close()

    for words in (("doctor",), ("status",), ("jobs", "list")):
        told = CliRunner().invoke(main, [*words, "--url", server.url])
        assert told.exit_code != 0
        assert "shards=4" in told.output + told.stderr

    url = f"{server.url}?shards=4&mode=volatile"
    assert CliRunner().invoke(main, ["doctor", "--url", url]).exit_code == 0


def test_the_command_line_shows_no_password():
    url = "redis://u:hunter2@127.0.0.1:1/0?timeout=abc"
    told = CliRunner().invoke(main, ["jobs", "list", "--url", url])

    assert told.exit_code != 0
    assert "timeout" in told.output + told.stderr
    assert "hunter2" not in told.output + told.stderr
