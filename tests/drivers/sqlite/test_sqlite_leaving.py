"""Flows that are left by one statement end as the ledger has them end, to the last row."""

from dataclasses import replace
from random import Random

import pytest

from flow_load import claim, do, job
from oxmill.drivers.sql.settling import SqlSettling
from oxmill.drivers.sqlite.driver import open_sqlite
from oxmill.model.flow import FlowStep, NewFlow
from oxmill.model.job import Enqueue
from oxmill.model.settlement import Outcome, Settle, Settlement

FLOWS = 30
ROWS = (
    "SELECT * FROM flows ORDER BY seq",
    "SELECT id, state, reason, ended_at, prune_at FROM jobs ORDER BY seq",
    "SELECT flow, name, value FROM flow_state ORDER BY flow, name",
    "SELECT * FROM counters ORDER BY queue, name",
)


class Twins:
    """Two stores that are asked the same; one leaves flows by its own statement."""

    def __init__(self, folder):
        self.now = 1_000_000_000_000
        self.short, long = (
            open_sqlite(folder / f"{name}.db", clock=lambda: self.now, mode="volatile")
            for name in ("short", "long")
        )
        self.long = replace(long, settling=SqlSettling(long.bounds, long.capabilities))

    def ask(self, request):
        ours, theirs = (do(each, request) for each in (self.short, self.long))
        assert ours == theirs, request
        for rows in ROWS:
            assert self.rows(self.short, rows) == self.rows(self.long, rows), request
        self.now += 7
        return ours

    def rows(self, driver, text):
        return driver.transport._writer.committer.session.connection.execute(text).fetchall()

    def close(self):
        self.short.close()
        self.long.close()


@pytest.fixture
def twins(tmp_path):
    twins = Twins(tmp_path)
    yield twins
    twins.close()


def end_of(lease, chance, numbers):
    """A step that goes on, goes on twice, ends, or fails."""
    end = {"id": lease.id, "token": lease.token}
    if chance.random() < 0.15:
        return Settlement(**end, outcome=Outcome.FAIL)
    many = chance.choice([0, 0, 0, 1, 1, 2])
    then = tuple(job(f"{lease.flow}.{next(numbers)}", flow=lease.flow) for _ in range(many))
    return Settlement(**end, outcome=Outcome.COMPLETE, flow=FlowStep(merge={"x": b"1"}, then=then))


@pytest.mark.parametrize("seed", range(6))
def test_flows_end_alike(twins, seed):
    chance, numbers = Random(seed), iter(range(1_000_000))
    for number in range(FLOWS):
        flow = NewFlow(id=f"f{number}", name="f", keep=chance.choice([None, None, 0, 5_000_000]))
        many = chance.choice([1, 1, 2, 3])
        first = tuple(job(f"f{number}.s{each}", flow=flow.id) for each in range(many))
        twins.ask(Enqueue(jobs=first, flow=flow))

    while leases := twins.ask(claim(chance.randint(1, 20))).jobs:
        # Usual steps go the short way only by themselves.
        items = [end_of(lease, chance, numbers) for lease in leases]
        fails = tuple(item for item in items if item.outcome is Outcome.FAIL)
        usual = tuple(item for item in items if item.outcome is not Outcome.FAIL)
        for part in (fails, usual):
            if part:
                twins.ask(Settle(items=part))

    ended = twins.rows(twins.short, "SELECT failed, count(*) FROM flows WHERE live = 0 GROUP BY 1")
    assert {failed for failed, _ in ended} == {0, 1}
    assert sum(n for _, n in ended) == FLOWS
