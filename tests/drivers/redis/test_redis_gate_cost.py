"""What gates cost: as much with 100,000 lanes or jobs behind them as with a few."""

import pytest
from test_redis_cost import BATCH, Counted

from oxmill.model.claim import Claim
from oxmill.model.job import Enqueue, NewJob
from oxmill.model.rule import PutRules, Rule, RuleKey, RuleKind, Scope
from oxmill.model.settings import PutSettings, QueueSettings
from oxmill.model.settlement import Outcome
from oxmill.store.plan import together
from oxmill.testing.operations import plan_for

MANY = 30_000
HIGH = "1000000/s burst 1000000"
LIMITED = QueueSettings(concurrency=MANY, rate=HIGH, group_concurrency=50, group_rate=HIGH)
PAUSED = Rule(kind=RuleKind.PAUSE, target="slow", scope=Scope.TASK)
FAR = 2**52


class Gated(Counted):
    """A driver on a server of its own, with a queue that has limits."""

    def __init__(self, path, monkeypatch):
        super().__init__(path, monkeypatch)
        self.put(LIMITED)

    def put(self, settings):
        self.do(PutSettings(queue="q", settings=settings))

    def do(self, request):
        return self.driver.run(plan_for(self.driver, request))

    def fill(self, name, count, *, group=None, task="t", queue="q"):
        """Jobs `name`1, `name`2, …, each in a group of its own unless they have none."""
        for first in range(1, count + 1, 50):
            jobs = tuple(
                NewJob(
                    id=f"{name}{n}",
                    queue=queue,
                    task=task,
                    payload=b"{}",
                    group=group and f"{group}{n}",
                )
                for n in range(first, min(first + 50, count + 1))
            )
            self.do(Enqueue(jobs=jobs))

    def close_groups(self, name, count):
        """As if a job of each of these groups had asked to wait."""
        with self.server.client() as client:
            for first in range(1, count + 1, 1_000):
                numbers = range(first, min(first + 1_000, count + 1))
                names = {f"closed\x1fq\x1f{name}{n}": FAR for n in numbers}
                client.zadd("{oxmill:0}:meters", names)

    def size(self, key):
        with self.server.client() as client:
            return client.zcard(f"{{oxmill:0}}:{key}")

    def take(self, limit=BATCH, nonce=1):
        request = Claim(queues=("q",), limit=limit, lease=60_000_000, worker="w", nonce=nonce)
        return [job.id for job in self.do(request).jobs]

    def cost_of_a_claim(self):
        """Of a full one in the short way, and of one that asks for more than there is."""
        return self.cost(self.claim(nonce=2)), self.cost(self.claim(nonce=3, limit=BATCH))


@pytest.fixture
def gated(tmp_path, monkeypatch):
    world = Gated(tmp_path, monkeypatch)
    yield world
    world.close()


def test_a_claim_costs_the_same_with_many_open_groups(gated):
    gated.fill("few", 5 * BATCH, group="f")
    few = gated.cost_of_a_claim()
    gated.fill("many", MANY, group="m")

    assert gated.cost_of_a_claim() == few
    for trips, scripts, commands in few:
        assert (trips, scripts) == (1, 1)
        assert commands <= 2 * BATCH + 25


def test_settling_jobs_of_groups_and_claiming_the_next_is_one_round_trip(gated):
    gated.fill("job", 4 * BATCH, group="g")
    jobs = gated.driver.run(gated.claim()).jobs
    settle = gated.settle(jobs, outcome=Outcome.COMPLETE, result=b"null")

    trips, scripts, commands = gated.cost(together(settle, gated.claim(nonce=5)))

    assert (trips, scripts) == (1, 2)
    assert commands <= 2 * BATCH + 25 + 16 + 11


def test_a_claim_costs_the_same_with_many_parked_lanes(gated):
    gated.fill("few", 10 * BATCH, group="f")
    few = gated.cost_of_a_claim()
    gated.fill("closed", MANY, group="c")
    gated.close_groups("c", MANY)
    while gated.size("parked:q\x1f1") < MANY:
        gated.take()
    gated.fill("more", 10 * BATCH, group="g")

    assert gated.size("lanes:q") == 10 * BATCH
    assert gated.cost_of_a_claim() == few


def test_all_lanes_open_at_once_in_one_short_script_and_in_order(gated):
    gated.fill("closed", MANY, group="c")
    gated.close_groups("c", MANY)
    while gated.size("parked:q\x1f1") < MANY:
        gated.take()
    with gated.server.client() as client:
        client.delete("{oxmill:0}:meters")
    put = plan_for(gated.driver, PutSettings(queue="q", settings=LIMITED))

    trips, scripts, commands = gated.cost(put)
    taken = [job_id for nonce in range(9, 12) for job_id in gated.take(nonce=nonce)]

    assert (trips, scripts) == (1, 1)
    assert commands <= 25
    first = int(taken[0].removeprefix("closed"))
    assert taken == [f"closed{first + n}" for n in range(3 * BATCH)]


def test_a_claim_costs_the_same_with_many_jobs_set_aside(gated):
    gated.fill("few", 10 * BATCH, group="f")
    gated.do(PutRules(set=(PAUSED,)))
    few = gated.cost_of_a_claim()
    gated.fill("slow", MANY, task="slow", group="s")
    while gated.size("aside:q\x1fpause:task:slow") < MANY:
        gated.take()
    gated.fill("more", 10 * BATCH, group="g")
    # A queue in which nothing is behind a gate has no set of such gates to keep.
    many = gated.cost_of_a_claim()

    assert [cost[:2] for cost in many] == [cost[:2] for cost in few]
    for before, after in zip(few, many, strict=True):
        assert abs(after[2] - before[2]) <= 3
    gated.do(PutRules(lift=(RuleKey(kind=RuleKind.PAUSE, target="slow", scope=Scope.TASK),)))
    # It brings back a bounded number of jobs, whatever waits behind them.
    assert gated.cost(gated.claim(nonce=4))[2] <= 30 * BATCH
