"""Groups: those of one priority take turns, so nobody's million jobs delay another's single one."""

from __future__ import annotations

from oxmill.model.claim import ClaimIds
from oxmill.model.query import Cancel, Edit, Purge, Redrive
from oxmill.model.settlement import Outcome
from oxmill.model.unique import OnConflict, UniqueKey
from oxmill.store.capabilities import Capability
from oxmill.testing.conformance.world import World, by_id, new_job, of_group


async def test_groups_take_turns(world: World) -> None:
    world.require(Capability.GROUPS)
    await world.enqueue(*of_group("a", 4), *of_group("b", 2), *of_group("c", 1))

    assert await world.ids(9) == ["a1", "b1", "c1", "a2", "b2", "a3", "a4"]


async def test_turns_go_on_from_claim_to_claim(world: World) -> None:
    world.require(Capability.GROUPS)
    await world.enqueue(*of_group("a", 3), *of_group("b", 3))

    assert [await world.ids() for _ in range(6)] == [["a1"], ["b1"], ["a2"], ["b2"], ["a3"], ["b3"]]


async def test_jobs_without_a_group_take_turns_as_one(world: World) -> None:
    world.require(Capability.GROUPS)
    await world.enqueue(*of_group(None, 3), *of_group("a", 3))

    assert await world.ids(4) == ["n1", "a1", "n2", "a2"]
    assert await world.ids(4) == ["n3", "a3"]


async def test_one_job_of_another_group_starts_at_once(world: World) -> None:
    world.require(Capability.GROUPS)
    await world.fill(*of_group("a", 1_000))
    await world.ids(5)
    await world.enqueue(*of_group("b", 1))

    assert "b1" in await world.ids(2)


async def test_a_new_group_comes_behind_those_that_wait_for_their_turn(world: World) -> None:
    world.require(Capability.GROUPS)
    await world.enqueue(*of_group("a", 2), *of_group("b", 2))
    assert await world.ids() == ["a1"]
    await world.enqueue(*of_group("c", 1))

    assert await world.ids(4) == ["b1", "a2", "c1", "b2"]


async def test_a_group_that_was_served_empty_starts_behind(world: World) -> None:
    world.require(Capability.GROUPS)
    await world.enqueue(*of_group("a", 1), *of_group("b", 2))
    assert await world.ids(2) == ["a1", "b1"]

    await world.enqueue(new_job("late", group="a"))

    assert await world.ids(2) == ["b2", "late"]


async def test_a_group_that_gave_its_last_job_in_a_long_claim_starts_behind(world: World) -> None:
    """Drivers that read ahead may have seen of it what they had asked for, and no more."""
    world.require(Capability.GROUPS)
    first = (*of_group("a", 9), *of_group("b", 5), *of_group("c", 1), *of_group("d", 1))
    await world.enqueue(*first)

    given = await world.ids(13)
    await world.enqueue(*of_group("e", 1), new_job("late", group="b"))

    assert given[-4:] == ["b4", "a5", "b5", "a6"]
    assert await world.ids(4) == ["a7", "e1", "late", "a8"]


async def test_priority_goes_before_turns(world: World) -> None:
    world.require(Capability.GROUPS)
    await world.enqueue(
        *of_group("a", 2),
        *of_group("b", 1),
        new_job("urgent-1", group="a", priority=-1),
        new_job("urgent-2", group="a", priority=-1),
        new_job("later", priority=1),
    )

    assert await world.ids(9) == ["urgent-1", "urgent-2", "a1", "b1", "a2", "later"]


async def test_a_group_may_be_given_several_jobs_per_turn(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.configure(group_weights={"a": 2})
    await world.enqueue(*of_group("a", 5), *of_group("b", 3))

    assert await world.ids(8) == ["a1", "a2", "b1", "a3", "a4", "b2", "a5", "b3"]


async def test_a_turn_goes_on_with_the_next_claim(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.configure(group_weights={"a": 3})
    await world.enqueue(*of_group("a", 5), *of_group("b", 2))

    assert [await world.ids() for _ in range(5)] == [["a1"], ["a2"], ["a3"], ["b1"], ["a4"]]


async def test_weights_may_change_while_jobs_wait(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.enqueue(*of_group("a", 6), *of_group("b", 3))
    assert await world.ids(2) == ["a1", "b1"]

    await world.configure(group_weights={"a": 2})
    assert await world.ids(3) == ["a2", "a3", "b2"]
    await world.configure()

    assert await world.ids(3) == ["a4", "b3", "a5"]


async def test_between_queues_the_better_rank_wins(world: World) -> None:
    world.require(Capability.GROUPS)
    await world.enqueue(
        new_job("m1", group="a"),
        new_job("o1", queue="other"),
        new_job("m2", group="a"),
        new_job("m3", group="b"),
        new_job("urgent", queue="other", priority=-1),
    )

    assert await world.ids(9, queues=("mail", "other")) == ["urgent", "m1", "o1", "m3", "m2"]


async def test_a_released_job_keeps_its_place_in_its_group(world: World) -> None:
    world.require(Capability.GROUPS)
    await world.enqueue(*of_group("a", 3), *of_group("b", 1))
    (lease,) = await world.claim()

    await world.settle(lease, Outcome.RELEASE)

    assert await world.ids(4) == ["b1", "a1", "a2", "a3"]


async def test_due_and_lapsed_jobs_come_back_to_their_group(world: World) -> None:
    world.require(Capability.GROUPS)
    await world.enqueue(new_job("a1", group="a"))
    await world.claim(lease=world.span(1))
    await world.enqueue(new_job("a2", group="a", delay=world.span(1)), new_job("b1", group="b"))
    await world.pass_time(world.span(2))

    assert sorted(await world.ids(2)) == ["a1", "b1"]
    assert await world.ids(2) == ["a2"]


async def test_an_edit_takes_a_job_to_another_lane(world: World) -> None:
    world.require(Capability.GROUPS)
    await world.enqueue(*of_group("a", 2), *of_group("b", 1))

    await world.do(Edit(filter=by_id("a2"), priority=-1))
    await world.do(Edit(filter=by_id("b1"), queue="other"))

    assert await world.ids(9) == ["a2", "a1"]
    assert await world.ids(9, queues=("other",)) == ["b1"]


async def test_jobs_that_are_gone_leave_no_hole(world: World) -> None:
    world.require(Capability.GROUPS)
    await world.enqueue(*of_group("a", 2), *of_group("b", 2), *of_group("c", 1))

    await world.do(Cancel(filter=by_id("a1", "a2")))
    await world.do(Purge(filter=by_id("b1")))
    assert await world.ids(2) == ["b2", "c1"]
    await world.do(Redrive(filter=by_id("a1", "a2")))

    assert await world.ids(9) == ["a1", "a2"]


async def test_a_replaced_job_stands_in_its_new_group(world: World) -> None:
    world.require(Capability.GROUPS)
    key = UniqueKey(key="k", on_conflict=OnConflict.REPLACE)
    await world.enqueue(
        new_job("a1", group="a", unique=key), *of_group("b", 2), new_job("c1", group="c")
    )

    await world.enqueue(new_job("x", group="b", unique=key))

    # It keeps its place, and stands before the others of its new group.
    assert await world.ids(9) == ["a1", "c1", "b1", "b2"]


async def test_a_refused_batch_leaves_no_turn_behind(world: World) -> None:
    world.require(Capability.GROUPS)
    await world.enqueue("taken", *of_group("b", 2))

    await world.enqueue(new_job("a0", group="a"), new_job("taken", payload=b"other"))
    assert await world.ids(2) == ["taken", "b1"]
    await world.enqueue(*of_group("a", 1))

    assert await world.ids(9) == ["b2", "a1"]


async def test_named_jobs_are_given_whoevers_turn_it_is(world: World) -> None:
    world.require(Capability.GROUPS)
    await world.enqueue(*of_group("a", 2), *of_group("b", 2))

    request = ClaimIds(ids=("b2", "a2"), lease=world.span(60), worker="w", nonce=1)
    named = await world.do(request)

    assert [job.id for job in named.jobs] == ["b2", "a2"]
    assert await world.ids(9) == ["a1", "b1"]


async def test_many_groups_are_served_in_order_of_arrival(world: World) -> None:
    world.require(Capability.GROUPS)
    await world.fill(*(new_job(f"{turn}-{n}", group=f"g{n}") for turn in (1, 2) for n in range(60)))

    first = [job for _ in range(3) for job in await world.ids(20)]
    second = await world.ids(60)

    assert first == [f"1-{n}" for n in range(60)]
    assert second == [f"2-{n}" for n in range(60)]


# --- ageing ---------------------------------------------------------------------------------------


async def test_waiting_makes_a_job_count_as_better(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.configure(ageing=world.span(2))
    await world.enqueue(new_job("low", priority=2))
    await world.pass_time(world.span(7))
    await world.enqueue("fresh")

    assert await world.ids(2) == ["low", "fresh"]


async def test_without_ageing_priority_alone_counts(world: World) -> None:
    await world.enqueue(new_job("low", priority=2))
    await world.pass_time(world.span(7))
    await world.enqueue("fresh")

    assert await world.ids(2) == ["fresh", "low"]


async def test_ageing_keeps_the_order_within_a_priority(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.configure(ageing=world.span(2))
    await world.enqueue(new_job("old", priority=1, group="a"), new_job("old-2", priority=1))
    await world.pass_time(world.span(5))
    await world.enqueue(new_job("new", priority=1, group="b"), new_job("urgent", priority=-5))

    assert await world.ids(9) == ["urgent", "old", "old-2", "new"]


async def test_equal_after_ageing_the_better_priority_goes_first(world: World) -> None:
    world.require(Capability.LIMITS)
    await world.configure(ageing=world.span(600))
    await world.enqueue(new_job("low", priority=1), "high")

    assert await world.ids(2) == ["high", "low"]
