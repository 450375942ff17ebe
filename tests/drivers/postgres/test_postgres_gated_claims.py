"""The usual claim of a gated queue is one call, and gives what the reference gives."""

import random
from contextlib import closing

import pytest
from asking import SECOND, claim, do, job
from private_postgres import schema_url

from oxmill.drivers.memory.driver import open_memory
from oxmill.drivers.postgres.driver import open_postgres
from oxmill.drivers.postgres.session import Query
from oxmill.drivers.postgres.wire import Wire
from oxmill.model.claim import Claim
from oxmill.model.job import Enqueue
from oxmill.model.settings import PutSettings, QueueSettings
from oxmill.model.settlement import Outcome, Settle, Settlement
from oxmill.store.plan import together
from oxmill.testing.clock import VirtualClock
from oxmill.testing.operations import plan_for

LIMITS = (
    QueueSettings(),
    QueueSettings(concurrency=12),
    QueueSettings(rate="10/s burst 7"),
    QueueSettings(concurrency=9, rate="100/s burst 20"),
    QueueSettings(group_concurrency=2),
)
LIMITS_OF_GROUPS = (
    QueueSettings(group_concurrency=2),
    QueueSettings(group_rate="8/s burst 2"),
    QueueSettings(
        concurrency=20, rate="99/s burst 20", group_concurrency=3, group_rate="9/s burst 4"
    ),
    QueueSettings(ordered_groups=True),
)


@pytest.fixture
def short(monkeypatch, postgres_server):
    """Whether each claim of a gated queue was one call that did."""
    seen = []
    send = Wire.send

    def sending(self, several):
        replies = send(self, several)
        match several:
            case [Query() as only] if only.text.name.endswith("claim_gated"):
                seen.append(replies[0][-1][-1] is False)
        return replies

    monkeypatch.setattr(Wire, "send", sending)
    return seen


class Story:
    """Chance, told to a store and to the reference alike."""

    def __init__(self, seed, clock, stores):
        self.chance = random.Random(seed)
        self.limits = LIMITS_OF_GROUPS if seed % 2 else LIMITS
        self.clock = clock
        self.stores = stores
        self.made = 0
        self.running = []

    def do(self, request):
        return [do(store, request) for store in self.stores]

    def enqueue(self):
        jobs = []
        for _ in range(self.chance.randint(1, 12)):
            self.made += 1
            group = self.chance.choice([None, "a", "b", "c", "d", f"own-{self.made}"])
            urgent = self.chance.choice([0, 0, 0, 1])
            jobs.append(job(f"job-{self.made}", group=group, priority=urgent))
        self.do(Enqueue(jobs=tuple(jobs)))

    def limit(self):
        self.do(PutSettings(queue="q", settings=self.chance.choice(self.limits)))

    def turn(self):
        """Some jobs end, some start; sometimes a job is retried or its group shut."""
        self.chance.shuffle(self.running)
        count = self.chance.randint(0, len(self.running))
        ends, self.running = self.running[:count], self.running[count:]
        usual = self.chance.random() < 0.9
        how = {"outcome": Outcome.COMPLETE} if usual else {"outcome": Outcome.RETRY, "delay": 9}
        items = tuple(Settlement(id=each.id, token=each.token, **how) for each in ends)
        request = Claim(
            queues=("q",),
            limit=self.chance.choice([1, 3, 10, 40]),
            lease=60 * SECOND,
            worker="w",
            nonce=self.chance.randint(1, 2**40),
        )
        answers = [
            store.run(together(plan_for(store, Settle(items=items)), plan_for(store, request)))
            for store in self.stores
        ]
        found = [([each.id for each in claimed.jobs], claimed) for _, claimed in answers]
        assert found[0][0] == found[1][0]
        assert found[0][1].next_due == found[1][1].next_due
        assert answers[0][0] == answers[1][0]
        self.running += found[0][1].jobs


@pytest.mark.parametrize("seed", range(6))
def test_turns_of_a_gated_queue_go_as_in_the_reference(short, seed):
    clock = VirtualClock()
    with (
        closing(open_postgres(schema_url(), doorbell=False, clock=clock)) as subject,
        closing(open_memory(clock=clock)) as reference,
    ):
        story = Story(seed, clock, [subject, reference])
        for move in (story.limit, *(story.enqueue, story.turn) * 5):
            move()
        for _ in range(120):
            move = story.chance.choices([story.enqueue, story.turn, story.limit], [4, 10, 1])[0]
            move()
            clock.advance(story.chance.choice([0, 1000, SECOND // 4]))
    assert sum(short) > len(short) / 2


def test_a_job_of_a_group_that_falls_due_in_a_plain_queue_takes_its_turn(postgres_server):
    clock = VirtualClock()
    with closing(open_postgres(schema_url(), doorbell=False, clock=clock)) as driver:
        jobs = (job("grouped", group="a", delay=5), job("plain", priority=1))
        do(driver, Enqueue(jobs=jobs))
        clock.advance(10)

        assert [each.id for each in claim(driver, 2)] == ["grouped", "plain"]
