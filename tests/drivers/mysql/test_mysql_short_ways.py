"""The short way of a claim through gates does what the long way does, to the last row."""

from contextlib import ExitStack, closing
from dataclasses import replace
from random import Random

import pytest
from private_mysql import shared_server

from oxmill.drivers.mysql.driver import open_mysql
from oxmill.drivers.mysql.link import Link
from oxmill.drivers.mysql.taking_turns import TakingTurns
from oxmill.drivers.sql.claiming import SqlClaiming
from oxmill.model.bounds import Bounds
from oxmill.model.claim import Claim
from oxmill.model.job import Enqueue, NewJob
from oxmill.model.query import Cancel, Filter
from oxmill.model.rule import Scope
from oxmill.model.settings import PutSettings, QueueSettings
from oxmill.model.settlement import Outcome, Settle, Settlement
from oxmill.testing.operations import plan_for

SECOND = 1_000_000
STORIES = 10
LENGTH = 25
# Numbers are drawn more or less often on either way, so it is their order that is compared.
ROWS = (
    """SELECT group_name, priority, served, opens_at, behind FROM oxmill_lanes
    WHERE queue = '{queue}' ORDER BY priority, turn, group_name""",
    "SELECT * FROM oxmill_meters WHERE queue = '{queue}' ORDER BY scope, target",
    """SELECT SUM(waiting), SUM(running), SUM(scheduled), SUM(succeeded), SUM(ever_succeeded)
    FROM oxmill_changes WHERE queue = '{queue}'""",
    """SELECT id, state, attempt, lease_until FROM oxmill_jobs
    WHERE queue = '{queue}' ORDER BY priority, place""",
)


class Twins:
    """Two stores that are asked the same; one goes the short way where it can."""

    def __init__(self, stack):
        self.now = 1_000_000 * SECOND
        self.queue = "q"
        self.held, self.ids = [], []
        self.numbers = iter(range(1, 1_000_000))
        server = shared_server()
        urls = server.database(), server.database()
        opened = [open_mysql(url, clock=lambda: self.now, doorbell=False) for url in urls]
        for each in opened:
            stack.enter_context(closing(each))
        self.short, long = opened
        self.long = replace(long, claiming=SqlClaiming(Bounds()))
        names = [url.rpartition("/")[2] for url in urls]
        self._clients = [stack.enter_context(server.client(name)) for name in names]

    def ask(self, request):
        ours, theirs = (each.run(plan_for(each, request)) for each in (self.short, self.long))
        assert ours == theirs, request
        for text in ROWS:
            short, long = (self._rows(each, text) for each in self._clients)
            assert short == long, (text, request)
        return ours

    def _rows(self, client, text):
        with client.cursor() as cursor:
            cursor.execute(text.format(queue=self.queue))
            return cursor.fetchall()


def limit(twins, chance):
    """Limits that are reached now and then; those of groups go the long way."""
    twins.ask(
        PutSettings(
            queue=twins.queue,
            settings=QueueSettings(
                concurrency=chance.choice([None, None, 20]),
                rate=chance.choice([None, "1000/s", "20/s burst 9"]),
                group_concurrency=chance.choice([None, None, None, 1]),
            ),
        )
    )


def fill(twins, chance):
    """Jobs of many groups, seldom of none, and seldom of another priority."""
    groups = [f"g{n} \\ '" for n in range(15)]
    if chance.random() < 0.1:
        groups[0] = None
    jobs = tuple(
        NewJob(
            id=f"job-{next(twins.numbers)}",
            queue=twins.queue,
            task="t",
            payload=b"{}",
            group=chance.choice(groups),
            priority=int(chance.random() < 0.05),
            expires_in=SECOND if chance.random() < 0.02 else None,
            keep=0,
        )
        for _ in range(chance.choice([4, 80]))
    )
    twins.ids += [job.id for job in jobs]
    twins.ask(Enqueue(jobs=jobs))


def claim(twins, chance):
    """A few claims one after the other."""
    for _ in range(6):
        request = Claim(
            queues=(twins.queue,),
            limit=chance.choice([1, 2, 5]),
            lease=chance.choice([2, 60]) * SECOND,
            worker="w",
            nonce=next(twins.numbers),
        )
        twins.held += twins.ask(request).jobs


def settle(twins, chance):
    """How some of the leases end; a few shut their group or queue for a while."""
    chance.shuffle(twins.held)
    ended = [twins.held.pop() for _ in range(len(twins.held) // 2)]
    items = []
    for lease in ended:
        outcome = chance.choice([Outcome.COMPLETE] * 20 + [Outcome.RETRY, Outcome.RELEASE])
        closes = chance.choice([Scope.GROUP if lease.group else None, Scope.QUEUE])
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


def cancel(twins, chance):
    """Some lanes lose their heads, or all they have."""
    ids = chance.sample(twins.ids, len(twins.ids) // 5)
    twins.ask(Cancel(filter=Filter(ids=tuple(ids))))


def wait(twins, chance):
    twins.now += chance.choice([SECOND // 20, SECOND // 2, 5 * SECOND])


ACTS = [fill, fill, claim, claim, claim, settle, settle, wait, limit, cancel]


@pytest.mark.timeout(240)
def test_claims_through_gates_go_the_same_either_way(monkeypatch):
    right, taken = TakingTurns.answer, []

    def answer(self, results):
        granted = right(self, results)
        taken.append(granted is not None)
        return granted

    monkeypatch.setattr(TakingTurns, "answer", answer)
    with ExitStack() as stack:
        twins = Twins(stack)
        for story in range(STORIES):
            chance = Random(story)
            twins.queue, twins.held, twins.ids = f"q{story}", [], []
            for _ in range(LENGTH):
                chance.choice(ACTS)(twins, chance)
    assert taken.count(True) > 5 * STORIES
    assert taken.count(False) > STORIES


def test_the_usual_turn_is_one_round_trip(monkeypatch):
    sent, send = [], Link.send
    with closing(open_mysql(shared_server().emptied(), doorbell=False)) as driver:

        def do(request):
            return driver.run(plan_for(driver, request))

        do(PutSettings(queue="q", settings=QueueSettings(concurrency=100, rate="1000000/s")))
        jobs = tuple(
            NewJob(id=f"j{n}", queue="q", task="t", payload=b"", group=f"g{n % 20}")
            for n in range(100)
        )
        do(Enqueue(jobs=jobs))
        asked = Claim(queues=("q",), limit=10, lease=60 * SECOND, worker="w", nonce=1)
        for nonce in (2, 3):
            do(replace_nonce(asked, nonce))
        monkeypatch.setattr(
            Link, "send", lambda self, batch: sent.append(batch) or send(self, batch)
        )

        got = do(replace_nonce(asked, 4))

        assert [job.group for job in got.jobs] == [f"g{n}" for n in range(10)]
        assert len(sent) == 1
        assert len(sent[0]) <= 23


def replace_nonce(request, nonce):
    return Claim(
        queues=request.queues,
        limit=request.limit,
        lease=request.lease,
        worker=request.worker,
        nonce=nonce,
    )
