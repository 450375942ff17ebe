"""Leases: one holder at a time, proved by a token; the fence decides, not the clock."""

from __future__ import annotations

import pytest

from oxmill.errors import BadInput
from oxmill.model.claim import Hold, Renew, Renewal, Renewed
from oxmill.model.info import Sweep
from oxmill.model.job import LeasedJob, Reason
from oxmill.model.settlement import Outcome, Ruling, Settle, Settlement
from oxmill.model.state import State
from oxmill.model.token import Token
from oxmill.testing.conformance.world import QUEUE, World, almost, new_job


async def renew(world: World, lease: LeasedJob, progress: bytes | None = None) -> Hold:
    item = Renewal(id=lease.id, token=lease.token, progress=progress)
    answer = await world.do(Renew(items=(item,), lease=world.span(60)))
    assert isinstance(answer, Renewed)
    return answer.holds[0]


async def held_twice(world: World, job_id: str = "a") -> tuple[LeasedJob, LeasedJob]:
    """The lapsed lease of a first holder and the lease of a second one."""
    await world.enqueue(job_id)
    (first,) = await world.claim(lease=world.span(3), worker="w1")
    await world.pass_time(world.span(4))
    (second,) = await world.claim(worker="w2")
    return first, second


async def test_tokens_grow_with_each_claim(world: World) -> None:
    await world.enqueue("a")

    tokens = []
    for _ in range(4):
        (lease,) = await world.claim()
        tokens.append(lease.token)
        await world.settle(lease, Outcome.RELEASE)

    assert [token.attempt for token in tokens] == [1, 2, 3, 4]


async def test_all_tokens_of_a_claim_carry_its_nonce(world: World) -> None:
    await world.enqueue("a", "b", "c")

    first = await world.claim(2)
    second = await world.claim(2)

    assert len({lease.token.nonce for lease in first}) == 1
    assert {lease.token.nonce for lease in first}.isdisjoint(lease.token.nonce for lease in second)


async def test_nonces_of_64_bits_are_kept(world: World) -> None:
    await world.enqueue("a")
    world.nonces = iter([2**63 - 1])  # type: ignore[assignment]

    (lease,) = await world.claim()

    assert lease.token == Token(1, 2**63 - 1)
    assert await renew(world, lease) is Hold.KEPT
    assert (await world.settle(lease, Outcome.COMPLETE)).ruling is Ruling.WON


async def test_a_renewal_prolongs_the_lease_from_now(world: World) -> None:
    await world.enqueue("a")
    (lease,) = await world.claim(lease=world.span(6))
    await world.pass_time(world.span(4))

    item = Renewal(id="a", token=lease.token)
    answer = await world.do(Renew(items=(item,), lease=world.span(6)))
    await world.pass_time(world.span(4))

    assert answer.holds == (Hold.KEPT,)
    assert answer.until == answer.now + world.span(6)
    assert await world.claim(worker="w2") == ()
    job = await world.job("a")
    assert job is not None
    assert (job.lease_until, job.crashes) == (answer.until, 0)


async def test_a_renewal_after_the_end_of_the_lease_is_accepted_while_its_token_is_newest(
    world: World,
) -> None:
    await world.enqueue("a")
    (lease,) = await world.claim(lease=world.span(3))
    await world.pass_time(world.span(6))

    assert await renew(world, lease) is Hold.KEPT
    assert await world.claim(worker="w2") == ()
    assert (await world.settle(lease, Outcome.COMPLETE)).ruling is Ruling.WON


async def test_a_holder_that_comes_back_before_anyone_claims_goes_on(world: World) -> None:
    await world.enqueue("a")
    (lease,) = await world.claim(lease=world.span(3))
    await world.pass_time(world.span(4))
    await world.do(Sweep())
    between = await world.job("a")

    held = await renew(world, lease)

    job = await world.job("a")
    assert between is not None
    assert job is not None
    assert between.state is State.WAITING
    assert held is Hold.KEPT
    assert (job.state, job.attempt, job.crashes) == (State.RUNNING, 1, 1)
    assert await world.claim(worker="w2") == ()
    assert (await world.settle(lease, Outcome.COMPLETE)).ruling is Ruling.WON


async def test_a_holder_that_finished_before_anyone_claims_is_heard(world: World) -> None:
    await world.enqueue("a")
    (lease,) = await world.claim(lease=world.span(3))
    await world.pass_time(world.span(4))
    await world.do(Sweep())

    answer = await world.settle(lease, Outcome.COMPLETE, result=b"done")

    assert (answer.ruling, answer.state) == (Ruling.WON, State.SUCCEEDED)
    assert await world.claim(worker="w2") == ()
    job = await world.job("a")
    assert job is not None
    assert (job.result, [past.outcome for past in job.history]) == (b"done", ["complete"])


async def test_a_late_complete_is_accepted_while_its_token_is_newest(world: World) -> None:
    await world.enqueue("a")
    (lease,) = await world.claim(lease=world.span(3))
    await world.pass_time(world.span(20))

    answer = await world.settle(lease, Outcome.COMPLETE)

    assert (answer.ruling, answer.state) == (Ruling.WON, State.SUCCEEDED)


async def test_a_lapsed_job_goes_to_the_next_claimer_with_a_crash_counted(world: World) -> None:
    first, second = await held_twice(world)

    assert second.token.attempt == first.token.attempt + 1
    assert (first.crashes, second.crashes, second.failures) == (0, 1, 0)


async def test_a_lapsed_job_keeps_its_place_in_line(world: World) -> None:
    await world.enqueue("a", "b", "c")
    await world.claim(lease=world.span(3))
    await world.pass_time(world.span(4))

    assert [job.id for job in await world.claim(9)] == ["a", "b", "c"]


async def test_a_lease_is_not_taken_back_early(world: World) -> None:
    await world.enqueue("a")
    length = world.span(6)
    await world.claim(lease=length)

    await world.pass_time(almost(world, length))
    await world.do(Sweep())

    assert await world.claim(worker="w2") == ()
    job = await world.job("a")
    assert job is not None
    assert (job.state, job.crashes) == (State.RUNNING, 0)


async def test_the_superseded_holder_is_told_so_on_renewal(world: World) -> None:
    first, second = await held_twice(world)

    assert await renew(world, first) is Hold.LOST
    assert await renew(world, second) is Hold.KEPT


@pytest.mark.parametrize("outcome", list(Outcome))
async def test_the_superseded_holder_changes_nothing(world: World, outcome: Outcome) -> None:
    first, _ = await held_twice(world)
    before = await world.job("a")

    answer = await world.settle(first, outcome, result=b"stale", delay=world.span(5))

    assert (answer.ruling, answer.state) == (Ruling.LOST, State.RUNNING)
    assert await world.job("a") == before


async def test_exactly_one_of_two_holders_wins(world: World) -> None:
    first, second = await held_twice(world)

    winner = await world.settle(second, Outcome.COMPLETE, result=b"second")
    loser = await world.settle(first, Outcome.COMPLETE, result=b"first")

    job = await world.job("a")
    assert job is not None
    assert (winner.ruling, loser.ruling) == (Ruling.WON, Ruling.LOST)
    assert job.result == b"second"


async def test_the_attempt_number_alone_is_no_proof(world: World) -> None:
    await world.enqueue("a")
    (lease,) = await world.claim()
    forged = Token(lease.token.attempt, lease.token.nonce + 1)
    item = Settlement(id="a", token=forged, outcome=Outcome.COMPLETE)

    (settled,) = await world.do(Settle(items=(item,)))
    renewed = await world.do(
        Renew(items=(Renewal(id="a", token=forged, progress=b"x"),), lease=world.span(9))
    )

    job = await world.job("a")
    assert job is not None
    assert (settled.ruling, renewed.holds) == (Ruling.LOST, (Hold.LOST,))
    assert (job.state, job.progress) == (State.RUNNING, None)


async def test_progress_is_saved_with_a_renewal_and_reaches_the_next_holder(world: World) -> None:
    await world.enqueue("a")
    (lease,) = await world.claim(lease=world.span(3))

    for progress in (b"page 3", None):
        item = Renewal(id="a", token=lease.token, progress=progress)
        await world.do(Renew(items=(item,), lease=world.span(5)))
    saved = await world.job("a")
    await world.pass_time(world.span(6))
    (second,) = await world.claim()

    assert saved is not None
    assert saved.progress == b"page 3"
    assert second.progress == b"page 3"


async def test_progress_of_a_lost_lease_is_dropped(world: World) -> None:
    first, second = await held_twice(world)
    await renew(world, second, b"mine")

    await renew(world, first, b"stale")

    job = await world.job("a")
    assert job is not None
    assert job.progress == b"mine"


async def test_renewals_are_answered_each_for_itself(world: World) -> None:
    first, second = await held_twice(world)
    await world.enqueue("b")
    (other,) = await world.claim()
    items = (
        Renewal(id="b", token=other.token),
        Renewal(id="a", token=first.token),
        Renewal(id="none-such", token=Token(1, 1)),
        Renewal(id="a", token=second.token),
    )

    answer = await world.do(Renew(items=items, lease=world.span(60)))

    assert answer.holds == (Hold.KEPT, Hold.LOST, Hold.LOST, Hold.KEPT)


async def test_an_ended_job_cannot_be_renewed(world: World) -> None:
    await world.enqueue("a")
    (lease,) = await world.claim()
    await world.settle(lease, Outcome.COMPLETE)
    before = await world.job("a")

    assert await renew(world, lease, b"late") is Hold.LOST
    assert await world.job("a") == before


async def test_a_released_job_cannot_be_renewed(world: World) -> None:
    await world.enqueue("a")
    (lease,) = await world.claim()
    await world.settle(lease, Outcome.RELEASE)

    assert await renew(world, lease) is Hold.LOST
    assert [job.id for job in await world.claim()] == ["a"]


async def test_an_empty_renewal_gives_an_empty_answer(world: World) -> None:
    answer = await world.do(Renew(items=(), lease=world.span(60)))

    assert answer.holds == ()


@pytest.mark.parametrize("length", [0, -1, 2**60])
async def test_a_senseless_renewal_is_refused(world: World, length: int) -> None:
    await world.enqueue("a")
    (lease,) = await world.claim()
    before = await world.job("a")

    with pytest.raises(BadInput):
        await world.do(Renew(items=(Renewal(id="a", token=lease.token),), lease=length))

    assert await world.job("a") == before


@pytest.mark.parametrize("limit", [1, 2, 3])
async def test_a_job_that_kills_its_workers_ends_as_poison(world: World, limit: int) -> None:
    await world.enqueue(new_job("a", crash_limit=limit), new_job("b"))
    for _ in range(limit):
        (lease,) = await world.claim(lease=world.span(1))
        assert lease.id == "a"
        await world.pass_time(world.span(2))

    (after,) = await world.claim(9)

    job = await world.job("a")
    assert job is not None
    assert after.id == "b"
    assert (job.state, job.reason) == (State.FAILED, Reason.POISON)
    assert (job.attempt, job.crashes, job.failures) == (limit, limit, 0)
    assert [past.outcome for past in job.history] == ["lapse"] * limit
    assert job.error is not None


async def test_a_poisonous_job_also_ends_by_a_sweep(world: World) -> None:
    await world.enqueue(new_job("a", crash_limit=1))
    await world.claim(lease=world.span(1))
    await world.pass_time(world.span(2))

    swept = await world.do(Sweep())

    job = await world.job("a")
    assert job is not None
    assert (job.state, job.reason) == (State.FAILED, Reason.POISON)
    assert (swept.lapsed, swept.poisoned, swept.ended) == (1, 1, ("a",))


async def test_crashes_are_counted_apart_from_failures(world: World) -> None:
    await world.enqueue(new_job("a", crash_limit=2, max_attempts=2))
    await world.claim(lease=world.span(1))
    await world.pass_time(world.span(2))
    (lease,) = await world.claim()

    answer = await world.settle(lease, Outcome.RETRY)

    job = await world.job("a")
    assert job is not None
    assert answer.state is State.WAITING
    assert (job.crashes, job.failures, job.attempt) == (1, 1, 2)


async def test_a_claim_takes_back_the_leases_of_its_own_queues_only(world: World) -> None:
    await world.enqueue("a", new_job("b", queue="other"))
    await world.claim(2, queues=(QUEUE, "other"), lease=world.span(1))
    await world.pass_time(world.span(2))

    await world.claim(queues=("other",))

    job = await world.job("a")
    assert job is not None
    assert job.state is State.RUNNING
