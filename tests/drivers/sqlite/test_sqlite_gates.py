"""What gates cost: the same with a hundred thousand jobs, lanes or groups behind them as with few."""

import pytest

from gate_storm import STORMS, weather
from oxmill.drivers.sqlite.driver import open_sqlite
from oxmill.model.claim import Claim
from oxmill.model.job import Enqueue, NewJob
from oxmill.model.rule import PutRules, Rule, RuleKind, Scope
from oxmill.model.settings import PutSettings, QueueSettings
from oxmill.model.settlement import Outcome, Settle, Settlement
from oxmill.store.plan import together
from oxmill.store.roles.installing import Migrate
from oxmill.testing.operations import plan_for

FEW, MANY, MILLION = 1_000, 100_000, 1_000_000
EVERY = 10
"""Instructions of SQLite's machine between two ticks of the counter."""

FILL = """
WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :count)
INSERT INTO jobs (
    seq, id, queue, task, state, priority, place, due_at, enqueued_at, max_attempts, crash_limit,
    group_name, aside, payload
)
SELECT
    10000000 + n, printf('old-%d', n), 'q', 'slow', 'waiting', 0, n, 0, 0, 20, 3,
    CASE WHEN :grouped THEN printf('group-%06d', (n - 1) % :groups + 1) END, :aside, x'7b7d'
FROM numbers
"""
LANES = """
INSERT INTO lanes (group_name, queue, priority, turn, opens_at)
SELECT group_name, queue, priority, min(place), :opens_at FROM jobs
WHERE group_name LIKE 'group-%'
GROUP BY group_name, queue, priority
"""


class Gated:
    """A store whose writer's work can be counted."""

    def __init__(self, path):
        self.driver = open_sqlite(path, clock=lambda: 1_000_000, mode="volatile")
        self.driver.run(self.driver.installing.migrate(Migrate()))
        self.ticks = 0
        self.nonce = 0

    @property
    def connection(self):
        return self.driver.transport._writer.committer.session.connection

    def fill(self, count, *, grouped=True, groups=None, aside=None, opens_at=0):
        asked = {"count": count, "groups": groups or count, "grouped": grouped, "aside": aside}
        self.connection.execute(FILL, asked)
        self.connection.execute(
            "UPDATE counters SET n = 20000000 WHERE queue = '' AND name = 'seq'"
        )
        self.connection.execute(
            "INSERT OR REPLACE INTO counters VALUES ('q', 'waiting', ?, 0)", (count,)
        )
        if grouped and aside is None:
            self.connection.execute(LANES, {"opens_at": opens_at})
        if aside is not None:
            self.connection.execute("INSERT INTO asides VALUES (?, 'q', ?)", (aside, 2**62))
        self.connection.commit()
        session = self.driver.transport._writer.committer.session
        session._version = None

    def enqueue(self, *jobs):
        self.driver.run(self.driver.enqueueing.enqueue(Enqueue(jobs=jobs)))

    def configure(self, **limits):
        request = PutSettings(queue="q", settings=QueueSettings(**limits))
        self.driver.run(self.driver.steering.put_settings(request))

    def claim(self, limit=10):
        self.nonce += 1
        request = Claim(queues=("q",), limit=limit, lease=60_000_000, worker="w", nonce=self.nonce)
        return self.driver.run(self.driver.claiming.claim(request)).jobs

    def settle(self, jobs):
        return self.driver.run(self.driver.settling.settle(ended(jobs)))

    def cost(self, act):
        """What SQLite does for it, in instructions of its machine."""

        def tick():
            self.ticks += EVERY
            return 0

        self.ticks = 0
        self.connection.set_progress_handler(tick, EVERY)
        answer = act()
        self.connection.set_progress_handler(None, 0)
        return self.ticks, answer


@pytest.fixture
def stores(tmp_path):
    """Two stores: one with little behind its gates, one with much."""
    few, many = Gated(tmp_path / "few.db"), Gated(tmp_path / "many.db")
    yield (few, FEW), (many, MANY)
    few.driver.close()
    many.driver.close()


def ended(jobs):
    return Settle(
        items=tuple(
            Settlement(id=job.id, token=job.token, outcome=Outcome.COMPLETE) for job in jobs
        )
    )


def fresh(n):
    return NewJob(id=f"new-{n}", queue="q", task="t", payload=b"{}", group=f"fresh-{n}")


def assert_flat(costs):
    """A tree of a hundred thousand is deeper than one of a thousand, but that is all."""
    few, many = costs
    assert 0 < many < 1.5 * few + 500


def test_a_claim_does_not_look_at_parked_lanes(stores):
    costs = []
    for store, count in stores:
        store.configure(group_concurrency=1)
        store.fill(count, opens_at=2**62)
        store.enqueue(*(fresh(n) for n in range(20)))
        cost, jobs = store.cost(store.claim)
        assert [job.id for job in jobs] == [f"new-{n}" for n in range(10)]
        costs.append(cost)

    assert_flat(costs)


def test_a_million_jobs_of_one_group_hold_up_no_job_of_another(stores):
    costs = []
    for store, count in zip((store for store, _ in stores), (FEW, MILLION), strict=True):
        store.fill(count, groups=1)
        store.enqueue(fresh(1))
        cost, jobs = store.cost(lambda store=store: store.claim(2))
        assert {job.id for job in jobs} == {"old-1", "new-1"}
        costs.append(cost)

    assert_flat(costs)


def test_a_claim_does_not_look_at_jobs_set_aside(stores):
    costs = []
    for store, count in stores:
        rule = Rule(kind=RuleKind.PAUSE, target="slow", scope=Scope.TASK)
        store.driver.run(store.driver.steering.put_rules(PutRules(set=(rule,))))
        store.fill(count, grouped=False, aside="pause:task:slow")
        store.enqueue(*(fresh(n) for n in range(20)))
        cost, jobs = store.cost(store.claim)
        assert [job.id for job in jobs] == [f"new-{n}" for n in range(10)]
        costs.append(cost)

    assert_flat(costs)


def test_a_claim_does_not_look_at_groups_whose_turn_it_is_not(stores):
    costs = []
    for store, count in stores:
        store.configure(concurrency=1_000, group_concurrency=2, group_rate="5/s")
        store.fill(count)
        cost, jobs = store.cost(store.claim)
        assert [job.id for job in jobs] == [f"old-{n}" for n in range(1, 11)]
        costs.append(cost)

    assert_flat(costs)


def test_settling_grouped_jobs_does_not_look_at_other_lanes(stores):
    costs = []
    for store, count in stores:
        store.configure(group_concurrency=1)
        store.fill(count)
        jobs = store.claim()
        cost, answers = store.cost(lambda store=store, jobs=jobs: store.settle(jobs))
        assert {answer.gained for answer in answers} == {("q",)}
        costs.append(cost)

    assert_flat(costs)


def test_a_lone_job_of_another_group_starts_with_the_next_claim(stores):
    store, count = stores[1]
    store.fill(count)
    store.connection.execute("UPDATE jobs SET group_name = 'crowd'")
    store.connection.execute("DELETE FROM lanes")
    store.connection.execute(
        "INSERT INTO lanes (group_name, queue, priority, turn) VALUES ('crowd', 'q', 0, 1)"
    )
    store.connection.commit()
    store.enqueue(fresh(1))

    assert "new-1" in [job.id for job in store.claim(2)]


def test_the_number_of_statements_does_not_grow_with_the_jobs_granted(stores):
    store, count = stores[0]
    store.configure(concurrency=1_000, group_concurrency=2, group_rate="1000/s burst 1000")
    store.fill(count)
    counts = []
    for limit in (10, 200):
        names = []
        store.connection.set_trace_callback(names.append)
        assert len(store.claim(limit)) == limit
        store.connection.set_trace_callback(None)
        counts.append(_kinds(names))

    assert counts[0] == counts[1]


def test_a_usual_turn_through_gates_is_a_handful_of_statements(stores):
    """The same number, however many groups give jobs: lanes, jobs and limits are written as sets."""
    store, count = stores[0]
    store.configure(concurrency=1_000, rate="1000000/s")
    store.fill(count)
    leases = store.claim(100)
    store.claim(1)  # the counter of places is known from here on
    store.nonce += 1
    request = Claim(queues=("q",), limit=100, lease=60_000_000, worker="w", nonce=store.nonce)
    statements = []
    store.connection.set_trace_callback(statements.append)
    settled, claimed = store.driver.run(
        together(plan_for(store.driver, ended(leases)), plan_for(store.driver, request))
    )
    store.connection.set_trace_callback(None)

    assert len(settled) == len(claimed.jobs) == 100
    assert len(statements) <= 14, statements


def _kinds(statements):
    """Statements, with runs of the same one counted once."""
    texts = [text.split("VALUES")[0].split("WHERE")[0] for text in statements]
    return sum(text != before for before, text in zip(["", *texts], texts, strict=False))


@pytest.mark.parametrize("name", STORMS)
def test_limits_hold_and_nothing_is_stuck(name, tmp_path):
    weather(lambda: open_sqlite(tmp_path / "store.db", doorbell=False), name, jobs=200)
