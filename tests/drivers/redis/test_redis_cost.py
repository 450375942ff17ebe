"""What the hot path costs in round trips, scripts and commands: a change that adds one shows here."""

import time

import pytest
from private_redis import Server

from oxmill.drivers.redis.driver import REDIS_BOUNDS, open_redis
from oxmill.drivers.redis.lane import Lane
from oxmill.model.claim import Claim, Renew, Renewal
from oxmill.model.job import Enqueue, NewJob
from oxmill.model.settings import PutSettings, QueueSettings
from oxmill.model.settlement import Outcome, Settle, Settlement
from oxmill.store.plan import together

BATCH = 100


class Counted:
    """A driver on a server of its own, which counts what it is asked."""

    def __init__(self, path, monkeypatch):
        self.server = Server(path).start()
        self.driver = open_redis(self.server.url)
        self.round_trips = 0
        true_exchange = Lane._exchange

        def exchange(lane, batch):
            self.round_trips += 1
            true_exchange(lane, batch)

        monkeypatch.setattr(Lane, "_exchange", exchange)

    def close(self):
        self.driver.close()
        self.server.stop()

    def enqueue(self, count, *, first=1, **options):
        jobs = tuple(
            NewJob(id=f"job-{n}", queue="q", task="t", payload=b"{}", **options)
            for n in range(first, first + count)
        )
        return self.driver.enqueueing.enqueue(Enqueue(jobs=jobs))

    def claim(self, nonce=1, limit=BATCH):
        claim = Claim(queues=("q",), limit=limit, lease=60_000_000, worker="w", nonce=nonce)
        return self.driver.claiming.claim(claim)

    def settle(self, jobs, **options):
        items = (Settlement(id=job.id, token=job.token, **options) for job in jobs)
        return self.driver.settling.settle(Settle(items=tuple(items)))

    def cost(self, plan):
        """Round trips, scripts, and commands that the scripts ran."""
        self.driver.run(self.claim(limit=1, nonce=99))  # the connection is fresh
        with self.server.client() as client:
            client.config_resetstat()
            self.round_trips = 0
            self.driver.run(plan)
            asked = {name: s["calls"] for name, s in client.info("commandstats").items()}
        others = (
            "cmdstat_config|resetstat",
            "cmdstat_config",
            "cmdstat_info",
            "cmdstat_client|setinfo",
        )
        for name in others:
            asked.pop(name, 0)
        asked.pop("cmdstat_script|load", asked.pop("cmdstat_script", 0))
        scripts = asked.pop("cmdstat_evalsha", 0)
        return self.round_trips, scripts, sum(asked.values())


@pytest.fixture
def counted(tmp_path, monkeypatch):
    world = Counted(tmp_path, monkeypatch)
    yield world
    world.close()


def test_one_enqueue_is_one_round_trip_and_a_handful_of_commands(counted):
    counted.driver.run(counted.enqueue(1, first=0))

    assert counted.cost(counted.enqueue(1)) == (1, 1, 9)


def test_a_claim_of_the_only_job_is_one_round_trip_and_a_handful_of_commands(counted):
    counted.driver.run(counted.enqueue(2))  # of which the first is gone by then

    assert counted.cost(counted.claim(limit=5)) == (1, 1, 10)


@pytest.mark.parametrize("delay", [0, 60_000_000])
def test_a_batch_costs_the_same_commands_whatever_its_size(counted, delay):
    few, pages = counted.cost(counted.enqueue(20, delay=delay)), 1

    many = counted.cost(counted.enqueue(250, first=1_000, delay=delay))

    assert few[:2] == many[:2] == (1, 1)
    assert many[2] - few[2] <= 2 * pages + 1
    assert few[2] <= 10


@pytest.mark.parametrize("keep", [0, None])
def test_settling_a_batch_and_claiming_the_next_is_one_round_trip(counted, keep):
    counted.driver.run(counted.enqueue(250, keep=keep))
    jobs = counted.driver.run(counted.claim()).jobs
    assert len(jobs) == BATCH
    settle = counted.settle(jobs, outcome=Outcome.COMPLETE, result=b"null")

    cost = counted.cost(together(settle, counted.claim(nonce=2)))

    assert cost == (1, 2, 20 + 1)  # the last asks whether anybody listens, and nobody does


def test_renewing_a_batch_costs_the_same_whatever_its_size(counted):
    counted.driver.run(counted.enqueue(2 * BATCH))
    jobs = counted.driver.run(counted.claim()).jobs
    items = tuple(Renewal(id=job.id, token=job.token) for job in jobs)
    renew = counted.driver.claiming.renew(Renew(items=items, lease=60_000_000))

    assert counted.cost(renew) == (1, 1, 8)


def test_a_claim_costs_the_same_before_any_backlog(counted):
    """Nothing looks through what waits, runs or has ended."""

    def commands():
        return counted.cost(counted.claim(nonce=time.monotonic_ns()))

    counted.driver.run(counted.enqueue(250))
    few = commands()
    for first in range(1_000, 21_000, 250):
        counted.driver.run(counted.enqueue(250, first=first))
    many = commands()

    assert many == few == (1, 1, 10)


def test_many_jobs_are_claimed_and_settled_by_several_short_scripts(counted):
    for first in range(1, 1_001, 250):
        counted.driver.run(counted.enqueue(250, first=first))

    assert counted.cost(counted.claim(limit=800))[:2] == (4, 4)
    jobs = counted.driver.run(counted.claim(limit=199, nonce=3)).jobs
    assert len(jobs) == 199
    assert counted.cost(counted.settle(jobs, outcome=Outcome.COMPLETE))[:2] == (1, 2)


@pytest.mark.parametrize("outcome", [Outcome.FAIL, Outcome.RETRY, Outcome.RELEASE, Outcome.CANCEL])
def test_what_settles_the_long_way_is_cut_into_scripts_of_a_quarter(counted, outcome):
    counted.driver.run(counted.enqueue(BATCH))
    jobs = counted.driver.run(counted.claim()).jobs

    assert counted.cost(counted.settle(jobs, outcome=outcome))[:2] == (1, 4)


@pytest.mark.parametrize("queues", [("q",), ("q", "r")])
def test_the_long_way_of_a_claim_gives_no_more_than_a_hundred_at_once(counted, queues):
    for queue in queues:
        for first in range(0, 150, 50):
            jobs = tuple(
                NewJob(id=f"{queue}{n}", queue=queue, task="t", payload=b"{}", fields={"n": n})
                for n in range(first, first + 50)
            )
            counted.driver.run(counted.driver.enqueueing.enqueue(Enqueue(jobs=jobs)))
    claim = Claim(queues=queues, limit=149, lease=60_000_000, worker="w", nonce=1)
    plan = counted.driver.claiming.claim(claim)

    assert counted.cost(plan)[:2] == (2, 2)
    again = counted.driver.claiming.claim(
        Claim(queues=queues, limit=1, lease=1, worker="w", nonce=2)
    )
    assert (len(counted.driver.run(again).jobs) == 1) is (len(queues) > 1)


def test_the_answer_to_a_turn_is_written_at_once(counted):
    """A server writes 64 KiB at once; the rest would wait for the turn behind. Half of that is for what it may have to
    say besides."""
    most = REDIS_BOUNDS.turn_jobs
    jobs = [NewJob(id=f"{n:032x}", queue="q", task="send", payload=b"x" * 100) for n in range(most)]
    counted.driver.run(counted.driver.enqueueing.enqueue(Enqueue(jobs=tuple(jobs))))
    with counted.server.client() as client:
        before = client.info("stats")["total_net_output_bytes"]
        claimed = counted.driver.run(counted.claim(limit=most))
        written = client.info("stats")["total_net_output_bytes"] - before

    assert len(claimed.jobs) == most
    assert written < 32_768


def test_a_turn_within_limits_goes_the_short_way(counted):
    """As claim_gated.lua bounds it: a worker that asked for more would be given its jobs by the long way."""
    most, limits = REDIS_BOUNDS.turn_jobs, QueueSettings(concurrency=1_000)
    counted.driver.run(
        counted.driver.steering.put_settings(PutSettings(queue="q", settings=limits))
    )
    for first in range(1, 3 * most, 50):
        counted.driver.run(counted.enqueue(50, first=first, group=f"g{first}"))

    round_trips, scripts, commands = counted.cost(counted.claim(limit=most))
    assert (round_trips, scripts) == (1, 1)
    assert commands <= most / 2
