"""The short way of a claim through gates does what the long way does, to the last row."""

from dataclasses import replace
from random import Random

import pytest

from oxmill.drivers.sql.claiming import SqlClaiming
from oxmill.drivers.sqlite import claiming
from oxmill.drivers.sqlite.driver import open_sqlite
from oxmill.model.bounds import Bounds
from oxmill.model.claim import Claim
from oxmill.model.job import Enqueue, NewJob
from oxmill.model.rule import Scope
from oxmill.model.settings import PutSettings, QueueSettings
from oxmill.model.settlement import Outcome, Settle, Settlement
from oxmill.testing.operations import plan_for

SECOND = 1_000_000
STORIES = 12
LENGTH = 40
ROWS = (
    "SELECT * FROM lanes ORDER BY group_name, queue, priority",
    "SELECT * FROM meters ORDER BY queue, scope, target",
    "SELECT * FROM counters ORDER BY queue, name",
    "SELECT id, state, place, attempt, lease_until FROM jobs ORDER BY seq",
)


class Twins:
    """Two stores that are asked the same; one goes the short way where it can."""

    def __init__(self, folder, bounds):
        self.now = 1_000_000 * SECOND
        self.short, long = (
            open_sqlite(
                folder / f"{name}.db", clock=lambda: self.now, mode="volatile", bounds=bounds
            )
            for name in ("short", "long")
        )
        self.long = replace(long, claiming=SqlClaiming(bounds))
        self.held = []
        self.numbers = iter(range(1, 1_000_000))

    def ask(self, request):
        ours, theirs = (each.run(plan_for(each, request)) for each in (self.short, self.long))
        assert ours == theirs, request
        for rows in ROWS:
            assert self._rows(self.short, rows) == self._rows(self.long, rows), request
        return ours

    def _rows(self, driver, text):
        return driver.transport._writer.committer.session.connection.execute(text).fetchall()

    def close(self):
        self.short.close()
        self.long.close()


def limit(twins, chance):
    """Limits that are reached now and then."""
    twins.ask(
        PutSettings(
            queue="q",
            settings=QueueSettings(
                concurrency=chance.choice([None, None, 5, 30]),
                rate=chance.choice([None, None, "20/s burst 9"]),
                group_concurrency=chance.choice([None, 1, 3]),
                group_rate=chance.choice([None, None, "2/s burst 2"]),
                ordered_groups=chance.random() < 0.2,
            ),
        )
    )


def fill(twins, chance):
    """Jobs of few or many groups, or of none."""
    groups = [None, *(f"g{n}" for n in range(chance.choice([1, 3, 12])))]
    jobs = tuple(
        NewJob(
            id=f"job-{next(twins.numbers)}",
            queue="q",
            task="t",
            payload=b"{}",
            group=chance.choice(groups),
            priority=chance.choice([0, 0, 0, 1]),
            expires_in=chance.choice([None, None, None, SECOND]),
            keep=chance.choice([0, None]),
        )
        for _ in range(chance.choice([1, 4, 30]))
    )
    twins.ask(Enqueue(jobs=jobs))


def claim(twins, chance):
    request = Claim(
        queues=("q",),
        limit=chance.choice([1, 3, 10, 40]),
        lease=chance.choice([2, 60]) * SECOND,
        worker="w",
        nonce=next(twins.numbers),
    )
    twins.held += twins.ask(request).jobs


def settle(twins, chance):
    """How some of the leases end; one in ten shuts its group or its queue for a while."""
    chance.shuffle(twins.held)
    ended = [twins.held.pop() for _ in range(len(twins.held) // 2)]
    items = []
    for lease in ended:
        outcome = chance.choice([Outcome.COMPLETE] * 7 + [Outcome.RETRY, Outcome.RELEASE])
        closes = chance.choice([None, Scope.GROUP if lease.group else None, Scope.QUEUE])
        items.append(
            Settlement(
                id=lease.id,
                token=lease.token,
                outcome=outcome,
                delay=0 if outcome is Outcome.COMPLETE else SECOND,
                closes=closes if outcome is Outcome.RELEASE else None,
            )
        )
    twins.ask(Settle(items=tuple(items)))


def wait(twins, chance):
    twins.now += chance.choice([SECOND // 20, SECOND // 2, 5 * SECOND])


ACTS = [fill, fill, claim, claim, claim, settle, settle, wait, wait, limit]


@pytest.mark.parametrize("bound", [3, 500], ids=["impatient", "patient"])
def test_claims_through_gates_go_the_same_either_way(bound, tmp_path, monkeypatch):
    short, taken = claiming.take_turns, []

    def watched(*given):
        answer = yield from short(*given)
        taken.append(answer is not None)
        return answer

    monkeypatch.setattr(claiming, "take_turns", watched)
    for story in range(STORIES):
        chance = Random(1_000 * bound + story)
        folder = tmp_path / str(story)
        folder.mkdir()
        twins = Twins(folder, Bounds(cleanup_jobs=bound))
        for _ in range(LENGTH):
            chance.choice(ACTS)(twins, chance)
        twins.close()
    assert sum(taken) > 2 * STORIES
