"""What gates cost: the same with a hundred thousand jobs, lanes or groups behind them as with few.

Not timed: the server counts the rows and index entries that it reads and writes.
"""

import pytest
from private_mysql import shared_server

from oxmill.drivers.mysql.driver import open_mysql
from oxmill.drivers.mysql.link import Link
from oxmill.model.claim import Claim
from oxmill.model.job import Enqueue, NewJob
from oxmill.model.rule import PutRules, Rule, RuleKind, Scope
from oxmill.model.settings import PutSettings, QueueSettings
from oxmill.model.settlement import Outcome, Settle, Settlement
from oxmill.store.plan import together
from oxmill.store.roles.installing import Migrate

FEW, MANY = 1_000, 100_000
FOREVER = 2**62
FILL = """
INSERT INTO oxmill_jobs (
    seq, id, queue, task, state, priority, place, due_at, enqueued_at, max_attempts, crash_limit,
    group_name, aside, payload
)
SELECT
    1000000 + seq, CONCAT('old-', seq), 'q', 'slow', 'waiting', 0, seq, 0, 0, 20, 3,
    {group}, {aside}, '{{}}'
FROM seq_1_to_{count}
"""
LANES = """
INSERT INTO oxmill_lanes (group_name, queue, priority, turn, opens_at)
SELECT group_name, queue, priority, MIN(place), {opens_at}
FROM oxmill_jobs WHERE id LIKE 'old-%' GROUP BY group_name, queue, priority
"""


class Gated:
    """A store whose server's work can be counted."""

    def __init__(self):
        self.server = shared_server()
        url = self.server.database()
        self.name = url.rpartition("/")[2]
        self.driver = open_mysql(url, clock=lambda: 1_000_000, doorbell=False)
        self.driver.run(self.driver.installing.migrate(Migrate()))
        self.nonce = 0

    def ask(self, text):
        return self.server.ask(text, self.name)

    def fill(self, count, *, groups=None, aside="NULL", opens_at=0):
        """Jobs of so many groups (of one each if not said), with their lanes; or jobs set aside."""
        group = "NULL" if aside != "NULL" else f"CONCAT('group-', seq MOD {groups or count})"
        self.ask(FILL.format(group=group, aside=aside, count=count))
        self.ask("INSERT INTO oxmill_changes (number, queue) VALUES (1000, '')")
        if aside == "NULL":
            self.ask(LANES.format(opens_at=opens_at))
        else:
            self.ask(f"INSERT INTO oxmill_asides VALUES ({aside}, 'q', {FOREVER})")
        self.ask("ANALYZE TABLE oxmill_jobs, oxmill_lanes")

    def enqueue(self, *jobs):
        self.driver.run(self.driver.enqueueing.enqueue(Enqueue(jobs=jobs)))

    def configure(self, **limits):
        request = PutSettings(queue="q", settings=QueueSettings(**limits))
        self.driver.run(self.driver.steering.put_settings(request))

    def claiming(self, limit=10):
        self.nonce += 1
        request = Claim(queues=("q",), limit=limit, lease=60_000_000, worker="w", nonce=self.nonce)
        return self.driver.claiming.claim(request)

    def claim(self, limit=10):
        return self.driver.run(self.claiming(limit)).jobs

    def settling(self, jobs):
        items = [Settlement(id=j.id, token=j.token, outcome=Outcome.COMPLETE) for j in jobs]
        return self.driver.settling.settle(Settle(items=tuple(items)))

    def cost(self, act):
        """The rows and index entries that the server reads and writes for it, and its answer."""
        before = self._status()
        answer = act()
        middle = self._status()
        return (middle - before) - (self._status() - middle), answer

    def _status(self):
        rows = self.ask("SHOW GLOBAL STATUS LIKE 'Handler%'")
        kinds = ("read", "write", "update", "delete")
        return sum(int(n) for name, n in rows if name.split("_")[1] in kinds and "tmp" not in name)


@pytest.fixture
def stores():
    """Two stores: one with little behind its gates, one with much."""
    few, many = Gated(), Gated()
    yield (few, FEW), (many, MANY)
    for store in (few, many):
        store.driver.close()
        store.ask(f"DROP DATABASE {store.name}")


def fresh(n):
    return NewJob(id=f"new-{n}", queue="q", task="t", payload=b"{}", group=f"fresh-{n}")


def assert_flat(costs):
    few, many = costs
    assert 0 < many <= few + 50


pytestmark = pytest.mark.timeout(180)


def test_a_claim_does_not_look_at_parked_lanes(stores):
    costs = []
    for store, count in stores:
        store.configure(group_concurrency=1)
        store.fill(count, opens_at=FOREVER)
        store.enqueue(*(fresh(n) for n in range(20)))
        cost, jobs = store.cost(store.claim)
        assert [job.id for job in jobs] == [f"new-{n}" for n in range(10)]
        costs.append(cost)

    assert_flat(costs)


def test_a_claim_does_not_look_at_jobs_set_aside(stores):
    costs = []
    for store, count in stores:
        rule = Rule(kind=RuleKind.PAUSE, target="slow", scope=Scope.TASK)
        store.driver.run(store.driver.steering.put_rules(PutRules(set=(rule,))))
        store.fill(count, aside="'pause:task:slow'")
        store.enqueue(*(fresh(n) for n in range(20)))
        cost, jobs = store.cost(store.claim)
        assert [job.id for job in jobs] == [f"new-{n}" for n in range(10)]
        costs.append(cost)

    assert_flat(costs)


@pytest.mark.parametrize("groups", [None, 20])
def test_a_claim_does_not_look_at_jobs_and_groups_whose_turn_it_is_not(stores, groups):
    costs = []
    for store, count in stores:
        store.configure(concurrency=1_000, group_concurrency=2, group_rate="5/s")
        store.fill(count, groups=groups)
        cost, jobs = store.cost(store.claim)
        assert [job.id for job in jobs] == [f"old-{n}" for n in range(1, 11)]
        costs.append(cost)

    assert_flat(costs)


def test_settling_and_claiming_do_not_look_at_other_lanes(stores):
    costs = []
    for store, count in stores:
        store.configure(group_concurrency=1)
        store.fill(count)
        store.driver.run(store.settling(store.claim()))  # from now on groups are expected
        both = together(store.settling(store.claim()), store.claiming())
        cost, (settled, claimed) = store.cost(lambda store=store, both=both: store.driver.run(both))
        assert {answer.gained for answer in settled} == {("q",)}
        assert [job.id for job in claimed.jobs] == [f"old-{n}" for n in range(21, 31)]
        costs.append(cost)

    assert_flat(costs)


@pytest.mark.parametrize("groups", [None, 20])
def test_the_usual_turn_does_not_look_at_other_lanes(stores, groups, monkeypatch):
    sent, send = [], Link.send
    monkeypatch.setattr(Link, "send", lambda link, batch: sent.append(batch) or send(link, batch))
    costs = []
    for store, count in stores:
        store.configure(concurrency=1_000, rate="1000/s burst 1000")
        store.fill(count, groups=groups)
        for _ in range(2):  # from then on the terms are known
            store.driver.run(store.settling(store.claim()))
        both = together(store.settling(store.claim()), store.claiming())
        sent.clear()
        cost, (settled, claimed) = store.cost(lambda store=store, both=both: store.driver.run(both))
        assert len(sent) == 1
        assert len(settled) == len(claimed.jobs) == 10
        costs.append(cost)

    assert_flat(costs)


def test_round_trips_and_statements_do_not_grow_with_the_jobs_granted(stores, monkeypatch):
    sent = []
    send = Link.send
    monkeypatch.setattr(Link, "send", lambda link, batch: sent.append(batch) or send(link, batch))
    store, count = stores[0]
    store.configure(concurrency=1_000, group_concurrency=2, group_rate="1000/s burst 1000")
    store.fill(count)
    store.driver.run(store.settling(store.claim()))
    counts = []
    for limit in (10, 200):
        both = together(store.settling(store.claim(limit)), store.claiming(limit))
        sent.clear()
        settled, claimed = store.driver.run(both)
        assert len(settled) == len(claimed.jobs) == limit
        counts.append((len(sent), sum(map(len, sent))))

    assert counts[0] == counts[1]
    trips, statements = counts[0]
    assert trips <= 3
    assert statements <= 24
