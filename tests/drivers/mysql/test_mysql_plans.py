"""What operations cost at a large backlog: 1,000,000 jobs waiting, 1,000,000 ended, 100,000 running.

Not timed: the server counts the rows and index entries that it reads.
"""

import random
import tempfile
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest
from private_mysql import MEMORY, QUICK, Server

from oxmill.drivers.mysql.driver import open_mysql
from oxmill.drivers.mysql.link import Link
from oxmill.drivers.mysql.statements import statement
from oxmill.model.claim import Claim, ClaimIds, Renew, Renewal
from oxmill.model.info import ListQueues, Prune, Sweep
from oxmill.model.job import Enqueue, NewJob
from oxmill.model.query import Cancel, Edit, Filter, Find, Get
from oxmill.model.settlement import Outcome, Settle, Settlement
from oxmill.model.state import State
from oxmill.store.plan import together
from oxmill.store.roles.installing import Migrate
from oxmill.testing.operations import plan_for

WAITING, ENDED, RUNNING = 1_000_000, 1_000_000, 100_000
FAR = 2**60
numbers = count()

COLUMNS = """seq, id, queue, task, state, priority, place, due_at, enqueued_at, max_attempts,
    crash_limit, payload, attempt, lease, lease_until, ended_at, prune_at, last_outcome"""
ROWS = """SELECT {first} + seq, CONCAT('{state}-', LPAD(seq, 8, '0')), 'bulk', 'task', '{state}', 0,
    {first} + seq, 1, 1, 20, 3, '{{}}', {attempt}, {far}, {lease}, {ended}, {prune}, {outcome}
FROM seq_1_to_{number}"""


def load(server, name):
    parts = [
        ROWS.format(
            first=first,
            state=state,
            number=number,
            attempt=attempt,
            far=FAR,
            lease=lease,
            ended=ended,
            prune=prune,
            outcome=outcome,
        )
        for first, state, number, attempt, lease, ended, prune, outcome in (
            (0, "succeeded", ENDED, 1, "NULL", 1, FAR, "'complete'"),
            (2_000_000, "running", RUNNING, 1, FAR, "NULL", "NULL", "NULL"),
            (3_000_000, "waiting", WAITING, 0, "NULL", "NULL", "NULL", "NULL"),
            (5_000_000, "failed", 20, 1, "NULL", 1, FAR, "'fail'"),
        )
    ]
    with ThreadPoolExecutor(2) as pool:
        for done in [
            pool.submit(server.ask, f"INSERT INTO oxmill_jobs ({COLUMNS}) {part}", name)
            for part in parts
        ]:
            done.result(240)
    server.ask(
        "INSERT INTO oxmill_counts VALUES "
        f"('bulk', 0, 0, {WAITING}, {RUNNING}, {ENDED}, 20, 0, {ENDED}, 20, 0)",
        name,
    )
    server.ask("INSERT INTO oxmill_changes (number, queue) VALUES (1000, '')", name)
    server.ask("ANALYZE TABLE oxmill_jobs", name)


class Stage:
    """A driver on the large database, and what its operations make the server read."""

    def __init__(self, server, driver):
        self.server = server
        self.driver = driver

    def do(self, request):
        return self.driver.run(plan_for(self.driver, request))

    def reads(self, act):
        """The rows and index entries read by one call, and its answer."""
        before = self._status()
        answer = act()
        after = self._status()
        return sum(after[name] - before[name] for name in after) - self.own, answer

    @property
    def own(self):
        """What it takes to ask."""
        if not hasattr(self, "_own"):
            first, second = self._status(), self._status()
            self._own = sum(second[name] - first[name] for name in second)
        return self._own

    def _status(self):
        rows = self.server.ask(
            "SHOW GLOBAL STATUS WHERE Variable_name LIKE 'Handler_read%' "
            "AND Variable_name NOT LIKE '%_deleted'"
        )
        return {name: int(value) for name, value in rows if "tmp" not in name.lower()}


@pytest.fixture(scope="module")
def stage():
    options = ("--innodb-buffer-pool-size=1G", "--innodb-log-file-size=512M")
    path = tempfile.mkdtemp(prefix="oxmill-mysql-large-", dir=MEMORY)
    server = Server(path, *QUICK, *options).start()
    try:
        url = server.database()
        driver = open_mysql(f"{url}?timeout=60")
        driver.run(plan_for(driver, Migrate()))
        load(server, url.rpartition("/")[2])
        yield Stage(server, driver)
        driver.close()
    finally:
        server.stop()


def claim(limit=100, queues=("bulk",)):
    return Claim(
        queues=queues, limit=limit, lease=60_000_000, worker="w", nonce=random.getrandbits(63)
    )


def completed(jobs):
    items = [Settlement(id=j.id, token=j.token, outcome=Outcome.COMPLETE) for j in jobs]
    return Settle(items=tuple(items))


pytestmark = pytest.mark.timeout(300)


def test_a_claim_reads_what_it_grants(stage):
    reads, claimed = stage.reads(lambda: stage.do(claim()))

    assert len(claimed.jobs) == 100
    assert reads <= 100 * 8 + 200


def test_settling_and_claiming_read_what_they_change(stage):
    jobs = stage.do(claim()).jobs
    driver = stage.driver
    both = together(driver.settling.settle(completed(jobs)), driver.claiming.claim(claim()))

    reads, (settled, claimed) = stage.reads(lambda: driver.run(both))

    assert len(settled) == len(claimed.jobs) == 100
    assert reads <= 100 * 16 + 300


def test_a_renewal_reads_what_it_prolongs(stage):
    jobs = stage.do(claim()).jobs
    items = tuple(Renewal(id=each.id, token=each.token) for each in jobs)

    reads, _ = stage.reads(lambda: stage.do(Renew(items=items, lease=60_000_000)))

    assert reads <= 100 * 8 + 100


def test_an_enqueue_reads_next_to_nothing(stage):
    jobs = tuple(
        NewJob(id=f"new-{next(numbers)}", queue="bulk", task="t", payload=b"{}") for _ in range(100)
    )

    reads, answers = stage.reads(lambda: stage.do(Enqueue(jobs=jobs)))

    assert len(answers) == 100
    assert reads <= 50


@pytest.mark.parametrize(
    ("request_", "most"),
    [
        (claim(100, ("bulk", "other", "third")), 1_500),
        (ClaimIds(ids=("waiting-00900000",), lease=60_000_000, worker="w", nonce=5), 200),
        (Prune(limit=100), 300),
        (ListQueues(), 3_000),
        (ListQueues(queues=("bulk",), place_of="waiting-00003000"), 8_000),
        (ListQueues(queues=("bulk",), place_of="waiting-00900004"), 21_000),
        (Get(ids=("waiting-00900001", "succeeded-00000001")), 100),
        (Find(limit=50), 600),
        (Find(filter=Filter(states=(State.FAILED,)), limit=50), 600),
        (Find(filter=Filter(states=(State.SUCCEEDED,)), limit=50), 800),
        (Cancel(filter=Filter(ids=("waiting-00900002",))), 300),
        (Edit(filter=Filter(ids=("waiting-00900003",)), priority=5), 300),
    ],
    ids=lambda each: type(each).__name__ if not isinstance(each, int) else "",
)
def test_an_operation_reads_little(stage, request_, most):
    reads, _ = stage.reads(lambda: stage.do(request_))

    assert reads <= most


def test_a_sweep_looks_at_some_of_the_leases_only(stage):
    """It looks at leases, for a clock that was stepped back, up to a bound; at little else."""
    reads, _ = stage.reads(lambda: stage.do(Sweep()))

    assert reads <= 5_000


@pytest.mark.parametrize(
    ("name", "parameters", "key"),
    [
        ("line_of_one", {"queue": "bulk", "now": 5, "most": 100}, "oxmill_jobs_shelf"),
        ("lapsed", {"queue": "bulk", "now": 5, "most": 100}, "oxmill_jobs_shelf"),
        ("due", {"queue": "bulk", "now": 5, "most": 100}, "oxmill_jobs_shelf"),
        ("expired", {"queue": "bulk", "now": 5, "most": 100}, "oxmill_jobs_expiry"),
        ("prunable", {"now": 5, "most": 100}, "oxmill_jobs_prune"),
        ("window_ended", {"state": "failed", "below": FAR, "most": 50}, "oxmill_jobs_shelf"),
        ("window_all", {"below": FAR, "most": 50}, "PRIMARY"),
        ("standings_by_id", {"ids": '["a"]'}, "oxmill_jobs_id"),
    ],
)
def test_a_statement_uses_its_index_and_sorts_nothing(stage, name, parameters, key):
    text = statement(name, parameters, locks=not name.startswith("window")).decode()

    rows = stage.server.ask(f"EXPLAIN {text}", stage.driver.url.rpartition("/")[2])

    (ours,) = [row for row in rows if row[2] == "j"]
    assert ours[5] == key
    assert ours[3] in {"ref", "range", "eq_ref", "const"}
    assert name == "standings_by_id" or "filesort" not in str(rows)


class Explained:
    """Every statement that the driver sends, with the server's plan for it, made at the moment at which it
    runs: most of them depend on variables of the session."""

    def __init__(self, monkeypatch):
        self.plans = []
        """Statement, table, access, key."""
        self.sorted = 0
        """Rows that the server has sorted."""
        self._send = Link.send
        monkeypatch.setattr(Link, "send", lambda *sent: self.send(*sent))  # noqa: PLW0108 - a bound method would not get the link

    def send(self, link, batch):
        texts = [part for text in batch for part in (*self._explaining(text), text)]
        before = self._sorts(link)
        results = iter(self._send(link, texts))
        found = []
        for text in batch:
            for _ in self._explaining(text):
                for _, _, table, access, _, key, *_ in next(results).rows:
                    self.plans.append((text.decode(), table, access, key))
            found.append(next(results))
        self.sorted += self._sorts(link) - before
        return found

    def _explaining(self, text):
        if text == b"EXECUTE oxmill_grant":
            words = b"IF(@oxmill_words = 'DO 0', 'SELECT 0', @oxmill_words)"
            return [b"EXECUTE IMMEDIATE CONCAT('EXPLAIN ', %b)" % words]
        explained = (b"SELECT", b"UPDATE", b"DELETE", b"INSERT", b"REPLACE")
        return [b"EXPLAIN " + text] if text.startswith(explained) else []

    def _sorts(self, link):
        return int(self._send(link, [b"SHOW SESSION STATUS LIKE 'Sort_rows'"])[0].rows[0][1])

    def of_jobs(self):
        """Plans for the large table, by whatever name."""
        names = {"j", "w", "d", "l", "e", "h", "oxmill_jobs"}
        return [plan for plan in self.plans if plan[1] in names and "oxmill_jobs" in plan[0]]


def turns(stage):
    """What workers and maintenance do all the time: each with how many rows it may sort."""
    driver = stage.driver

    def settle_and_claim():
        settle = driver.settling.settle(completed(stage.do(claim()).jobs))
        driver.run(together(settle, driver.claiming.claim(claim())))

    def fail():
        jobs = stage.do(claim()).jobs
        items = [Settlement(id=j.id, token=j.token, outcome=Outcome.RETRY) for j in jobs]
        stage.do(Settle(items=tuple(items)))

    def renew():
        items = [Renewal(id=each.id, token=each.token) for each in stage.do(claim()).jobs]
        stage.do(Renew(items=tuple(items), lease=60_000_000))

    return {
        "claim": (lambda: stage.do(claim()), 0),
        "claim of several queues": (lambda: stage.do(claim(100, ("bulk", "other"))), 200),
        "settle": (settle_and_claim, 0),
        "retry": (fail, 100),
        "renew": (renew, 0),
        "sweep": (lambda: stage.do(Sweep(limit=100)), 100),
        "prune": (lambda: stage.do(Prune(limit=100)), 0),
    }


def test_the_usual_operations_use_indexes_and_sort_no_more_than_their_batch(stage, monkeypatch):
    for name, (act, most) in turns(stage).items():
        with monkeypatch.context() as patch:
            seen = Explained(patch)
            act()
        assert seen.of_jobs(), name
        for text, table, access, key in seen.of_jobs():
            assert key is not None, (name, table, text)
            assert access in {"ref", "range", "eq_ref", "const"}, (name, access, text)
        assert seen.sorted <= most, name


def test_the_usual_operations_take_one_round_trip(stage, monkeypatch):
    sent = []
    send = Link.send
    monkeypatch.setattr(Link, "send", lambda link, batch: sent.append(batch) or send(link, batch))
    jobs = tuple(NewJob(id=f"trip-{n}", queue="trip", task="t", payload=b"{}") for n in range(3))
    driver = stage.driver

    stage.do(Enqueue(jobs=jobs))
    assert len(sent) == 1
    first, second = stage.do(claim(1, ("trip",))).jobs, stage.do(claim(1, ("trip",))).jobs
    assert len(sent) == 3
    stage.do(Renew(items=(Renewal(id=first[0].id, token=first[0].token),), lease=60_000_000))
    assert len(sent) == 4
    stage.do(completed(first))
    assert len(sent) == 5
    settle = driver.settling.settle(completed(second))
    _, claimed = driver.run(together(settle, driver.claiming.claim(claim(1, ("trip",)))))
    assert len(claimed.jobs) == 1
    assert len(sent) == 6
