"""What SQLite writes together, the next steps of flows and their ends, is as the way of every database has
it, to the last row."""

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
    "SELECT * FROM jobs ORDER BY seq",
    "SELECT * FROM nodes ORDER BY job",
    "SELECT * FROM lanes ORDER BY group_name, queue, priority",
    "SELECT * FROM fields ORDER BY name, value, job",
    "SELECT flow, name, value FROM flow_state ORDER BY flow, name",
    "SELECT * FROM counters ORDER BY queue, name",
)


class Twins:
    """Two stores that are asked the same; one writes together what is alike."""

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


ODD_TERMS = (
    {"priority": 3},
    {"delay": 5},
    {"run_at": 1},
    {"expires_in": 10_000_000},
    {"max_attempts": 2, "crash_limit": 9},
    {"timeout": 7},
    {"keep": 0},
    {"group": "g"},
    {"fields": {"user": 7}},
    {"tags": ("t",)},
    {"headers": {"h": "x"}},
    {"content_type": "text/plain"},
    {"queue": "others"},
    {"task": "u"},
    {"payload": b"\x00\xff"},
    {"reads": ()},
    {"reads": ("x", 'q"\\')},
)


def next_of(lease, number, chance):
    """Most next steps are like those of other flows; some are not, by their id or their terms."""
    terms = chance.choice(ODD_TERMS) if chance.random() < 0.3 else {}
    job_id = f"{lease.flow}.{number}"
    if chance.random() < 0.1:
        job_id = f"odd {job_id}"
    return job(job_id, **{"flow": lease.flow, "reads": ("x",), **terms})


@pytest.mark.parametrize("seed", range(6))
def test_next_steps_are_made_alike(twins, seed):
    chance = Random(seed)
    for number in range(FLOWS):
        name = chance.choice(["f{}", 'say "{}"', "back\\{}", "a/b.{}", "7{}"]).format(number)
        first = job(f"{name}.0", flow=name, reads=("x",))
        twins.ask(Enqueue(jobs=(first,), flow=NewFlow(id=name, name="f", state={"x": b"0"})))

    for number in range(1, 5):
        leases = twins.ask(claim(FLOWS)).jobs
        assert leases
        items = []
        for lease in leases:
            step = FlowStep(merge={"x": b"1"}, then=(next_of(lease, number, chance),))
            end = {"id": lease.id, "token": lease.token, "outcome": Outcome.COMPLETE}
            items.append(Settlement(**end, flow=step))
        twins.ask(Settle(items=tuple(items)))
