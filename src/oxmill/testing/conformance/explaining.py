"""Why a job does not start: every gate of a store is told, with its numbers and its moment."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from oxmill.model.flow import FlowStep, Join, JoinPolicy, OnFailure
from oxmill.model.info import ListQueues
from oxmill.model.query import Cancel
from oxmill.model.rule import PutRules, Rule, RuleKind, Scope
from oxmill.model.settlement import Outcome
from oxmill.model.state import State
from oxmill.model.value import Micros
from oxmill.queue.explaining import situation_of
from oxmill.rules.explain import Explanation, explain
from oxmill.store.capabilities import Capability
from oxmill.store.plan import Plan
from oxmill.testing.conformance.world import (
    QUEUE,
    World,
    by_id,
    done,
    new_job,
    node,
    of_group,
    start,
)

PACE = "1/h"


async def told(world: World, job_id: str) -> Explanation:
    """What `oxmill jobs explain` says about a job."""
    talk = situation_of(world.driver, job_id)
    answer: Any = None
    while True:
        try:
            plan = talk.send(answer)
        except StopIteration as end:
            return explain(end.value)
        assert isinstance(plan, Plan)  # it waits for nothing but the store
        answer = await world.perform(plan)


async def closed(world: World, job_id: str) -> dict[str, tuple[str, Micros | None]]:
    """The gates in the way but for that no worker is there: name → what is said, when it opens."""
    gates = (await told(world, job_id)).closed
    return {gate.name: (gate.detail, gate.opens_at) for gate in gates if gate.name != "worker"}


async def test_nothing_is_in_the_way_of_a_job_that_may_start(world: World) -> None:
    await world.enqueue("a")

    assert await closed(world, "a") == {}


async def test_its_place_in_line_is_told(world: World) -> None:
    world.require(Capability.GROUPS)
    await world.enqueue("n1", *of_group("a", 3), "n2", new_job("first", group="a", priority=-1))

    gates = {
        job: {g.name: g.detail for g in (await told(world, job)).gates} for job in ("a3", "n2")
    }

    assert gates["a3"]["line"].startswith("before it in line: 3 jobs of queue")
    assert gates["n2"]["line"].startswith("before it in line: 1 job of queue")


@pytest.mark.parametrize("kind", [RuleKind.PAUSE, RuleKind.BLOCK])
@pytest.mark.parametrize(
    ("scope", "target"),
    [(Scope.QUEUE, QUEUE), (Scope.TASK, "t"), (Scope.GROUP, "a"), (Scope.FIELD, "user=1")],
)
async def test_a_rule_is_told(world: World, kind: RuleKind, scope: Scope, target: str) -> None:
    world.require(Capability.SCOPED_RULES)
    await world.enqueue(new_job("a1", group="a", task="t", fields={"user": 1}))
    now = await _now(world)
    rule = Rule(kind=kind, scope=scope, target=target, expires_at=now + world.span(600))
    await world.do(PutRules(set=(rule,), operator=True))

    gates = await closed(world, "a1")

    assert set(gates) == {str(kind)}
    assert gates[str(kind)][1] == rule.expires_at


async def test_a_rule_on_a_queue_is_told_with_the_queue_only(world: World) -> None:
    world.require(Capability.SCOPED_RULES)
    await world.enqueue("a")
    whole = Rule(kind=RuleKind.PAUSE, target=QUEUE)
    task = Rule(kind=RuleKind.PAUSE, scope=Scope.TASK, target="t")
    await world.do(PutRules(set=(whole, task)))

    targets = ((Scope.QUEUE, QUEUE), (Scope.TASK, "t"))
    seen = await world.do(ListQueues(queues=(QUEUE,), groups=("",), targets=targets))

    assert [rule.key for info in seen.items for rule in info.rules] == [whole.key]
    assert [rule.key for rule in seen.rules] == [task.key]


async def test_a_rule_is_told_among_very_many(world: World) -> None:
    world.require(Capability.SCOPED_RULES)
    rules = [Rule(kind=RuleKind.PAUSE, scope=Scope.GROUP, target=f"g{n:04}") for n in range(1_200)]
    most = 200
    for first in range(0, len(rules), most):
        await world.do(PutRules(set=tuple(rules[first : first + most])))
    await world.enqueue(new_job("last", group="g1199"))

    assert set(await closed(world, "last")) == {"pause"}


@pytest.mark.parametrize(
    ("scope", "target"),
    [(Scope.QUEUE, QUEUE), (Scope.TASK, "t"), (Scope.GROUP, "a"), (Scope.FIELD, "user=1")],
)
@pytest.mark.parametrize("asked_too", [None, Scope.GROUP, Scope.QUEUE])
async def test_a_throttle_and_a_wait_are_told_apart(
    world: World, scope: Scope, target: str, asked_too: Scope | None
) -> None:
    world.require(Capability.SCOPED_RULES | Capability.LIMITS)
    longer = {Scope.GROUP: world.span(60), Scope.QUEUE: world.span(90_000)}  # than an hour, or not
    rule = Rule(kind=RuleKind.THROTTLE, scope=scope, target=target, rate=PACE)
    await world.do(PutRules(set=(rule,)))
    jobs = [new_job(each, group="a", task="t", fields={"user": 1}) for each in ("a1", "a2")]
    await world.enqueue(*jobs)
    (lease,) = await world.claim()
    if asked_too is not None:
        await world.settle(lease, Outcome.RELEASE, closes=asked_too, delay=longer[asked_too])

    gates = await closed(world, "a2")

    waits = set() if asked_too is None else {f"{asked_too} rate"}
    assert set(gates) == {"throttle", *waits}
    opens = {name: at or 0 for name, (_, at) in gates.items()}
    for name in waits:
        assert "asked to wait" in gates[name][0]
        assert (opens[name] > opens["throttle"]) == (asked_too is Scope.QUEUE)


@pytest.mark.parametrize(
    ("limits", "gate"),
    [
        ({"concurrency": 1}, "queue concurrency"),
        ({"group_concurrency": 1}, "group concurrency"),
        ({"ordered_groups": True}, "group concurrency"),
        ({"rate": PACE}, "queue rate"),
        ({"group_rate": PACE}, "group rate"),
    ],
    ids=str,
)
async def test_a_limit_is_told(world: World, limits: dict[str, Any], gate: str) -> None:
    world.require(Capability.LIMITS)
    await world.configure(**limits)
    await world.enqueue(*of_group("a", 2))
    await world.claim()

    gates = await closed(world, "a2")

    assert set(gates) == {gate}
    detail, opens_at = gates[gate]
    assert ("a1 by w1" in detail) == ("concurrency" in gate)
    assert (opens_at is not None) == ("rate" in gate)


async def test_the_holders_of_a_full_queue_are_named_whatever_their_groups(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.configure(concurrency=2)
    await world.enqueue(*of_group("a", 1), *of_group("b", 1))
    await world.claim(2)
    await world.enqueue(new_job("a2", group="a"))

    detail, _ = (await closed(world, "a2"))["queue concurrency"]

    assert "a1 by w1" in detail
    assert "b1 by w1" in detail


async def test_a_job_to_be_tried_again_in_an_ordered_group_says_when(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.configure(ordered_groups=True)
    await world.enqueue(*of_group("a", 2))
    (lease,) = await world.claim()
    await world.settle(lease, Outcome.RETRY, delay=world.span(600))

    first, second = await closed(world, "a1"), await closed(world, "a2")

    job = await world.job("a1")
    assert job is not None
    assert {name: at for name, (_, at) in first.items()} == {"due time": job.due_at}
    assert {name: at for name, (_, at) in second.items()} == {"order": job.due_at}
    assert "a1 goes first" in second["order"][0]
    assert (await told(world, "a1")).summary.startswith("waiting: it is due in")


async def test_a_job_behind_a_held_up_first_one_names_it_and_why(world: World) -> None:
    world.require(Capability.LIMITS | Capability.SCOPED_RULES)
    await world.configure(ordered_groups=True)
    await world.enqueue(new_job("a1", group="a", task="slow"), new_job("a2", group="a"))
    await world.do(PutRules(set=(Rule(kind=RuleKind.PAUSE, target="slow", scope=Scope.TASK),)))

    gates = await closed(world, "a2")

    assert set(gates) == {"order"}
    assert "a1 goes first" in gates["order"][0]
    assert "task 'slow' is paused" in gates["order"][0]


async def test_a_held_job_counts_only_what_has_not_ended(world: World) -> None:
    await start(world, "a", "b", node("c", "a", "b"))
    await done(world, "a")

    gates = await closed(world, "c")

    assert set(gates) == {"dependencies"}
    assert "1 of 2 jobs of its flow: b is waiting" in gates["dependencies"][0]


@pytest.mark.parametrize(
    ("join", "words"),
    [
        (Join(), "when all have succeeded"),
        (Join(policy=JoinPolicy.ALL_END), "when all have ended"),
        (Join(policy=JoinPolicy.ANY, on_failure=OnFailure.IGNORE), "when one has succeeded"),
        (Join(policy=JoinPolicy.QUORUM, quorum=2), "when 2 have succeeded"),
    ],
    ids=lambda each: each.policy if isinstance(each, Join) else "",
)
@pytest.mark.parametrize("late", [False, True])
async def test_a_held_job_says_how_it_is_joined(
    world: World, join: Join, words: str, late: bool
) -> None:
    if late:
        join = msgspec.structs.replace(join, deadline=world.span(600))
    await start(world, "a", "b", "c", node("d", "a", "b", "c", join=join))

    ((detail, _),) = (await closed(world, "d")).values()

    job = await world.job("d")
    assert job is not None
    assert job.join == join
    assert (job.join_until is None) is not late
    assert words in detail
    end = "without the others in" if join.on_failure is OnFailure.IGNORE else "fails in"
    assert (end in detail) is late


async def test_children_are_joined_as_their_parent_said(world: World) -> None:
    join = Join(policy=JoinPolicy.ANY, deadline=world.span(600))
    await start(world, "a")
    await done(world, "a", flow=FlowStep(spawn=(node("kid"),), join=join, resume="on"))

    held = await world.job("a")

    assert held is not None
    assert held.join == join
    assert held.join_until is not None
    ((detail, _),) = (await closed(world, "a")).values()
    assert "1 of 1 job that it has spawned: kid is waiting; it goes on when one has" in detail
    await done(world, "kid")
    gone_on = await world.job("a")
    assert gone_on is not None
    assert (gone_on.join, gone_on.join_until) == (None, None)


async def test_a_job_that_is_not_due_and_one_that_has_ended(world: World) -> None:
    await world.enqueue(new_job("later", delay=world.span(600)), "gone")
    await world.do(Cancel(filter=by_id("gone"), reason="why"))

    later = await world.job("later")
    assert later is not None
    assert later.state is State.SCHEDULED
    assert (await closed(world, "later"))["due time"][1] == later.due_at
    assert (await told(world, "gone")).summary == "cancelled: why"


async def _now(world: World) -> Micros:
    now: Micros = (await world.do(ListQueues())).now
    return now
