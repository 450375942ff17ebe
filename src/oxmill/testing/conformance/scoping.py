"""Rules on tasks, groups and fields, and throttles: what they cover waits, the rest goes on."""

from __future__ import annotations

from typing import Any

import pytest

from oxmill.errors import BadInput, NotAllowed
from oxmill.model.claim import ClaimIds, Hold, Renew, Renewal
from oxmill.model.info import EventsAfter, ListQueues, Queues, Sweep
from oxmill.model.job import NewJob
from oxmill.model.query import Cancel, Edit, Find, Purge, Redrive
from oxmill.model.rule import PutRules, Rule, RuleKey, RuleKind, RulesPut, Scope
from oxmill.model.settlement import Outcome, Ruling
from oxmill.model.state import State
from oxmill.model.unique import OnConflict, UniqueKey
from oxmill.store.capabilities import Capability
from oxmill.store.doorbell import work
from oxmill.testing.conformance.counting import counted, recounted
from oxmill.testing.conformance.doorbell import listening, tells
from oxmill.testing.conformance.limiting import asked
from oxmill.testing.conformance.metering import every
from oxmill.testing.conformance.world import QUEUE, World, almost, by_id, new_job

TARGETS = {Scope.TASK: "slow", Scope.GROUP: "acme", Scope.FIELD: "user=62"}
SCOPES = list(TARGETS)
CLOSING = [RuleKind.PAUSE, RuleKind.BLOCK]


def rule(scope: Scope, kind: RuleKind = RuleKind.PAUSE, **details: Any) -> Rule:
    """A rule that covers every job named `x…`, see `covered`."""
    return Rule(kind=kind, target=TARGETS[scope], scope=scope, **details)


def covered(job_id: str, **options: Any) -> NewJob:
    """A job that rules on any of the targets cover."""
    traits: dict[str, Any] = {"task": "slow", "group": "acme", "fields": {"user": 62, "at": "x"}}
    return new_job(job_id, **(traits | options))


async def put(world: World, *rules: Rule, lift: tuple[RuleKey, ...] = ()) -> RulesPut:
    world.require(Capability.SCOPED_RULES)
    answer = await world.do(PutRules(set=rules, lift=lift, author="ann", operator=True))
    assert isinstance(answer, RulesPut)
    return answer


async def told(world: World, *groups: str) -> Queues:
    answer = await world.do(ListQueues(groups=groups or ("acme",)))
    assert isinstance(answer, Queues)
    return answer


# --- pauses and blocks ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", CLOSING)
@pytest.mark.parametrize("scope", SCOPES)
async def test_what_a_rule_covers_waits_and_the_rest_goes_on(
    world: World, scope: Scope, kind: RuleKind
) -> None:
    await put(world, rule(scope, kind))
    await world.enqueue(covered("x1"), "a", covered("x2"), "b")

    assert await world.ids(9) == ["a", "b"]
    assert await world.ids(9) == []
    assert (await counted(world))[QUEUE] == {State.WAITING: 2, State.RUNNING: 2}


@pytest.mark.parametrize("scope", SCOPES)
async def test_a_rule_holds_in_every_queue(world: World, scope: Scope) -> None:
    await put(world, rule(scope))
    await world.enqueue(covered("x1"), covered("x2", queue="other"), new_job("b", queue="other"))

    assert await world.ids(9, queues=(QUEUE, "other")) == ["b"]


@pytest.mark.parametrize("kind", CLOSING)
@pytest.mark.parametrize("scope", SCOPES)
async def test_jobs_kept_back_come_back_at_once_and_in_order(
    world: World, scope: Scope, kind: RuleKind
) -> None:
    await put(world, rule(scope, kind))
    await world.enqueue(
        *(covered(f"x{n}", group="acme" if scope is Scope.GROUP else None) for n in range(5)),
        covered("urgent", priority=-1, group="acme" if scope is Scope.GROUP else None),
    )
    assert await world.ids(9) == []
    assert await world.ids(9) == []

    lifted = await put(world, lift=(rule(scope, kind).key,))

    assert (lifted.changed, lifted.queues) == (1, (QUEUE,))
    assert await world.ids(9) == ["urgent", "x0", "x1", "x2", "x3", "x4"]


@pytest.mark.parametrize("scope", SCOPES)
async def test_they_come_back_before_what_came_later(world: World, scope: Scope) -> None:
    await put(world, rule(scope))
    await world.enqueue(covered("x1", group="acme"))
    assert await world.ids(9) == []
    await world.enqueue(new_job("later", group="acme" if scope is not Scope.GROUP else None))

    await put(world, lift=(rule(scope).key,))

    assert await world.ids(9) == ["x1", "later"]


@pytest.mark.parametrize("scope", SCOPES)
async def test_a_rule_ends_by_itself(world: World, scope: Scope) -> None:
    length = world.span(6)
    ends = (await told(world)).now + length
    await put(world, rule(scope, expires_at=ends))
    await world.enqueue(covered("x1"))

    answer = await asked(world)
    await world.pass_time(almost(world, length))
    closed = await world.ids(9)
    await world.pass_time(length - almost(world, length))

    assert (answer.jobs, answer.next_due, closed) == ((), ends, [])
    assert await world.ids(9) == ["x1"]


@pytest.mark.parametrize("scope", SCOPES)
async def test_a_sweep_tells_where_a_rule_ended(world: World, scope: Scope) -> None:
    await put(world, rule(scope, expires_at=(await told(world)).now + world.span(3)))
    await world.enqueue(covered("x1"))
    assert await world.ids(9) == []
    await world.pass_time(world.span(4))

    assert (await world.do(Sweep())).queues == (QUEUE,)
    assert (await told(world)).rules == ()
    assert await world.ids(9) == ["x1"]


@pytest.mark.parametrize("scope", SCOPES)
async def test_a_block_is_lifted_by_operators_only(world: World, scope: Scope) -> None:
    block = rule(scope, RuleKind.BLOCK)
    await put(world, block, rule(scope))
    await world.enqueue(covered("x1"))

    await world.do(PutRules(lift=(rule(scope).key,)))
    with pytest.raises(NotAllowed):
        await world.do(PutRules(lift=(block.key,)))
    assert await world.ids(9) == []
    await put(world, lift=(block.key,))

    assert await world.ids(9) == ["x1"]


@pytest.mark.parametrize("scope", SCOPES)
async def test_named_jobs_do_not_pass_a_rule(world: World, scope: Scope) -> None:
    await put(world, rule(scope))
    await world.enqueue(covered("x1"), "a")
    request = ClaimIds(ids=("x1", "a"), lease=world.span(60), worker="w", nonce=1)

    assert [job.id for job in (await world.do(request)).jobs] == ["a"]
    assert await world.ids(9) == []
    await put(world, lift=(rule(scope).key,))
    request = ClaimIds(ids=("x1",), lease=world.span(60), worker="w", nonce=2)

    assert [job.id for job in (await world.do(request)).jobs] == ["x1"]


@pytest.mark.parametrize("scope", SCOPES)
async def test_running_jobs_go_on_under_a_rule(world: World, scope: Scope) -> None:
    await world.enqueue(covered("x1"))
    (lease,) = await world.claim()
    await put(world, rule(scope))

    renewal = Renew(items=(Renewal(id="x1", token=lease.token),), lease=world.span(60))

    assert (await world.do(renewal)).holds == (Hold.KEPT,)
    assert (await world.settle(lease, Outcome.COMPLETE)).ruling is Ruling.WON


async def test_two_rules_on_one_job_must_both_end(world: World) -> None:
    await put(world, rule(Scope.TASK), rule(Scope.FIELD))
    await world.enqueue(covered("x1"))

    assert await world.ids(9) == []
    await put(world, lift=(rule(Scope.TASK).key,))
    assert await world.ids(9) == []
    await put(world, lift=(rule(Scope.FIELD).key,))

    assert await world.ids(9) == ["x1"]


@pytest.mark.parametrize("value", [62, "62"])
async def test_a_field_is_matched_as_it_is_written(world: World, value: int | str) -> None:
    await put(world, rule(Scope.FIELD))
    await world.enqueue(
        new_job("x1", fields={"user": value}), new_job("a", fields={"user": 6, "users": 62})
    )

    assert await world.ids(9) == ["a"]


async def test_a_rule_on_a_field_covers_lists_that_hold_its_value(world: World) -> None:
    await put(world, rule(Scope.FIELD))
    await world.enqueue(
        new_job("x1", fields={"user": (7, 62, 62)}),
        new_job("a", fields={"user": (6, 2)}),
        new_job("b", fields={"user": ()}),
    )

    assert await world.ids(9) == ["a", "b"]
    await put(world, lift=(rule(Scope.FIELD).key,))
    assert await world.ids(9) == ["x1"]


async def test_a_rule_on_a_field_names_it_and_its_value(world: World) -> None:
    with pytest.raises(BadInput):
        await put(world, Rule(kind=RuleKind.PAUSE, target="user", scope=Scope.FIELD))


async def test_rules_on_other_things_close_no_queue_of_that_name(world: World) -> None:
    await put(world, *(Rule(kind=RuleKind.PAUSE, target=QUEUE, scope=s) for s in (Scope.TASK,)))
    await put(world, Rule(kind=RuleKind.PAUSE, target=QUEUE, scope=Scope.GROUP))
    await world.enqueue("a")

    assert await world.ids(9) == ["a"]
    assert [rules for info in (await told(world)).items for rules in info.rules] == []


async def test_the_store_tells_its_rules_with_reason_and_author(world: World) -> None:
    await put(world, *(rule(scope, reason="why") for scope in SCOPES))

    found = [
        (each.scope, each.target, each.reason, each.author) for each in (await told(world)).rules
    ]

    assert found == [
        (scope, TARGETS[scope], "why", "ann") for scope in (Scope.FIELD, Scope.GROUP, Scope.TASK)
    ]


async def test_every_change_of_a_rule_leaves_an_event(world: World) -> None:
    await put(world, rule(Scope.TASK, reason="why"))
    await put(world, rule(Scope.GROUP, RuleKind.THROTTLE, rate="5/s", reason="slow down"))
    await put(world, lift=(rule(Scope.TASK).key,))

    events = await world.do(EventsAfter())

    assert [(e.kind, e.target, e.author, e.detail) for e in events] == [
        ("pause", "task:slow", "ann", "why"),
        ("throttle", "group:acme", "ann", "5/s: slow down"),
        ("resume", "task:slow", "ann", ""),
    ]


# --- jobs that are set aside ----------------------------------------------------------------------


async def set_aside(world: World, *jobs: NewJob) -> None:
    """Enqueue jobs and have a claim come to them behind a closed gate of their own."""
    await put(world, rule(Scope.TASK))
    await world.enqueue(*jobs)
    assert await world.ids(9) == []
    assert await counted(world) == await recounted(world)


async def test_more_than_a_claim_sets_aside_get_out_of_the_way(world: World) -> None:
    await put(world, rule(Scope.TASK))
    most = world.driver.bounds.cleanup_jobs
    await world.fill(*(covered(f"x{n}", group=None) for n in range(most + 5)), new_job("a"))

    first = await asked(world)
    second = await asked(world)

    assert (first.jobs, first.next_due) == ((), first.now)
    assert [job.id for job in second.jobs] == ["a"]


async def test_more_than_a_claim_brings_back_come_with_the_next(world: World) -> None:
    await put(world, rule(Scope.TASK))
    most = world.driver.bounds.cleanup_jobs
    await world.fill(*(covered(f"x{n}", group=None) for n in range(most + 5)))
    await asked(world)
    await asked(world)
    await put(world, lift=(rule(Scope.TASK).key,))

    first = await world.ids(most)
    second = await world.ids(most)

    assert first == [f"x{n}" for n in range(most)]
    assert second == [f"x{n}" for n in range(most, most + 5)]


async def test_a_job_set_aside_can_be_cancelled_and_redriven(world: World) -> None:
    await set_aside(world, covered("x1"), covered("x2"))

    await world.do(Cancel(filter=by_id("x1")))
    assert await counted(world) == await recounted(world)
    await world.do(Redrive(filter=by_id("x1")))
    assert await world.ids(9) == []
    await put(world, lift=(rule(Scope.TASK).key,))

    assert await world.ids(9) == ["x2", "x1"]


async def test_a_job_set_aside_can_be_purged(world: World) -> None:
    await set_aside(world, covered("x1"), covered("x2"))

    await world.do(Purge(filter=by_id("x1")))
    await put(world, lift=(rule(Scope.TASK).key,))

    assert await world.ids(9) == ["x2"]
    assert await counted(world) == await recounted(world)


async def test_a_job_set_aside_can_be_edited(world: World) -> None:
    await set_aside(world, *(covered(f"x{n}", group=None) for n in range(4)))

    await world.do(Edit(filter=by_id("x1"), priority=-1))
    await world.do(Edit(filter=by_id("x2"), queue="other"))
    await world.do(Edit(filter=by_id("x3"), due_in=world.span(600)))
    assert await world.ids(9, queues=(QUEUE, "other")) == []
    assert await counted(world) == await recounted(world)
    await put(world, lift=(rule(Scope.TASK).key,))

    assert await world.ids(9) == ["x1", "x0"]
    assert await world.ids(9, queues=("other",)) == ["x2"]


async def test_a_job_set_aside_can_be_replaced_by_one_that_may_run(world: World) -> None:
    key = UniqueKey(key="k", on_conflict=OnConflict.REPLACE)
    await set_aside(world, covered("x1", unique=key))

    await world.enqueue(new_job("other", unique=key))

    assert await world.ids(9) == ["x1"]


async def test_a_job_set_aside_expires(world: World) -> None:
    await set_aside(world, covered("x1", expires_in=world.span(2)))

    await world.pass_time(world.span(3))
    await world.do(Sweep())

    job = await world.job("x1")
    assert job is not None
    assert (job.state, job.reason) == (State.CANCELLED, "expired")
    assert await counted(world) == await recounted(world)


async def test_a_job_set_aside_is_found_like_any_other(world: World) -> None:
    await set_aside(world, covered("x1"))

    job = await world.job("x1")

    assert job is not None
    assert job.state is State.WAITING
    assert [each.id for each in (await world.do(Find())).jobs] == ["x1"]
    (info,) = (await world.do(ListQueues(queues=(QUEUE,)))).items
    assert info.oldest_waiting == job.enqueued_at


async def test_the_holder_of_a_lapsed_lease_finds_its_job_that_was_set_aside(world: World) -> None:
    await world.enqueue(covered("x1"))
    (lease,) = await world.claim(lease=world.span(1))
    await put(world, rule(Scope.TASK))
    await world.pass_time(world.span(2))
    assert await world.ids(9) == []

    assert (await world.settle(lease, Outcome.COMPLETE)).ruling is Ruling.WON
    assert await counted(world) == await recounted(world)


# --- throttles ------------------------------------------------------------------------------------

THROTTLED = {**TARGETS, Scope.QUEUE: QUEUE}


def throttle(scope: Scope, rate: str, **details: Any) -> Rule:
    return Rule(kind=RuleKind.THROTTLE, target=THROTTLED[scope], scope=scope, rate=rate, **details)


@pytest.mark.parametrize("scope", list(THROTTLED))
async def test_a_throttle_lets_no_more_start(world: World, scope: Scope) -> None:
    await put(world, throttle(scope, every(world.span(600), burst=2)))
    await world.enqueue(*(covered(f"x{n}") for n in range(5)), new_job("o", queue="other"))

    assert await world.ids(9) == ["x0", "x1"]
    assert await world.ids(9, queues=(QUEUE, "other")) == ["o"]


@pytest.mark.parametrize("scope", SCOPES)
async def test_a_throttle_holds_up_nobody_else(world: World, scope: Scope) -> None:
    await put(world, throttle(scope, every(world.span(600))))
    await world.enqueue(*(covered(f"x{n}") for n in range(5)), "a", "b")

    assert sorted(await world.ids(9)) == ["a", "b", "x0"]


@pytest.mark.parametrize("scope", SCOPES)
async def test_a_throttle_counts_over_all_queues(world: World, scope: Scope) -> None:
    await put(world, throttle(scope, every(world.span(600), burst=2)))
    await world.enqueue(*(covered(f"x{n}", queue=f"q{n}") for n in range(4)))

    assert await world.ids(queues=("q3",)) == ["x3"]
    assert await world.ids(9, queues=("q0", "q1", "q2")) == ["x0"]
    assert await world.ids(9, queues=("q0", "q1", "q2")) == []


@pytest.mark.parametrize("scope", list(THROTTLED))
async def test_a_throttle_lets_the_next_job_start_in_time(world: World, scope: Scope) -> None:
    length = world.span(4)
    await put(world, throttle(scope, every(length)))
    await world.enqueue(*(covered(f"x{n}") for n in range(3)))

    first = await asked(world)
    await world.pass_time(almost(world, length))
    early = await world.ids(9)
    await world.pass_time(length - almost(world, length))

    assert [job.id for job in first.jobs] == ["x0"]
    assert first.next_due == first.now + length
    assert early == []
    assert await world.ids(9) == ["x1"]
    assert await world.ids(9) == []


@pytest.mark.parametrize("scope", list(THROTTLED))
async def test_a_lifted_throttle_lets_all_start(world: World, scope: Scope) -> None:
    limit = throttle(scope, every(world.span(600)))
    await put(world, limit)
    await world.enqueue(*(covered(f"x{n}") for n in range(4)))
    assert await world.ids(9) == ["x0"]
    assert await world.ids(9) == []

    with listening(world, work(QUEUE)) as bell:
        await put(world, lift=(limit.key,))

        assert await tells(world, bell)
    assert await world.ids(9) == ["x1", "x2", "x3"]


@pytest.mark.parametrize("scope", list(THROTTLED))
async def test_a_throttle_set_anew_keeps_count(world: World, scope: Scope) -> None:
    await put(world, throttle(scope, every(world.span(600))))
    await world.enqueue(*(covered(f"x{n}") for n in range(4)))
    assert await world.ids(9) == ["x0"]

    await put(world, throttle(scope, every(world.span(600), burst=3)))

    assert await world.ids(9) == ["x1", "x2"]


@pytest.mark.parametrize("scope", SCOPES)
async def test_named_jobs_are_throttled_too(world: World, scope: Scope) -> None:
    await put(world, throttle(scope, every(world.span(600))))
    await world.enqueue(*(covered(f"x{n}") for n in range(3)))
    ids = ("x2", "x0")

    named = await world.do(ClaimIds(ids=ids, lease=world.span(60), worker="w", nonce=1))

    assert [job.id for job in named.jobs] == ["x2"]
    assert await world.ids(9) == []


async def test_a_throttled_queue_is_not_closed(world: World) -> None:
    await put(world, throttle(Scope.QUEUE, every(world.span(50))))
    await world.enqueue("a", "b")

    first = await asked(world)
    (info,) = (await told(world)).items

    assert [rule.kind for rule in info.rules] == [RuleKind.THROTTLE]
    assert (info.gates[0].room, info.gates[0].opens_at) == (0, first.now + world.span(50))


async def test_the_store_tells_when_a_throttle_opens(world: World) -> None:
    await put(world, throttle(Scope.TASK, every(world.span(50))), rule(Scope.GROUP))
    await world.enqueue(covered("x1", group=None))
    first = await asked(world)

    answer = await told(world)

    assert [each.kind for each in answer.rules] == [RuleKind.PAUSE, RuleKind.THROTTLE]
    assert answer.opens == (0, first.now + world.span(50))


async def test_a_throttle_needs_a_rate(world: World) -> None:
    for rate in (None, "often"):
        with pytest.raises(BadInput):
            await put(world, Rule(kind=RuleKind.THROTTLE, target="t", scope=Scope.TASK, rate=rate))


async def test_a_throttled_job_behind_a_full_group_does_not_use_up_the_throttle(
    world: World,
) -> None:
    world.require(Capability.LIMITS)
    await world.configure(group_concurrency=1)
    await put(world, throttle(Scope.TASK, every(world.span(600), burst=2)))
    await world.enqueue(*(covered(f"x{n}") for n in range(3)), covered("b", group="other"))

    assert sorted(await world.ids(9)) == ["b", "x0"]
