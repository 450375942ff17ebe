"""Rules: a pause belongs to the users of a queue, a block to its operators."""

from __future__ import annotations

from typing import Any

import pytest

from oxmill.errors import BadName, NotAllowed, NotSupported
from oxmill.model.claim import Claim, ClaimIds, Hold, Renew, Renewal
from oxmill.model.info import ListQueues, QueueInfo, Sweep
from oxmill.model.rule import PutRules, Rule, RuleKey, RuleKind, RulesPut, Scope
from oxmill.model.settlement import Outcome, Ruling
from oxmill.model.state import State
from oxmill.store.capabilities import Capability
from oxmill.testing.conformance.world import QUEUE, World, almost, new_job

PAUSE = Rule(kind=RuleKind.PAUSE, target=QUEUE, reason="deploy", author="ann")
BLOCK = Rule(kind=RuleKind.BLOCK, target=QUEUE, reason="runs amok", author="bob")


async def put(world: World, *rules: Rule, lift: tuple[RuleKey, ...] = ()) -> RulesPut:
    answer = await world.do(PutRules(set=rules, lift=lift, author="ann", operator=True))
    assert isinstance(answer, RulesPut)
    return answer


async def queue(world: World, name: str = QUEUE) -> QueueInfo:
    (info,) = (await world.do(ListQueues(queues=(name,)))).items
    assert isinstance(info, QueueInfo)
    return info


async def names(world: World, **options: Any) -> list[str]:
    return [job.id for job in await world.claim(9, **options)]


@pytest.mark.parametrize("rule", [PAUSE, BLOCK], ids=["pause", "block"])
async def test_a_closed_queue_gives_nothing_and_its_jobs_stay(world: World, rule: Rule) -> None:
    await world.enqueue("a")

    await put(world, rule)
    await world.enqueue("b")

    assert await names(world) == []
    assert (await queue(world)).counts == {State.WAITING: 2}


@pytest.mark.parametrize("rule", [PAUSE, BLOCK], ids=["pause", "block"])
async def test_an_opened_queue_gives_all_that_waited(world: World, rule: Rule) -> None:
    await put(world, rule)
    await world.enqueue("a", new_job("b", delay=world.span(1)), "c")
    await world.pass_time(world.span(2))
    assert await names(world) == []

    lifted = await put(world, lift=(rule.key,))

    assert (lifted.changed, lifted.queues) == (1, (QUEUE,))
    assert await names(world) == ["a", "c", "b"]


async def test_other_queues_stay_open(world: World) -> None:
    await world.enqueue("a", new_job("b", queue="other"))
    await put(world, PAUSE)

    assert await names(world, queues=(QUEUE, "other")) == ["b"]


async def test_jobs_of_a_closed_queue_cannot_be_claimed_by_id(world: World) -> None:
    await world.enqueue("a", new_job("b", queue="other"))
    await put(world, PAUSE)

    answer = await world.do(ClaimIds(ids=("a", "b"), lease=world.span(9), worker="w", nonce=1))

    assert [job.id for job in answer.jobs] == ["b"]


async def test_leases_of_a_closed_queue_live_on(world: World) -> None:
    await world.enqueue("a", "b")
    a, b = await world.claim(2)
    await put(world, BLOCK)

    items = (Renewal(id="a", token=a.token),)
    renewed = await world.do(Renew(items=items, lease=world.span(60)))

    assert renewed.holds == (Hold.KEPT,)
    assert (await world.settle(a, Outcome.COMPLETE)).ruling is Ruling.WON
    assert (await world.settle(b, Outcome.RELEASE)).ruling is Ruling.WON
    assert await names(world) == []


async def test_a_closed_queue_says_nothing_about_coming_back(world: World) -> None:
    await world.enqueue(new_job("a", delay=world.span(5)))
    await put(world, PAUSE)

    answer = await world.do(
        Claim(queues=(QUEUE,), limit=5, lease=world.span(9), worker="w", nonce=1)
    )

    assert (answer.jobs, answer.next_due) == ((), None)


async def test_a_block_may_be_set_and_lifted_by_operators_only(world: World) -> None:
    with pytest.raises(NotAllowed):
        await world.do(PutRules(set=(BLOCK,)))
    assert (await queue(world)).rules == ()

    await put(world, BLOCK)
    with pytest.raises(NotAllowed):
        await world.do(PutRules(lift=(BLOCK.key,)))

    assert [rule.kind for rule in (await queue(world)).rules] == [RuleKind.BLOCK]


async def test_a_refused_call_changes_nothing_at_all(world: World) -> None:
    with pytest.raises(NotAllowed):
        await world.do(PutRules(set=(PAUSE, BLOCK)))

    assert (await queue(world)).rules == ()


async def test_lifting_the_pause_does_not_lift_the_block(world: World) -> None:
    await world.enqueue("a")
    await put(world, PAUSE, BLOCK)

    await world.do(PutRules(lift=(PAUSE.key,)))
    behind_block = await names(world)
    await put(world, PAUSE)
    await put(world, lift=(BLOCK.key,))
    behind_pause = await names(world)
    await put(world, lift=(PAUSE.key,))

    assert (behind_block, behind_pause) == ([], [])
    assert await names(world) == ["a"]


async def test_setting_a_rule_twice_is_the_same_as_once(world: World) -> None:
    await world.enqueue("a")

    first = await put(world, PAUSE)
    rules = (await queue(world)).rules
    await world.pass_time(world.span(1))
    second = await put(world, PAUSE)

    assert (first.changed, second.changed) == (1, 0)
    assert (await queue(world)).rules == rules
    assert (await put(world, lift=(PAUSE.key,))).changed == 1
    assert await names(world) == ["a"]


async def test_a_rule_set_again_with_another_reason_is_changed(world: World) -> None:
    await put(world, PAUSE)

    other = Rule(kind=RuleKind.PAUSE, target=QUEUE, reason="incident", author="eve")
    answer = await put(world, other)

    (rule,) = (await queue(world)).rules
    assert answer.changed == 1
    assert (rule.reason, rule.author) == ("incident", "eve")


async def test_lifting_what_is_not_there_changes_nothing(world: World) -> None:
    answer = await put(world, lift=(PAUSE.key, BLOCK.key))

    assert (answer.changed, answer.queues) == (0, ())


async def test_a_queue_shows_its_rules(world: World) -> None:
    await put(world, PAUSE, BLOCK)

    now = (await world.do(ListQueues())).now
    info = await queue(world)

    assert [rule.kind for rule in info.rules] == [RuleKind.BLOCK, RuleKind.PAUSE]
    assert [(rule.reason, rule.author) for rule in info.rules] == [
        ("runs amok", "bob"),
        ("deploy", "ann"),
    ]
    assert all(0 < rule.set_at <= now for rule in info.rules)


async def test_the_author_of_the_call_stands_for_a_rule_that_names_none(world: World) -> None:
    await world.do(PutRules(set=(Rule(kind=RuleKind.PAUSE, target=QUEUE),), author="zoe"))

    (rule,) = (await queue(world)).rules
    assert rule.author == "zoe"


async def test_a_queue_may_be_closed_before_it_has_jobs(world: World) -> None:
    await put(world, PAUSE)
    await world.enqueue("a")

    assert await names(world) == []
    assert [info.name for info in (await world.do(ListQueues())).items] == [QUEUE]


async def test_a_rule_ends_by_itself(world: World) -> None:
    await world.enqueue("a")
    now = (await world.do(ListQueues())).now
    length = world.span(6)
    await put(world, Rule(kind=RuleKind.PAUSE, target=QUEUE, expires_at=now + length))

    await world.pass_time(almost(world, length))
    closed = await names(world)
    await world.pass_time(length - almost(world, length))

    assert closed == []
    assert (await queue(world)).rules == ()
    assert await names(world) == ["a"]


async def test_a_sweep_tells_which_queues_opened_by_themselves(world: World) -> None:
    await world.enqueue("a")
    now = (await world.do(ListQueues())).now
    await put(world, Rule(kind=RuleKind.PAUSE, target=QUEUE, expires_at=now + world.span(3)))
    await world.pass_time(world.span(4))

    swept = await world.do(Sweep())

    assert swept.queues == (QUEUE,)
    assert (await world.do(Sweep())).queues == ()


async def test_the_block_stays_when_the_pause_ends_by_itself(world: World) -> None:
    await world.enqueue("a")
    now = (await world.do(ListQueues())).now
    short = Rule(kind=RuleKind.PAUSE, target=QUEUE, expires_at=now + world.span(1))
    await put(world, short, BLOCK)

    await world.pass_time(world.span(2))
    await world.do(Sweep())

    assert await names(world) == []
    assert [rule.kind for rule in (await queue(world)).rules] == [RuleKind.BLOCK]


async def test_nine_quick_resumes_run_a_job_once(world: World) -> None:
    await world.enqueue("a")
    await put(world, PAUSE)

    answers = await world.at_once(*[PutRules(lift=(PAUSE.key,))] * 9)

    assert sum(answer.changed for answer in answers) == 1
    assert await names(world) == ["a"]
    assert await names(world) == []


async def test_a_rule_on_a_name_that_cannot_be_stored_is_refused(world: World) -> None:
    with pytest.raises(BadName):
        await put(world, Rule(kind=RuleKind.PAUSE, target=""))


async def test_rules_on_other_things_are_refused_where_they_are_not_supported(
    world: World,
) -> None:
    if Capability.SCOPED_RULES in world.driver.capabilities:
        pytest.skip("this store supports them")

    with pytest.raises(NotSupported):
        await put(world, Rule(kind=RuleKind.PAUSE, target="send", scope=Scope.TASK))
    with pytest.raises(NotSupported):
        await put(world, Rule(kind=RuleKind.THROTTLE, target=QUEUE, rate="1/s"))
