"""Gates under load: many claimers at once, and a recorded history that must keep to every limit."""

from __future__ import annotations

import asyncio
import random
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from oxmill.model.claim import Claim, Claimed
from oxmill.model.rule import PutRules, Rule, RuleKind, Scope
from oxmill.model.settlement import Outcome, Settle, Settlement
from oxmill.rules.rate import rate
from oxmill.store.capabilities import Capability
from oxmill.testing.conformance.concurrency import MANY, claims
from oxmill.testing.conformance.counting import counted, recounted
from oxmill.testing.conformance.metering import every
from oxmill.testing.conformance.world import QUEUE, World, new_job, of_group
from oxmill.testing.operations import plan_for


def granted(answers: list[Claimed]) -> list[str]:
    return [job.id for answer in answers for job in answer.jobs]


async def test_many_claimers_get_no_more_than_the_concurrency(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.configure(concurrency=7)
    await world.enqueue(*(f"job-{n}" for n in range(50)))

    taken = granted(await world.at_once(*claims(world, 3)))

    assert len(taken) == len(set(taken)) == 7


async def test_many_claimers_get_no_more_than_each_group_allows(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.configure(group_concurrency=2)
    await world.enqueue(*(job for g in "abcdefgh" for job in of_group(g, 6)))

    taken = granted(await world.at_once(*claims(world, 5)))

    assert Counter(job_id[0] for job_id in taken) == dict.fromkeys("abcdefgh", 2)


async def test_many_claimers_get_no_more_than_the_burst(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.configure(rate=every(world.span(6_000), burst=5))
    await world.enqueue(*(f"job-{n}" for n in range(50)))

    assert len(granted(await world.at_once(*claims(world, 2)))) == 5


async def test_many_claimers_get_no_more_than_a_throttle_lets_through(world: World) -> None:
    world.require(Capability.SCOPED_RULES)
    limit = Rule(
        kind=RuleKind.THROTTLE, target="t", scope=Scope.TASK, rate=every(world.span(6_000), 5)
    )
    await world.do(PutRules(set=(limit,)))
    await world.enqueue(*(new_job(f"job-{n}", task="t", queue=f"q{n % 4}") for n in range(40)))
    wanted = [
        Claim(queues=(f"q{n % 4}",), limit=3, lease=world.span(600), worker="w", nonce=n)
        for n in range(MANY)
    ]

    assert len(granted(await world.at_once(*wanted))) == 5


async def test_many_claimers_keep_an_ordered_group_in_order(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.configure(ordered_groups=True)
    await world.enqueue(*of_group("a", 9), *of_group("b", 9))

    for turn in range(1, 5):
        answers = await world.at_once(*claims(world, 3))
        leases = [lease for answer in answers for lease in answer.jobs]
        assert sorted(lease.id for lease in leases) == [f"a{turn}", f"b{turn}"]
        for lease in leases:
            await world.settle(lease, Outcome.COMPLETE)


async def test_after_a_pause_on_a_group_has_returned_no_claim_gives_its_jobs(world: World) -> None:
    world.require(Capability.SCOPED_RULES)
    await world.fill(*of_group("a", 60), *of_group("b", 60))
    rule = Rule(kind=RuleKind.PAUSE, target="a", scope=Scope.GROUP)

    await world.at_once(*claims(world, 2), PutRules(set=(rule,)))
    later = granted(await world.at_once(*claims(world, 2)))

    assert {job_id[0] for job_id in later} <= {"b"}


# --- a recorded history ---------------------------------------------------------------------------


@dataclass
class History:
    """What happened, in the order of what the store answered."""

    starts: list[tuple[int, str, str]] = field(default_factory=list)
    """(store's time, group, job)."""
    running: Counter[str] = field(default_factory=Counter)
    most: Counter[str] = field(default_factory=Counter)
    """The most that ran at once, by group; `""` is the whole queue."""

    def started(self, at: int, group: str, job_id: str) -> None:
        """Told after the claim was answered."""
        self.starts.append((at, group, job_id))
        for name in ("", group):
            self.running[name] += 1
            self.most[name] = max(self.most[name], self.running[name])

    def ends(self, group: str) -> None:
        """Told before the settlement is sent: what runs in truth is never more than is told."""
        for name in ("", group):
            self.running[name] -= 1


async def work_on(world: World, history: History, number: int, dice: random.Random) -> None:
    """A worker that claims, lets others in, and settles, until there is nothing for a while."""
    idle = 0
    while idle < 40:
        claim = Claim(
            queues=(QUEUE,),
            limit=dice.randint(1, 4),
            lease=world.span(600),
            worker=f"w{number}",
            nonce=dice.getrandbits(40),
        )
        answer = await _perform(world, claim)
        for job in answer.jobs:
            history.started(answer.now, job.group or "", job.id)
        idle = 0 if answer.jobs else idle + 1
        await world.pass_time(world.span(0.05))
        for job in answer.jobs:
            history.ends(job.group or "")
            outcome = dice.choice([Outcome.COMPLETE, Outcome.COMPLETE, Outcome.RELEASE])
            settlement = Settlement(id=job.id, token=job.token, outcome=outcome)
            await _perform(world, Settle(items=(settlement,)))


async def _perform(world: World, request: Claim | Settle) -> Any:
    """In a thread of its own, so that workers meet in the store."""
    plan = plan_for(world.driver, request)
    await asyncio.sleep(0)
    return await asyncio.to_thread(world.driver.run, plan)


async def record(world: World, workers: int = 6) -> History:
    """Let workers loose on what waits and give what happened."""
    history = History()
    dice = [random.Random(seed) for seed in range(workers)]  # noqa: S311 - a repeatable story
    await asyncio.gather(*(work_on(world, history, n, die) for n, die in enumerate(dice)))
    return history


async def test_a_history_never_exceeds_a_concurrency(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.configure(concurrency=5, group_concurrency=2)
    await world.enqueue(*(job for group in "abcd" for job in of_group(group, 12)))

    history = await record(world)

    assert {job_id for _, _, job_id in history.starts} == {
        f"{group}{n}" for group in "abcd" for n in range(1, 13)
    }
    assert 0 < history.most[""] <= 5
    assert all(0 < history.most[group] <= 2 for group in "abcd")
    assert await counted(world) == await recounted(world)


async def test_a_history_never_exceeds_a_rate(world: World) -> None:
    world.require(Capability.LIMITS)
    queue, group = every(world.span(0.1), burst=4), every(world.span(0.3), burst=2)
    await world.configure(rate=queue, group_rate=group)
    await world.enqueue(*(job for name in "ab" for job in of_group(name, 10)))

    history = await record(world)

    by_group = defaultdict(list)
    for at, name, _ in history.starts:
        by_group[name].append(at)
    assert len(history.starts) >= 20
    assert too_many([at for at, _, _ in history.starts], queue) == []
    assert [breach for times in by_group.values() for breach in too_many(times, group)] == []


def too_many(times: list[int], written: str) -> list[tuple[int, int, int]]:
    """Windows between two starts that hold more than the rate allows (I13)."""
    allowed, times = rate(written), sorted(times)
    return [
        (first, last, n)
        for i, first in enumerate(times)
        for n, last in enumerate(times[i:], 1)
        if n > allowed.burst + (last - first) / allowed.interval
    ]


async def test_a_history_keeps_ordered_groups_in_order(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.configure(ordered_groups=True)
    await world.enqueue(*(job for group in "abc" for job in of_group(group, 8)))

    history = await record(world)

    assert max(history.most[group] for group in "abc") == 1
    for name in "abc":
        order = [int(job_id[1:]) for _, group, job_id in history.starts if group == name]
        # A job that was given back comes again, before any later one.
        assert order == sorted(order)
        assert set(order) == set(range(1, 9))
