"""Ends of many jobs at once: told where somebody listens, and only there."""

import pytest
from private_cluster import shared_cluster
from private_redis import WHEELS, Server, program_of
from redis.crc import key_slot
from redis_load import claim, do, enqueue

from oxmill.drivers.redis.driver import open_redis
from oxmill.model.flow import FlowStep, NewFlow
from oxmill.model.job import Enqueue, NewJob
from oxmill.model.settlement import Outcome, Ruling, Settle, Settlement
from oxmill.store.doorbell import ended

MANY = 40
NAMES = [f"job-{number}" for number in range(MANY)]
PATIENCE = 10


@pytest.fixture(params=[None, *WHEELS], ids=str)
def server(request, tmp_path):
    server = Server(tmp_path, program=program_of(request.param)).start()
    yield server
    server.stop()


@pytest.fixture
def driver(server):
    driver = open_redis(server.url)
    enqueue(driver, *NAMES)
    yield driver
    driver.close()


def end_all(driver, **options):
    items = tuple(
        Settlement(id=lease.id, token=lease.token, outcome=Outcome.COMPLETE, **options)
        for lease in claim(driver, MANY)
    )
    assert {each.ruling for each in do(driver, Settle(items=items))} == {Ruling.WON}
    return items


def published(server):
    with server.client() as client:
        return client.info("commandstats").get("cmdstat_publish", {}).get("calls", 0)


def test_nothing_is_told_where_nobody_listens(server, driver):
    before = published(server)

    end_all(driver)

    assert published(server) == before


def test_whoever_waits_is_woken_and_others_are_not_told(server, driver):
    listener = open_redis(server.url)
    enqueue(listener, "another")
    with listener.doorbell.listen([ended("job-7"), ended("job-17")]) as bell:
        before = published(server)

        end_all(driver)

        assert bell.wait(PATIENCE)
        assert published(server) == before + 1  # both end in a 7, which is one bucket
    listener.close()


def test_who_waits_for_a_flow_is_woken(server, driver):
    listener = open_redis(server.url)
    for name in NAMES:
        job = NewJob(id=f"{name}.0", queue="q", task="t", payload=b"{}", flow=name)
        do(driver, Enqueue(jobs=(job,), flow=NewFlow(id=name, name="f", state={})))
    end_all(driver)
    with listener.doorbell.listen([ended("job-9")]) as bell:
        while bell.wait(0.1):
            pass

        end_all(driver, flow=FlowStep())

        assert bell.wait(PATIENCE)
    listener.close()


def test_a_user_who_may_not_ask_who_listens_tells_all(server, driver):
    with server.client() as client:
        client.execute_command(
            "ACL", "SETUSER", "mill", "on", ">secret", "~*", "&*", "+@all", "-pubsub"
        )
    limited = open_redis(f"redis://mill:secret@127.0.0.1:{server.port}/0")
    with driver.doorbell.listen([ended("job-7")]) as bell:
        end_all(limited)

        assert bell.wait(PATIENCE)
    limited.close()


@pytest.mark.slow
def test_in_a_cluster_it_is_told_to_whoever_listens_elsewhere(tmp_path):
    cluster = shared_cluster()
    driver = open_redis(cluster.url, namespace=tmp_path.name)
    enqueue(driver, *NAMES)
    _, other = cluster.owner(key_slot(f"{{{tmp_path.name}:0}}".encode()))
    with other.client() as client, client.pubsub() as ear:
        ear.subscribe(f"{tmp_path.name}:bell:ended:{ord('7') % 16}")
        assert ear.get_message(timeout=PATIENCE)["type"] == "subscribe"

        end_all(driver)

        assert b"job-17" in ear.get_message(timeout=PATIENCE)["data"]
    driver.close()
