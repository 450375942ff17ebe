"""A store of layout 1, in which groups were only labels, is brought to lanes."""

from redis_load import claim, do, enqueue, settle

from oxmill.drivers.redis.driver import open_redis
from oxmill.model.info import ListQueues
from oxmill.model.settings import PutSettings, QueueSettings
from oxmill.model.state import State
from oxmill.store.roles.installing import Migrate


def back_to_layout_1(client, tag):
    """Jobs of groups stand in the line, and nobody counts those that run."""
    for key in client.keys(f"{tag}:lane:*"):
        for member, score in client.zrange(key, 0, -1, withscores=True):
            client.zadd(f"{tag}:line:q", {member: score})
        client.delete(key)
    client.delete(f"{tag}:groups:q", f"{tag}:lanes:q", f"{tag}:rules")
    client.hdel(f"{tag}:tallies", "now:3:q")
    client.hset(tag, "version", 1)


def test_jobs_of_groups_come_to_lanes_and_running_ones_are_counted(own):
    server = own()
    driver = open_redis(server.url)
    do(driver, Migrate())
    for first in range(1, 801, 50):
        enqueue(driver, *(f"a{n}" for n in range(first, first + 50)), group="a")
    enqueue(driver, "b1", group="b")
    enqueue(driver, "c1")
    (running,) = claim(driver)
    with server.client() as client:
        back_to_layout_1(client, "{oxmill:0}")

    assert do(driver, Migrate()).current == 2
    assert do(driver, Migrate()).current == 2

    do(driver, PutSettings(queue="q", settings=QueueSettings(group_concurrency=1)))
    (queue,) = do(driver, ListQueues(queues=("q",))).items
    assert queue.counts == {State.WAITING: 801, State.RUNNING: 1}
    assert running.id == "a1"
    assert [job.id for job in claim(driver, limit=5, nonce=2)] == ["b1", "c1"]
    settle(driver, running)
    assert [job.id for job in claim(driver, limit=5, nonce=3)] == ["a2"]
    driver.close()
