"""Joins: each policy with each way to deal with failures, for every end of what is joined."""

from __future__ import annotations

from itertools import product
from typing import Any, Final

import pytest

from oxmill.model.flow import FlowStatus, Join, JoinPolicy, OnFailure
from oxmill.model.info import ListQueues, Sweep
from oxmill.model.query import Cancel
from oxmill.model.settlement import Outcome, Settle, Settlement
from oxmill.model.state import State
from oxmill.rules.join import Edges, Turnout, turnout
from oxmill.testing.conformance.world import (
    World,
    almost,
    by_id,
    done,
    end,
    flow,
    flow_now,
    node,
    ready,
    start,
    states,
    take,
)

POLICIES: Final = (
    Join(policy=JoinPolicy.ALL_SUCCEED),
    Join(policy=JoinPolicy.ALL_END),
    Join(policy=JoinPolicy.ANY),
    Join(policy=JoinPolicy.QUORUM, quorum=2),
)
ENDS: Final = ("succeeds", "fails", "exhausted", "cancelled", "stopped", "poisoned", "expired")
UPSTREAMS: Final = ("a", "b", "c")
COLLECT: Final = Join(on_failure=OnFailure.COLLECT)
LIST: Final = ListQueues(queues=("mail",))


def joins() -> list[Join]:
    """Every policy with every way to deal with failures."""
    return [
        Join(policy=each.policy, quorum=each.quorum, on_failure=on_failure)
        for each, on_failure in product(POLICIES, OnFailure)
    ]


async def come_to(world: World, job_id: str, how: str) -> None:
    """Bring one job to its end."""
    match how:
        case "succeeds":
            await done(world, job_id)
        case "fails":
            await end(world, job_id, Outcome.FAIL)
        case "exhausted":
            await end(world, job_id, Outcome.RETRY)
        case "cancelled":
            await world.do(Cancel(filter=by_id(job_id)))
        case "stopped":
            await end(world, job_id, Outcome.CANCEL)
        case "poisoned":
            await take(world, job_id, lease=world.span(1))
            await world.pass_time(world.span(2))
            await world.do(Sweep())
        case _:
            await world.pass_time(world.span(40))
            await world.do(Sweep())


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("join", joins(), ids=lambda j: f"{j.policy}-{j.on_failure}")
async def test_a_join_is_over_when_its_rule_says_so(world: World, join: Join, how: str) -> None:
    """Three jobs end one after the other: one good, one as given, one good."""
    traits: dict[str, Any] = {"max_attempts": 1, "crash_limit": 1}
    if how == "expired":
        traits["expires_in"] = world.span(30)
    await start(world, "a", node("b", **traits), "c", node("d", *UPSTREAMS, join=join))
    good = bad = 0
    expected = Turnout.WAIT
    found: dict[str, tuple[State, str | None] | None] = {}
    for job_id, end_ in zip(UPSTREAMS, ("succeeds", how, "succeeds"), strict=True):
        await come_to(world, job_id, end_)
        good += end_ == "succeeds"
        bad += end_ != "succeeds"
        expected = turnout(join, Edges(succeeded=good, failed=bad, open=3 - good - bad))
        found = await states(world, "d")
        if expected is not Turnout.WAIT:
            break
        assert found["d"] == (State.HELD, None)

    over = {Turnout.FIRE: (State.WAITING, None), Turnout.FAIL: (State.FAILED, "dependency")}
    assert found["d"] == over[expected]
    left = (await states(world, *UPSTREAMS)).values()
    if join.on_failure is OnFailure.CANCEL and good + bad < 3:
        assert (State.CANCELLED, "sibling") in left
    else:
        assert (State.CANCELLED, "sibling") not in left


@pytest.mark.parametrize("join", joins(), ids=lambda j: f"{j.policy}-{j.on_failure}")
@pytest.mark.parametrize("outcome", [Outcome.COMPLETE, Outcome.FAIL])
async def test_a_job_may_come_after_jobs_that_have_ended(
    world: World, join: Join, outcome: Outcome
) -> None:
    await start(world, "a", "b", "keeps-the-flow-alive")
    await end(world, "a", outcome)
    await end(world, "b", outcome)

    await start(world, node("d", "a", "b", join=join))

    won = 2 * (outcome is Outcome.COMPLETE)
    expected = turnout(join, Edges(succeeded=won, failed=2 - won, open=0))
    fires = expected is Turnout.FIRE
    assert (await states(world, "d"))["d"] == (
        (State.WAITING, None) if fires else (State.FAILED, "dependency")
    )


async def test_a_job_that_is_not_there_counts_as_failed(world: World) -> None:
    await start(world, "x", node("a", "none-such"), node("b", "none-such", join=COLLECT))
    await start(world, node("c", "x", flow="g"), flow=flow("g"))

    assert await states(world, "a", "b", "c") == {
        "a": (State.FAILED, "dependency"),
        "b": (State.WAITING, None),
        "c": (State.FAILED, "dependency"),
    }


async def test_what_somebody_else_waits_for_is_not_cancelled(world: World) -> None:
    await start(world, "a", "b", "c", node("d", "a", "b", "c"), node("e", "b"))

    await end(world, "a", Outcome.FAIL)

    assert await states(world, "b", "c", "d", "e") == {
        "b": (State.WAITING, None),
        "c": (State.CANCELLED, "sibling"),
        "d": (State.FAILED, "dependency"),
        "e": (State.HELD, None),
    }


async def test_a_running_sibling_is_asked_to_stop(world: World) -> None:
    await start(world, "a", "b", node("c", "a", "b"))
    lease = await take(world, "b")
    await end(world, "a", Outcome.FAIL)

    asked = await world.job("b")
    assert asked is not None
    assert (asked.state, asked.cancel_requested) == (State.RUNNING, True)
    await world.settle(lease, Outcome.RELEASE)

    assert await states(world, "b") == {"b": (State.CANCELLED, "sibling")}
    info = await flow_now(world)
    assert info is not None
    assert info.status is FlowStatus.FAILED


async def test_what_only_siblings_waited_for_is_cancelled_too(world: World) -> None:
    await start(world, "a", "x", node("b", "x"), node("c", "a", "b"))

    await end(world, "a", Outcome.FAIL)

    assert await states(world, "x", "b") == {
        "x": (State.CANCELLED, "sibling"),
        "b": (State.CANCELLED, "sibling"),
    }


async def test_cancelling_the_last_job_leaves_those_before_it_alone(world: World) -> None:
    await start(world, "a", node("b", "a"))

    await world.do(Cancel(filter=by_id("b")))

    assert await states(world, "a") == {"a": (State.WAITING, None)}


async def test_a_job_in_the_middle_that_is_cancelled_fails_what_follows(world: World) -> None:
    await start(world, "a", node("b", "a"), node("c", "b"))

    await world.do(Cancel(filter=by_id("b")))

    assert await states(world, "a", "b", "c") == {
        "a": (State.WAITING, None),
        "b": (State.CANCELLED, "cancelled"),
        "c": (State.FAILED, "dependency"),
    }


@pytest.mark.parametrize("on_failure", list(OnFailure))
async def test_a_join_does_not_wait_beyond_its_deadline(
    world: World, on_failure: OnFailure
) -> None:
    join = Join(on_failure=on_failure, deadline=world.span(10))
    await start(world, "a", node("b", "a", join=join))
    await world.pass_time(almost(world, world.span(10)))
    await world.do(Sweep())
    assert await states(world, "b") == {"b": (State.HELD, None)}

    await world.pass_time(world.span(10))
    swept = await world.do(Sweep())

    if on_failure is OnFailure.CANCEL:
        assert await states(world, "a", "b") == {
            "a": (State.CANCELLED, "sibling"),
            "b": (State.FAILED, "deadline"),
        }
        assert set(swept.ended) == {"a", "b"}
    else:
        assert await states(world, "a", "b") == {
            "a": (State.WAITING, None),
            "b": (State.WAITING, None),
        }
        assert swept.queues == ("mail",)


async def test_a_deadline_that_was_kept_is_forgotten(world: World) -> None:
    await start(world, "a", node("b", "a", join=Join(deadline=world.span(5))))
    await done(world, "a")
    await world.pass_time(world.span(9))
    await world.do(Sweep())

    assert await ready(world) == ["b"]


async def test_overdue_joins_are_seen_to_in_bounded_steps(world: World) -> None:
    join = Join(deadline=world.span(1), on_failure=OnFailure.IGNORE)
    await start(world, "a", *(node(f"n{n}", "a", join=join) for n in range(3)))
    await world.pass_time(world.span(2))

    more = [(await world.do(Sweep(limit=2))).more for _ in range(2)]

    assert more == [True, False]
    assert await ready(world) == ["a", "n0", "n1", "n2"]


async def test_the_last_to_end_at_the_same_time_fire_once(world: World) -> None:
    """Several settlers, one join: it fires exactly once, and nobody misses the last edge."""
    ids = [f"n{n}" for n in range(8)]
    await start(world, *ids, node("join", *ids))
    leases = await world.claim(8)

    answers = await world.at_once(
        *(
            Settle(items=(Settlement(id=each.id, token=each.token, outcome=Outcome.COMPLETE),))
            for each in leases
        )
    )

    assert sum(answer[0].gained == ("mail",) for answer in answers) == 1
    assert await ready(world) == ["join"]
    job = await world.job("join")
    assert job is not None
    assert job.history[:1] == job.history  # claimed once, by `ready`


async def test_a_failure_and_a_cancellation_at_the_same_time_end_it_once(world: World) -> None:
    await start(world, "a", "b", node("c", "a", "b"))
    one, two = await world.claim(2)

    await world.at_once(
        Settle(items=(Settlement(id="a", token=one.token, outcome=Outcome.FAIL),)),
        Settle(items=(Settlement(id="b", token=two.token, outcome=Outcome.COMPLETE),)),
        Cancel(filter=by_id("c")),
    )

    (found,) = (await states(world, "c")).values()
    assert found in {(State.CANCELLED, "cancelled"), (State.FAILED, "dependency")}
    (queue,) = (await world.do(LIST)).items
    assert sum(queue.totals.values()) == 3


async def test_freed_jobs_ring_for_their_own_queue(world: World) -> None:
    await start(world, "a", node("b", "a", queue="other"), node("c", "a", queue="third"))

    answer = await done(world, "a")

    assert answer.gained == ("other", "third")


async def test_a_freed_job_that_is_not_due_waits_for_its_time(world: World) -> None:
    await start(world, "a", node("b", "a", delay=world.span(60)))

    answer = await done(world, "a")

    assert answer.gained == ()
    assert await states(world, "b") == {"b": (State.SCHEDULED, None)}


async def test_freed_jobs_stand_in_line_in_order_of_arrival(world: World) -> None:
    await start(world, "a", node("b", "a"), node("c", "a"), node("d", "a"))
    await done(world, "a")

    assert await ready(world) == ["b", "c", "d"]


async def test_counts_agree_with_a_recount(world: World) -> None:
    await start(world, "a", "b", node("c", "a"), node("d", "a", "b"), node("e", "d"))
    await done(world, "a")
    await end(world, "b", Outcome.FAIL)

    (queue,) = (await world.do(LIST)).items

    assert queue.counts == {State.SUCCEEDED: 1, State.FAILED: 3, State.WAITING: 1}
    assert queue.totals == {State.SUCCEEDED: 1, State.FAILED: 3}
