"""What the hot path costs in statements: a change that adds one per job, or per turn, shows here."""

import pytest

from oxmill.drivers.sqlite.driver import open_sqlite
from oxmill.drivers.sqlite.statements import SEVERAL
from oxmill.model.claim import Claim, Renew, Renewal
from oxmill.model.job import Enqueue, NewJob
from oxmill.model.settlement import Outcome, Settle, Settlement
from oxmill.store.plan import together

BATCH = 100


class Counted:
    """A driver whose writer tells every statement that it runs."""

    def __init__(self, path):
        self.driver = open_sqlite(path)
        self.statements = []
        self.enqueue(1, first=0)
        session = self.driver.transport._writer.committer.session
        session.connection.set_trace_callback(self.statements.append)

    def enqueue(self, count, *, first=1, **options):
        jobs = tuple(
            NewJob(id=f"job-{n}", queue="q", task="t", payload=b"{}", **options)
            for n in range(first, first + count)
        )
        return self.driver.run(self.driver.enqueueing.enqueue(Enqueue(jobs=jobs)))

    def claim(self, nonce=1):
        claim = Claim(queues=("q",), limit=BATCH, lease=60_000_000, worker="w", nonce=nonce)
        return self.driver.claiming.claim(claim)

    def cost(self, act):
        """The statements of one call, and how many transactions they took."""
        self.statements.clear()
        act()
        return len(self.statements), self.statements.count("COMMIT")


@pytest.fixture
def counted(tmp_path):
    world = Counted(tmp_path / "jobs.db")
    yield world
    world.driver.close()


def test_one_enqueue_is_a_handful_of_statements_in_one_transaction(counted):
    assert counted.cost(lambda: counted.enqueue(1)) == (6, 1)


def test_a_batch_costs_one_statement_for_several_jobs_and_no_more(counted):
    statements, commits = counted.cost(lambda: counted.enqueue(64 * SEVERAL))

    assert statements <= 64 + 5
    assert commits == 1


def ends(jobs, outcome=Outcome.COMPLETE):
    items = tuple(Settlement(id=job.id, token=job.token, outcome=outcome) for job in jobs)
    return Settle(items=items)


@pytest.mark.parametrize("keep", [0, None])
def test_settling_a_batch_and_claiming_the_next_costs_the_same_whatever_its_size(counted, keep):
    counted.enqueue(2 * BATCH, keep=keep)
    jobs = counted.driver.run(counted.claim()).jobs
    assert len(jobs) == BATCH
    settle = counted.driver.settling.settle(ends(jobs))

    statements, commits = counted.cost(
        lambda: counted.driver.run(together(settle, counted.claim(nonce=2)))
    )

    assert statements <= 11
    assert commits == 1


@pytest.mark.parametrize("keep", [0, None])
def test_a_batch_that_succeeds_the_second_time_costs_one_statement_more(counted, keep):
    counted.driver.run(
        counted.driver.settling.settle(ends(counted.driver.run(counted.claim()).jobs))
    )
    counted.enqueue(BATCH, keep=keep)
    jobs = counted.driver.run(counted.claim(nonce=2)).jobs
    counted.driver.run(counted.driver.settling.settle(ends(jobs, Outcome.RETRY)))
    jobs = counted.driver.run(counted.claim(nonce=3)).jobs
    assert len(jobs) == BATCH

    settle = counted.driver.settling.settle(ends(jobs))

    assert counted.cost(lambda: counted.driver.run(settle))[0] <= (8 if keep == 0 else 7)


def test_renewing_a_batch_costs_the_same_whatever_its_size(counted):
    counted.enqueue(BATCH)
    jobs = counted.driver.run(counted.claim()).jobs
    items = tuple(Renewal(id=job.id, token=job.token) for job in jobs)
    renew = counted.driver.claiming.renew(Renew(items=items, lease=60_000_000))

    assert counted.cost(lambda: counted.driver.run(renew)) == (4, 1)
