"""Many threads, each with its own connections, claim and settle behind gates until all is done.

What they saw is recorded, and judged afterwards: a job surely runs from the return of its claim to the
call that settles it, so whatever overlaps there did overlap in the store.
"""

import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from oxmill.model.claim import Claim
from oxmill.model.job import Enqueue, NewJob
from oxmill.model.rule import PutRules, Rule, RuleKey, RuleKind, Scope
from oxmill.model.settings import PutSettings, QueueSettings
from oxmill.model.settlement import Outcome, Ruling, Settle, Settlement
from oxmill.rules.rate import rate
from oxmill.testing.operations import plan_for

LEASE = 600_000_000
PATIENCE = 30.0
"""Seconds without any grant after which jobs that are left count as stuck."""


@dataclass
class Run:
    """One lease, as its holder saw it."""

    job: str
    group: str | None
    at: int
    """The claim's moment, by the store's clock."""
    began: float
    ended: float = 0.0


@dataclass
class Storm:
    """What happens to one queue, and what was seen of it."""

    open_driver: Callable[[], Any]
    settings: QueueSettings
    groups: int
    jobs: int
    threads: int = 8
    restless: bool = True
    """Whether jobs are released and tried again, and rules come and go, besides succeeding."""
    seed: int = 1
    runs: list = field(default_factory=list)
    done: set = field(default_factory=set)
    errors: list = field(default_factory=list)
    order: dict = field(default_factory=lambda: defaultdict(list))
    """Group → its jobs in the order in which they were stored."""

    def __post_init__(self):
        self.lock = threading.Lock()
        self.nonces = count(1)
        self.granted_at = time.monotonic()
        self.barrier = threading.Barrier(self.threads + 1)

    def blow(self):
        """Let it all happen."""
        driver = self.open_driver()
        _do(driver, PutSettings(queue="q", settings=self.settings))
        threads = [
            threading.Thread(target=self._guarded, args=(self._work, n))
            for n in range(self.threads)
        ]
        threads.append(threading.Thread(target=self._guarded, args=(self._feed, 0)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        driver.close()
        if self.errors:
            raise self.errors[0]

    def _guarded(self, act, number):
        driver = self.open_driver()
        try:
            self.barrier.wait(60)
            act(driver, random.Random(f"{self.seed}-{number}"))
        except BaseException as error:
            self.errors.append(error)
        finally:
            driver.close()

    def _feed(self, driver, chance):
        """Jobs come one by one and in batches while others claim; a group pauses now and then."""
        left = list(range(self.jobs))
        while left and not self.errors:
            size = chance.choice([1, 1, 5, 20])
            batch, left = left[:size], left[size:]
            jobs = [
                NewJob(
                    id=f"job-{n}",
                    queue="q",
                    task="t",
                    payload=b"{}",
                    group=self._group(chance),
                    max_attempts=10_000,
                )
                for n in batch
            ]
            _do(driver, Enqueue(jobs=tuple(jobs)))
            for job in jobs:
                self.order[job.group].append(job.id)
            if self.restless and chance.random() < 0.2:
                self._pause_a_group(driver, chance)

    def _group(self, chance):
        number = chance.randrange(self.groups + 1)
        return f"g{number}" if number < self.groups else None

    def _pause_a_group(self, driver, chance):
        group = f"g{chance.randrange(self.groups)}"
        rule = Rule(kind=RuleKind.PAUSE, target=group, scope=Scope.GROUP)
        _do(driver, PutRules(set=(rule,)))
        time.sleep(chance.random() / 50)
        key = RuleKey(kind=RuleKind.PAUSE, target=group, scope=Scope.GROUP)
        _do(driver, PutRules(lift=(key,)))

    def _work(self, driver, chance):
        while len(self.done) < self.jobs and not self.errors:
            claim = Claim(
                queues=("q",),
                limit=chance.choice([1, 2, 5, 20]),
                lease=LEASE,
                worker="w",
                nonce=next(self.nonces),
            )
            claimed = _do(driver, claim)
            if not claimed.jobs:
                if time.monotonic() - self.granted_at > PATIENCE:
                    left = self.jobs - len(self.done)
                    raise AssertionError(f"{left} jobs are stuck")
                time.sleep(0.002)
                continue
            self.granted_at = now = time.monotonic()
            runs = [Run(job.id, job.group, claimed.now, now) for job in claimed.jobs]
            items = tuple(self._end(job, chance) for job in claimed.jobs)
            time.sleep(chance.random() / 500)
            ended = time.monotonic()
            for run in runs:
                run.ended = ended
            answers = _do(driver, Settle(items=items))
            assert {answer.ruling for answer in answers} == {Ruling.WON}
            with self.lock:
                self.runs += runs
                self.done |= {i.id for i in items if i.outcome is Outcome.COMPLETE}

    def _end(self, job, chance):
        outcome, delay = Outcome.COMPLETE, 0
        if self.restless:
            outcome = chance.choice(
                [Outcome.COMPLETE] * 6 + [Outcome.RELEASE, Outcome.RETRY, Outcome.SNOOZE]
            )
            if outcome in (Outcome.RETRY, Outcome.SNOOZE):
                delay = chance.choice([0, 5_000])
        closes = Scope.GROUP if outcome is Outcome.RELEASE and chance.random() < 0.3 else None
        if closes is not None:
            delay = 3_000
        return Settlement(id=job.id, token=job.token, outcome=outcome, delay=delay, closes=closes)

    # -- verdicts --------------------------------------------------------------------------------

    def assert_all_done(self):
        """Nothing is stuck, nothing got lost."""
        assert len(self.done) == self.jobs

    def most_at_once(self, group=None):
        """How many ran at once at most, of all or of one group."""
        marks = []
        for run in self.runs:
            if group is None or run.group == group:
                marks += [(run.began, 1), (run.ended, -1)]
        most = now = 0
        for _, step in sorted(marks, key=lambda mark: (mark[0], mark[1])):
            now += step
            most = max(most, now)
        return most

    def assert_within_slots(self):
        """I13: neither the queue nor any group ever ran more than it may."""
        settings = self.settings
        if settings.concurrency is not None:
            assert self.most_at_once() <= settings.concurrency
        slots = 1 if settings.ordered_groups else settings.group_concurrency
        if slots is not None:
            for group in {run.group for run in self.runs} - {None}:
                assert self.most_at_once(group) <= slots, group

    def assert_within_rate(self):
        """I14: no window saw more starts than the rate allows."""
        for written, groups in (
            (self.settings.rate, [None]),
            (self.settings.group_rate, sorted({r.group for r in self.runs} - {None})),
        ):
            if written is None:
                continue
            allowed = rate(written)
            for group in groups:
                starts = sorted(r.at for r in self.runs if group is None or r.group == group)
                for first in range(len(starts)):
                    for last in range(first, len(starts)):
                        length = starts[last] - starts[first]
                        assert last - first + 1 <= allowed.burst + length / allowed.interval

    def assert_in_order(self):
        """I16: the jobs of a group succeeded in the order in which they came, one after the other."""
        ends = {run.job: run for run in self.runs}
        for group, jobs in self.order.items():
            if group is None:
                continue
            times = [ends[job].began for job in jobs]
            assert times == sorted(times), group


def _do(driver, request):
    return driver.run(plan_for(driver, request))


STORMS = {
    "slots": (QueueSettings(concurrency=6, group_concurrency=2), 5),
    "one slot each": (QueueSettings(group_concurrency=1), 3),
    "rates": (QueueSettings(rate="2000/s burst 20", group_rate="500/s burst 5"), 5),
    "ordered": (QueueSettings(ordered_groups=True), 4),
    "turns only": (QueueSettings(), 6),
}


def weather(open_driver, name, jobs, seed=1):
    """Let one of the storms happen, and judge what was seen of it."""
    settings, groups = STORMS[name]
    storm = Storm(open_driver, settings, groups, jobs, seed=seed)
    storm.blow()
    storm.assert_all_done()
    storm.assert_within_slots()
    storm.assert_within_rate()
    if settings.ordered_groups:
        storm.assert_in_order()
    return storm
