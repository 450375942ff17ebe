"""Inspecting: people and programs look, page by page, and see what is there."""

from __future__ import annotations

from typing import Any

import pytest

from oxmill.errors import BadInput
from oxmill.model.flow import ListFlows
from oxmill.model.info import EventsAfter, ListQueues
from oxmill.model.query import Cancel, Filter, Find, Get, Page, Purge
from oxmill.model.rule import PutRules, Rule, RuleKind
from oxmill.model.settlement import Outcome
from oxmill.model.state import State
from oxmill.testing.conformance.world import (
    QUEUE,
    World,
    by_id,
    flow,
    flow_now,
    new_job,
    node,
    start,
)


async def found(world: World, **wanted: object) -> list[str]:
    page = await world.do(Find(filter=Filter(**wanted)))  # type: ignore[arg-type]
    return [job.id for job in page.jobs]


async def all_pages(world: World, wanted: Filter, limit: int) -> list[str]:
    """Every id on every page, the pages followed to their end."""
    ids: list[str] = []
    cursor: str | None = None
    for _ in range(1_000):
        page: Page = await world.do(Find(filter=wanted, limit=limit, after=cursor))
        assert len(page.jobs) <= limit
        ids += [job.id for job in page.jobs]
        cursor = page.next
        if cursor is None:
            return ids
    raise AssertionError("the pages never end")


async def test_jobs_come_in_the_order_asked_without_unknown_ones(world: World) -> None:
    await world.enqueue("a", "b", "c")

    jobs = await world.do(Get(ids=("c", "none-such", "a")))

    assert [job.id for job in jobs] == ["c", "a"]
    assert await world.do(Get(ids=())) == ()


async def test_a_thousand_jobs_can_be_got_at_once(world: World) -> None:
    ids = tuple(f"job-{number}" for number in range(1_100))
    await world.fill(*ids)

    jobs = await world.do(Get(ids=ids[::-1]))

    assert tuple(job.id for job in jobs) == ids[::-1]


async def test_the_newest_arrival_comes_first(world: World) -> None:
    await world.enqueue("b", new_job("c", priority=-5))
    await world.enqueue(new_job("a", delay=world.span(9)))

    assert await found(world) == ["a", "c", "b"]


async def test_a_listed_job_is_told_in_full_but_for_its_history(world: World) -> None:
    await world.enqueue(new_job("a", payload=b"\x00x", fields={"f": 1}, tags=("t",)))
    (lease,) = await world.claim()
    await world.settle(lease, Outcome.COMPLETE, result=b"1")

    (listed,) = (await world.do(Find())).jobs

    full = await world.job("a")
    assert full is not None
    assert (len(full.history), listed.history) == (1, ())
    for name in full.__struct_fields__:
        if name != "history":
            assert getattr(listed, name) == getattr(full, name), name


async def test_each_attribute_can_be_asked_for(world: World) -> None:
    await world.enqueue(
        new_job("a", queue="q1", task="t1", group="g1", tags=("x", "y"), fields={"u": 1, "v": 2}),
        new_job("b", queue="q2", task="t2", group="g2", tags=("y",), fields={"u": 1}),
        new_job("c", queue="q2", task="t1", tags=("z",), delay=world.span(9)),
    )

    assert await found(world, ids=("c", "a", "none-such")) == ["c", "a"]
    assert await found(world, queues=("q2",)) == ["c", "b"]
    assert await found(world, queues=("q1", "q2")) == ["c", "b", "a"]
    assert await found(world, tasks=("t1",)) == ["c", "a"]
    assert await found(world, states=(State.SCHEDULED,)) == ["c"]
    assert await found(world, states=(State.SCHEDULED, State.WAITING)) == ["c", "b", "a"]
    assert await found(world, group="g2") == ["b"]
    assert await found(world, tag="y") == ["b", "a"]
    assert await found(world, fields={"u": 1}) == ["b", "a"]
    assert await found(world, fields={"u": 1, "v": 2}) == ["a"]
    assert await found(world, fields={"u": 2}) == []
    assert await found(world, queues=("q2",), tag="y", fields={"u": 1}, tasks=("t2",)) == ["b"]
    assert await found(world, queues=("q1",), tasks=("t2",)) == []


async def test_a_field_that_is_a_list_is_found_by_each_of_its_values(world: World) -> None:
    await world.enqueue(
        new_job("a", fields={"to": ("ann", "bob", "ann"), "n": (1, "2")}),
        new_job("b", fields={"to": "bob", "n": (2,)}),
        new_job("c", fields={"to": (), "n": 1}),
    )

    assert await found(world, fields={"to": "ann"}) == ["a"]
    assert await found(world, fields={"to": "bob"}) == ["b", "a"]
    assert await found(world, fields={"to": "bob", "n": 1}) == ["a"]
    assert await found(world, fields={"n": 2}) == ["b"]
    assert await found(world, fields={"n": "2"}) == ["a"]
    assert await found(world, fields={"to": "l"}) == []
    assert await found(world, fields={"to": ""}) == []
    await world.do(Purge(filter=by_id("a")))
    assert await found(world, fields={"to": "ann"}) == []
    assert await found(world, fields={"to": "bob"}) == ["b"]


async def test_a_flow_whose_field_is_a_list_is_found_by_each_of_its_values(world: World) -> None:
    lists = {"to": ("ann", "bob", "ann"), "one": (1,), "none": ()}
    await start(world, node("a1", flow="a"), flow=flow("a", fields=lists))
    await start(world, node("b1", flow="b"), flow=flow("b", fields={"to": "bob", "one": 1}))

    async def flows(**wanted: Any) -> list[str]:
        return [each.id for each in (await world.do(ListFlows(**wanted))).items]

    assert await flows(fields={"to": "ann"}) == ["a"]
    assert await flows(fields={"to": "bob"}) == ["b", "a"]
    assert await flows(fields={"to": "bob", "one": 1}) == ["b", "a"]
    assert await flows(fields={"none": ""}) == []
    info = await flow_now(world, "a")
    assert info is not None
    assert info.fields == lists


async def test_jobs_can_be_asked_for_by_time_of_arrival(world: World) -> None:
    await world.enqueue("a")
    await world.pass_time(world.span(1))
    await world.enqueue("b")
    await world.pass_time(world.span(1))
    await world.enqueue("c")
    b = await world.job("b")
    assert b is not None

    assert await found(world, since=b.enqueued_at) == ["c", "b"]
    assert await found(world, before=b.enqueued_at) == ["a"]
    assert await found(world, since=b.enqueued_at, before=b.enqueued_at + 1) == ["b"]


async def test_jobs_are_found_by_the_state_they_are_in_now(world: World) -> None:
    await world.enqueue("a", "b")
    (lease,) = await world.claim()
    running = await found(world, states=(State.RUNNING,))
    await world.settle(lease, Outcome.FAIL)

    assert running == ["a"]
    assert await found(world, states=(State.RUNNING,)) == []
    assert await found(world, states=(State.FAILED,)) == ["a"]


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 8])
async def test_every_job_is_on_one_page(world: World, limit: int) -> None:
    ids = [f"job-{number}" for number in range(7)]
    await world.enqueue(*ids)

    assert await all_pages(world, Filter(), limit) == ids[::-1]


async def test_pages_of_a_filter_hold_only_what_matches(world: World) -> None:
    await world.enqueue(*(new_job(f"job-{n}", tags=("odd",) if n % 2 else ()) for n in range(11)))

    assert await all_pages(world, Filter(tag="odd"), 2) == [f"job-{n}" for n in (9, 7, 5, 3, 1)]


async def test_no_job_is_missed_or_doubled_while_others_come_and_go(world: World) -> None:
    steady = [f"steady-{number}" for number in range(12)]
    await world.enqueue(*(new_job(each, queue="steady") for each in steady))
    await world.enqueue(*(f"moving-{number}" for number in range(12)))

    seen: list[str] = []
    cursor = None
    for turn in range(100):
        page = await world.do(Find(limit=3, after=cursor))
        seen += [job.id for job in page.jobs]
        cursor = page.next
        if cursor is None:
            break
        await world.enqueue(f"new-{turn}", new_job(f"later-{turn}", delay=world.span(turn)))
        for lease in await world.claim(1):
            await world.settle(lease, Outcome.RETRY if turn % 2 else Outcome.COMPLETE)
        await world.do(Cancel(filter=by_id(f"moving-{11 - turn}")))

    assert cursor is None
    assert len(seen) == len(set(seen))
    assert set(steady) <= set(seen)
    assert {f"moving-{number}" for number in range(12)} <= set(seen)


async def test_the_last_page_says_that_it_is_the_last(world: World) -> None:
    await world.enqueue("a", "b")

    page = await world.do(Find(limit=2))

    assert page.next is None


async def test_an_empty_store_has_one_empty_page(world: World) -> None:
    assert await world.do(Find()) == Page(jobs=())


@pytest.mark.parametrize("limit", [0, -1])
async def test_a_senseless_page_is_refused(world: World, limit: int) -> None:
    await world.enqueue("a")

    with pytest.raises(BadInput):
        await world.do(Find(limit=limit))


@pytest.mark.parametrize(
    "cursor",
    ["", "nonsense", "1;2", "\x00", "-", "1e9", "٣", pytest.param("9" * 5_000, id="very long")],
)
async def test_a_cursor_that_no_page_gave_is_refused(world: World, cursor: str) -> None:
    await world.enqueue("a")

    with pytest.raises(BadInput):
        await world.do(Find(after=cursor))


async def test_a_page_is_never_larger_than_the_store_allows(world: World) -> None:
    bound = world.driver.bounds.page_jobs
    await world.fill(*(f"job-{number}" for number in range(bound + 1)))

    page = await world.do(Find(limit=bound * 5))

    assert len(page.jobs) == bound
    assert page.next is not None


# --- queues ---------------------------------------------------------------------------------------


async def test_queues_are_listed_by_name_with_their_counts(world: World) -> None:
    await world.enqueue(
        new_job("a", queue="two"), new_job("b", queue="one", delay=world.span(9)), new_job("c")
    )
    await world.claim(queues=("two",))

    info = (await world.do(ListQueues())).items

    assert [(queue.name, queue.counts) for queue in info] == [
        (QUEUE, {State.WAITING: 1}),
        ("one", {State.SCHEDULED: 1}),
        ("two", {State.RUNNING: 1}),
    ]


async def test_only_the_queues_asked_for_are_listed(world: World) -> None:
    await world.enqueue(new_job("a", queue="one"), new_job("b", queue="two"))

    info = (await world.do(ListQueues(queues=("two", "none-such")))).items

    assert [(queue.name, dict(queue.counts)) for queue in info] == [
        ("none-such", {}),
        ("two", {State.WAITING: 1}),
    ]


async def test_a_queue_with_nothing_but_a_rule_is_listed(world: World) -> None:
    await world.do(PutRules(set=(Rule(kind=RuleKind.PAUSE, target="quiet"),)))

    assert [queue.name for queue in (await world.do(ListQueues())).items] == ["quiet"]


async def test_the_head_of_the_line_tells_how_long_it_waits(world: World) -> None:
    await world.enqueue("a")
    await world.pass_time(world.span(5))
    await world.enqueue("b")
    a, b = await world.do(Get(ids=("a", "b")))
    heads = []

    for _ in range(3):
        (info,) = (await world.do(ListQueues(queues=(QUEUE,)))).items
        heads.append(info.oldest_waiting)
        await world.claim()

    assert heads == [a.enqueued_at, b.enqueued_at, None]


# --- events ---------------------------------------------------------------------------------------


async def test_events_come_in_order_without_gaps_or_repeats(world: World) -> None:
    rule = Rule(kind=RuleKind.PAUSE, target=QUEUE)
    for _ in range(4):
        await world.do(PutRules(set=(rule,)))
        await world.pass_time(world.span(1))
        await world.do(PutRules(lift=(rule.key,)))

    every = await world.do(EventsAfter())
    pages: list[int] = []
    while batch := await world.do(EventsAfter(seq=pages[-1] if pages else 0, limit=3)):
        pages += [event.seq for event in batch]

    assert [event.kind for event in every] == ["pause", "resume"] * 4
    first = every[0].seq
    assert [event.seq for event in every] == list(range(first, first + 8))
    assert pages == [event.seq for event in every]
    assert [event.at for event in every] == sorted(event.at for event in every)
    assert await world.do(EventsAfter(seq=every[-1].seq)) == ()
