"""Many claimers and settlers over several connections: limits hold in every recorded history, groups
keep their order, and nothing is left behind."""

import random
import threading
from collections import Counter, defaultdict
from contextlib import ExitStack

import pytest
from redis_load import SECOND, do, job

from oxmill.drivers.redis.driver import open_redis
from oxmill.model.claim import Claim
from oxmill.model.info import ListQueues
from oxmill.model.job import Enqueue
from oxmill.model.rule import PutRules, Rule, RuleKey, RuleKind, Scope
from oxmill.model.settings import PutSettings, QueueSettings
from oxmill.model.settlement import Outcome, Ruling, Settle, Settlement
from oxmill.model.state import State
from oxmill.rules.rate import rate
from oxmill.store.roles.installing import Migrate

WORKERS, GROUPS, EACH = 8, 12, 25
TOTAL = GROUPS * EACH


class History:
    """What happened, told by all workers: starts after their claim was answered, ends before their
    settlement is sent. So no more ran than is told here."""

    def __init__(self):
        self.guard = threading.Lock()
        self.starts = []
        self.running = defaultdict(set)
        self.most = Counter()
        self.won = Counter()
        self.surprises = []

    def started(self, at, lease):
        with self.guard:
            self.starts.append((at, lease.group, lease.id))
            for name in ("", lease.group):
                self.running[name].add(lease.id)
                self.most[name] = max(self.most[name], len(self.running[name]))

    def ends(self, lease):
        with self.guard:
            for name in ("", lease.group):
                self.running[name].discard(lease.id)

    @property
    def done(self):
        return sum(self.won.values()) >= TOTAL


class Crowd:
    """Workers with a connection each, let loose at one moment."""

    def __init__(self, url, namespace):
        self.history = History()
        self.stack = ExitStack()
        self.drivers = [open_redis(url, namespace=namespace) for _ in range(WORKERS)]
        for driver in self.drivers:
            self.stack.callback(driver.close)
        do(self.drivers[0], Migrate())
        self.barrier = threading.Barrier(WORKERS)
        self.outcomes = [Outcome.COMPLETE, Outcome.COMPLETE, Outcome.RELEASE]
        self.settings = QueueSettings()
        self.meddled = False

    def fill(self, settings):
        self.settings, first = settings, self.drivers[0]
        do(first, PutSettings(queue="q", settings=settings))
        jobs = [job(f"{n:03}-{g}", group=f"g{g}") for n in range(EACH) for g in range(GROUPS)]
        for at in range(0, len(jobs), 50):
            do(first, Enqueue(jobs=tuple(jobs[at : at + 50])))

    def run(self):
        with self.stack:
            threads = [
                threading.Thread(target=self._guarded, args=(driver, number))
                for number, driver in enumerate(self.drivers)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)
            assert self.history.surprises == []
            (queue,) = do(self.drivers[0], ListQueues(queues=("q",))).items
            return queue.counts

    def _guarded(self, driver, number):
        try:
            self._work(driver, random.Random(number))
        except Exception as surprise:
            self.history.surprises.append(surprise)

    def _work(self, driver, dice):
        self.barrier.wait(20)
        idle = 0
        while not self.history.done and idle < 3_000:
            request = Claim(
                queues=("q",),
                limit=dice.randint(1, 6),
                lease=60 * SECOND,
                worker="w",
                nonce=dice.getrandbits(40),
            )
            answer = do(driver, request)
            idle = 0 if answer.jobs else idle + 1
            for lease in answer.jobs:
                self.history.started(answer.now, lease)
            if self.meddled:
                self._meddle(driver, dice)
            self._settle(driver, answer.jobs, dice)

    def _meddle(self, driver, dice):
        """Somebody changes rules and settings all the while; what is closed opens again."""
        group = f"g{dice.randrange(GROUPS)}"
        for key in (
            RuleKey(kind=RuleKind.PAUSE, target=group, scope=Scope.GROUP),
            RuleKey(kind=RuleKind.BLOCK, target="t", scope=Scope.TASK),
        ):
            if dice.random() < 0.1:
                rule = Rule(kind=key.kind, target=key.target, scope=key.scope)
                do(driver, PutRules(set=(rule,), operator=True))
                do(driver, PutRules(lift=(key,), operator=True))
        if dice.random() < 0.05:
            do(driver, PutSettings(queue="q", settings=self.settings))

    def _settle(self, driver, leases, dice):
        outcome = dice.choice(self.outcomes)
        closes = dice.choice([None, Scope.GROUP]) if outcome is Outcome.RELEASE else None
        items = [
            Settlement(id=each.id, token=each.token, outcome=outcome, closes=closes, delay=2_000)
            for each in leases
        ]
        for lease in leases:
            self.history.ends(lease)
        for settled in do(driver, Settle(items=tuple(items))):
            assert settled.ruling is Ruling.WON
            with self.history.guard:
                self.history.won[settled.id] += settled.state is State.SUCCEEDED


@pytest.fixture
def crowd(redis_server, tmp_path):
    return Crowd(redis_server.url, tmp_path.name)


@pytest.mark.parametrize("meddled", [False, True])
@pytest.mark.parametrize(("most", "of_group"), [(9, EACH), (TOTAL, 2)])
def test_no_history_exceeds_a_concurrency(crowd, most, of_group, meddled):
    crowd.fill(QueueSettings(concurrency=most, group_concurrency=of_group))
    crowd.meddled = meddled

    counts = crowd.run()

    assert counts == {State.SUCCEEDED: TOTAL}
    assert 2 < crowd.history.most[""] <= most
    assert all(0 < crowd.history.most[f"g{g}"] <= of_group for g in range(GROUPS))


@pytest.mark.parametrize(
    ("queue", "group"), [("400/s burst 20", "1000/s"), ("100000/s", "50/s burst 2")]
)
def test_no_history_exceeds_a_rate(crowd, queue, group):
    crowd.fill(QueueSettings(rate=queue, group_rate=group))

    counts = crowd.run()

    by_group = defaultdict(list)
    for at, name, _ in crowd.history.starts:
        by_group[name].append(at)
    assert counts == {State.SUCCEEDED: TOTAL}
    assert too_many([at for at, _, _ in crowd.history.starts], queue) == []
    assert [each for times in by_group.values() for each in too_many(times, group)] == []


def too_many(times, written):
    """Windows between two starts that hold more than the rate allows."""
    allowed, times = rate(written), sorted(times)
    return [
        (first, last, n)
        for i, first in enumerate(times)
        for n, last in enumerate(times[i:], 1)
        if n > allowed.burst + (last - first) / allowed.interval
    ]


@pytest.mark.parametrize("meddled", [False, True])
def test_every_history_keeps_ordered_groups_in_order(crowd, meddled):
    crowd.fill(QueueSettings(ordered_groups=True))
    crowd.meddled = meddled
    crowd.outcomes = [Outcome.COMPLETE, Outcome.COMPLETE, Outcome.RELEASE, Outcome.SNOOZE]

    counts = crowd.run()

    assert counts == {State.SUCCEEDED: TOTAL}
    assert all(crowd.history.most[f"g{g}"] == 1 for g in range(GROUPS))
    by_group = defaultdict(list)
    for _, name, job_id in crowd.history.starts:
        by_group[name].append(job_id)
    for ids in by_group.values():
        assert ids == sorted(ids)
