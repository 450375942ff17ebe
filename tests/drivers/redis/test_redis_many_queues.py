"""However many queues a claim names, no script sees to more than a bounded number of jobs."""

import pytest
from redis_load import do, job

from oxmill.drivers.redis.driver import REDIS_BOUNDS, open_redis
from oxmill.drivers.redis.script import CLAIM, CLAIM_IDS, SWEEP, Call
from oxmill.model.claim import Claim, ClaimIds
from oxmill.model.info import Sweep
from oxmill.model.job import Enqueue
from oxmill.store.roles.installing import Migrate
from oxmill.testing.clock import VirtualClock
from oxmill.testing.operations import plan_for

SECOND, BOUND = 1_000_000, REDIS_BOUNDS.cleanup_jobs
QUEUES = tuple(f"q{number:02}" for number in range(40))


class World:
    """A store whose scripts are watched: how many jobs each has moved."""

    def __init__(self, server, namespace):
        self.clock = VirtualClock()
        self.driver = open_redis(server.url, namespace=namespace, clock=self.clock)
        self.server, self.namespace = server, namespace
        self.moved = []
        do(self.driver, Migrate())

    def fill(self, each, **options):
        for queue in QUEUES:
            jobs = tuple(job(f"{queue}-{n}", queue=queue, **options) for n in range(each))
            do(self.driver, Enqueue(jobs=jobs))

    def sizes(self, kind):
        with self.server.client() as client:
            return [client.zcard(f"{{{self.namespace}:0}}:{kind}:{queue}") for queue in QUEUES]

    def watched(self, request, kind, *scripts):
        """The answer; `moved` tells by how much each script has lowered the sizes of a kind."""
        self.moved = []
        steps, reply = plan_for(self.driver, request).start(), None
        while True:
            before = self.sizes(kind)
            try:
                step = steps.send(reply)
            except StopIteration as end:
                return end.value
            calls = step.steps if not isinstance(step, Call) else (step,)
            assert {call.script for call in calls} <= set(scripts)
            replies = self.driver.transport._perform(calls, writes=True)
            reply = replies[0] if isinstance(step, Call) else tuple(replies)
            self.moved.append(sum(before) - sum(self.sizes(kind)))


@pytest.fixture
def world(redis_server, namespace):
    world = World(redis_server, namespace)
    yield world
    world.driver.close()


def claim(limit=1_000):
    return Claim(queues=QUEUES, limit=limit, lease=60 * SECOND, worker="w", nonce=1)


def test_a_claim_over_many_queues_sees_to_due_jobs_in_short_scripts(world):
    world.fill(BOUND, delay=SECOND)
    world.clock.advance(2 * SECOND)

    claimed = world.watched(claim(10), "due", CLAIM)

    assert len(claimed.jobs) == 10
    assert world.sizes("due") == [0] * len(QUEUES)  # no queue was left out
    assert max(world.moved) <= 2 * BOUND
    assert sum(world.moved) == BOUND * len(QUEUES)


def test_a_queue_with_more_than_the_bound_keeps_no_other_from_its_turn(world):
    world.fill(2 * BOUND + 10, delay=SECOND)
    world.clock.advance(2 * SECOND)

    world.watched(claim(1), "due", CLAIM)

    assert world.sizes("due") == [BOUND + 10] * len(QUEUES)
    assert max(world.moved) <= 2 * BOUND


def test_queues_in_which_nothing_is_due_are_passed_over(world):
    for queue in QUEUES[::3]:
        jobs = tuple(job(f"{queue}-{n}", queue=queue, delay=SECOND) for n in range(BOUND))
        do(world.driver, Enqueue(jobs=jobs))
    do(world.driver, Enqueue(jobs=(job("later", queue=QUEUES[1], delay=9 * SECOND),)))
    world.clock.advance(2 * SECOND)

    world.watched(claim(1), "due", CLAIM)

    assert world.sizes("due") == [0, 1] + [0] * (len(QUEUES) - 2)
    assert max(world.moved) <= 2 * BOUND


def test_leases_that_have_lapsed_are_seen_to_in_short_scripts(world):
    world.fill(20)
    assert len(do(world.driver, claim()).jobs) == 20 * len(QUEUES)
    world.clock.advance(61 * SECOND)

    claimed = world.watched(claim(1), "leases", CLAIM)

    assert len(claimed.jobs) == 1
    assert max(world.moved) < 2 * BOUND
    assert sum(world.sizes("leases")) == 1


def test_naming_jobs_of_many_queues_is_done_in_short_scripts(world):
    world.fill(BOUND, delay=SECOND)
    world.clock.advance(2 * SECOND)
    ids = tuple(f"{queue}-0" for queue in QUEUES)

    claimed = world.watched(
        ClaimIds(ids=ids, lease=60 * SECOND, worker="w", nonce=1), "due", CLAIM_IDS
    )

    assert tuple(each.id for each in claimed.jobs) == ids
    assert world.sizes("due") == [0] * len(QUEUES)
    assert max(world.moved) <= 2 * BOUND


def test_a_sweep_shares_its_bound_over_all_queues(world):
    world.fill(10, delay=SECOND)
    world.clock.advance(2 * SECOND)
    rounds, more = 0, True

    while more:
        more = world.watched(Sweep(), "due", SWEEP).more
        assert max(world.moved) <= BOUND
        rounds += 1

    assert world.sizes("due") == [0] * len(QUEUES)
    assert rounds >= 10 * len(QUEUES) // BOUND


def test_after_a_step_back_of_the_clock_a_script_looks_at_a_bounded_number_of_leases(world):
    world.fill(100)
    for limit in (99, 1):
        for queue in QUEUES:
            request = Claim(queues=(queue,), limit=limit, lease=60 * SECOND, worker="w", nonce=1)
            assert len(do(world.driver, request).jobs) == limit
        world.clock.advance(10 * SECOND)
    world.clock.advance(-15 * SECOND)  # before the last claims, after the first
    looks, more = [], True

    while more:
        with world.server.client() as client:
            client.config_resetstat()
            more = do(world.driver, Sweep()).more
            looks.append(client.info("commandstats")["cmdstat_zrevrangebyscore"]["calls"])

    assert sum(looks) == len(QUEUES)  # one each
    assert max(looks) <= 1_000 / 100
    with world.server.client() as client:
        for queue in QUEUES:
            key = f"{{{world.namespace}:0}}:leases:{queue}"
            ((_, end),) = client.zrange(key, -1, -1, withscores=True)
            assert end == world.clock.now + 60 * SECOND
