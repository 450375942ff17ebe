"""Steering: people edit, purge and set, by id or by filter, and every change is recorded."""

from __future__ import annotations

from typing import Any

import pytest

from oxmill.errors import BadInput, BadName, NotSupported
from oxmill.model.bounds import MAX_PRIORITY
from oxmill.model.info import Event, EventsAfter, ListQueues
from oxmill.model.query import Cancel, Edit, Filter, Find, Get, Purge, Redrive
from oxmill.model.rule import PutRules, Rule, RuleKind
from oxmill.model.schedule import PutSchedules, Schedule
from oxmill.model.settings import PutSettings, QueueSettings
from oxmill.model.settlement import Outcome, Ruling
from oxmill.model.state import State
from oxmill.model.unique import OnConflict, UniqueKey
from oxmill.store.capabilities import Capability
from oxmill.testing.conformance.world import QUEUE, World, by_id, new_job


async def names(world: World, queue: str = QUEUE) -> list[str]:
    return [job.id for job in await world.claim(9, queues=(queue,))]


async def one_of_each_state(world: World) -> None:
    """Jobs named for the states they are in."""
    key = UniqueKey(key="k", on_conflict=OnConflict.RERUN)
    for state in ("succeeded", "failed", "cancelled"):
        await world.enqueue(state)
    for lease, outcome in zip(
        await world.claim(3), (Outcome.COMPLETE, Outcome.FAIL, Outcome.CANCEL), strict=True
    ):
        await world.settle(lease, outcome)
    await world.enqueue(new_job("running", unique=key))
    await world.claim()
    await world.enqueue(
        new_job("held", unique=key, payload=b"2"),
        new_job("waiting"),
        new_job("scheduled", delay=world.span(50)),
    )


async def test_the_little_zoo_is_what_it_says(world: World) -> None:
    await one_of_each_state(world)

    jobs = await world.do(Get(ids=tuple(State)))

    assert [(job.id, job.state) for job in jobs] == [(str(state), state) for state in State]


# --- edit -----------------------------------------------------------------------------------------


async def test_idle_jobs_change_priority_in_their_place(world: World) -> None:
    await world.enqueue("a", "b", "c", new_job("later", delay=world.span(1)))

    steered = await world.do(Edit(filter=by_id("a", "c", "later"), priority=1))
    await world.pass_time(world.span(2))

    assert sorted(steered.ids) == ["a", "c", "later"]
    assert await names(world) == ["b", "a", "c", "later"]


async def test_an_edited_queue_puts_the_job_behind_the_line_there(world: World) -> None:
    await world.enqueue("a", new_job("b", queue="other"))

    steered = await world.do(Edit(filter=by_id("a"), queue="other"))

    assert (steered.ids, steered.queues) == (("a",), ("other",))
    assert await names(world) == []
    assert await names(world, "other") == ["b", "a"]


async def test_counts_move_with_an_edited_queue(world: World) -> None:
    await world.enqueue("a", new_job("b", delay=world.span(9)))

    await world.do(Edit(filter=by_id("a", "b"), queue="other"))

    old, new = (await world.do(ListQueues(queues=(QUEUE, "other")))).items
    assert (dict(old.counts), dict(new.counts)) == ({}, {State.SCHEDULED: 1, State.WAITING: 1})


async def test_a_scheduled_job_is_run_now(world: World) -> None:
    await world.enqueue(new_job("a", delay=world.span(500)), new_job("b"))

    steered = await world.do(Edit(filter=by_id("a"), due_in=0))

    assert steered.queues == (QUEUE,)
    assert await names(world) == ["b", "a"]


async def test_a_waiting_job_is_put_off(world: World) -> None:
    await world.enqueue("a", "b")

    await world.do(Edit(filter=by_id("a"), due_in=world.span(3)))

    job = await world.job("a")
    assert job is not None
    assert job.state is State.SCHEDULED
    assert await names(world) == ["b"]
    await world.pass_time(world.span(4))
    assert await names(world) == ["a"]


async def test_a_waiting_job_that_is_to_run_now_keeps_its_place(world: World) -> None:
    await world.enqueue("a", "b")

    await world.do(Edit(filter=by_id("a"), due_in=0))

    assert await names(world) == ["a", "b"]


async def test_a_held_job_stays_held(world: World) -> None:
    await one_of_each_state(world)

    await world.do(Edit(filter=by_id("held"), due_in=0, priority=-5, queue="other"))

    job = await world.job("held")
    assert job is not None
    assert (job.state, job.priority, job.queue) == (State.HELD, -5, "other")
    assert await names(world, "other") == []


async def test_running_and_ended_jobs_are_not_edited(world: World) -> None:
    await one_of_each_state(world)
    ids = ("running", "succeeded", "failed", "cancelled")
    before = await world.do(Get(ids=ids))

    steered = await world.do(Edit(filter=by_id(*ids), priority=9, queue="x", due_in=5))

    assert steered.ids == ()
    assert await world.do(Get(ids=ids)) == before


@pytest.mark.parametrize(
    "wrong",
    [
        {"priority": MAX_PRIORITY + 1},
        {"priority": -MAX_PRIORITY - 1},
        {"due_in": -1},
        {"due_in": 2**60},
        {"priority": 1.5},
        {"due_in": 0.5},
        {"queue": 7},
    ],
    ids=str,
)
async def test_a_senseless_edit_is_refused(world: World, wrong: dict[str, Any]) -> None:
    await world.enqueue("a")
    before = await world.job("a")

    with pytest.raises(BadInput):
        await world.do(Edit(filter=by_id("a"), **wrong))

    assert await world.job("a") == before


async def test_a_queue_that_cannot_be_stored_is_refused(world: World) -> None:
    await world.enqueue("a")

    with pytest.raises(BadName):
        await world.do(Edit(filter=by_id("a"), queue=""))

    assert await names(world) == ["a"]


# --- purge ----------------------------------------------------------------------------------------


async def test_everything_but_running_jobs_can_be_purged(world: World) -> None:
    await one_of_each_state(world)

    steered = await world.do(Purge(filter=Filter()))

    gone = {str(state) for state in State} - {"running"}
    assert set(steered.ids) == gone
    assert [job.id for job in (await world.do(Find())).jobs] == ["running"]


async def test_a_running_job_survives_a_purge_and_ends_as_usual(world: World) -> None:
    await world.enqueue("a")
    (lease,) = await world.claim()

    steered = await world.do(Purge(filter=by_id("a")))

    assert steered.ids == ()
    assert (await world.settle(lease, Outcome.COMPLETE)).ruling is Ruling.WON


async def test_a_purged_job_leaves_no_fields_tags_or_history(world: World) -> None:
    await world.enqueue(new_job("a", fields={"user": 1}, tags=("t",)))
    (lease,) = await world.claim()
    await world.settle(lease, Outcome.FAIL)
    await world.do(Purge(filter=by_id("a")))

    await world.enqueue("a")

    job = await world.job("a")
    assert job is not None
    assert (job.history, job.attempt, job.fields, job.tags) == ((), 0, {}, ())
    assert (await world.do(Find(filter=Filter(tag="t")))).jobs == ()
    assert (await world.do(Find(filter=Filter(fields={"user": 1})))).jobs == ()


async def test_a_purge_is_bounded_and_says_whether_more_is_left(world: World) -> None:
    await world.enqueue(*(f"job-{number}" for number in range(5)))

    answers = [await world.do(Purge(filter=Filter(), limit=2)) for _ in range(3)]

    assert [answer.ids for answer in answers] == [
        ("job-0", "job-1"),
        ("job-2", "job-3"),
        ("job-4",),
    ]
    assert [answer.more for answer in answers] == [True, True, False]


async def test_only_what_matches_the_whole_filter_is_touched(world: World) -> None:
    await world.enqueue(
        new_job("yes", tags=("t",), fields={"user": 1}),
        new_job("other tag", tags=("u",), fields={"user": 1}),
        new_job("other field", tags=("t",), fields={"user": 2}),
        new_job("other queue", tags=("t",), fields={"user": 1}, queue="other"),
    )

    wanted = Filter(tag="t", fields={"user": 1}, queues=(QUEUE,), states=(State.WAITING,))
    steered = await world.do(Cancel(filter=wanted))

    assert steered.ids == ("yes",)


# --- settings -------------------------------------------------------------------------------------


async def test_settings_are_kept_and_replaced_whole(world: World) -> None:
    first = QueueSettings(keep_succeeded=1, keep_failed=2, keep_cancelled=3)
    second = QueueSettings(keep_failed=9)
    await world.do(PutSettings(queue=QUEUE, settings=first))
    (before,) = (await world.do(ListQueues(queues=(QUEUE,)))).items

    await world.do(PutSettings(queue=QUEUE, settings=second))

    (after,) = (await world.do(ListQueues(queues=(QUEUE,)))).items
    (other,) = (await world.do(ListQueues(queues=("other",)))).items
    assert (before.settings, after.settings) == (first, second)
    assert other.settings == QueueSettings()


async def test_some_settings_are_put_and_the_others_stay(world: World) -> None:
    first = QueueSettings(keep_succeeded=5, keep_failed=6)
    await world.do(PutSettings(queue=QUEUE, settings=first))

    change = PutSettings(queue=QUEUE, settings=QueueSettings(keep_failed=7), only=("keep_failed",))
    answer = await world.do(change)

    assert answer == QueueSettings(keep_succeeded=5, keep_failed=7)
    (info,) = (await world.do(ListQueues(queues=(QUEUE,)))).items
    assert info.settings == answer


async def test_settings_put_at_the_same_time_are_all_kept(world: World) -> None:
    wanted = {"keep_succeeded": 5, "keep_failed": 6, "keep_cancelled": 7}

    for rest in range(4):
        given: dict[str, Any] = {name: value + rest for name, value in wanted.items()}
        await world.at_once(
            *(
                PutSettings(queue=QUEUE, settings=QueueSettings(**{name: value}), only=(name,))
                for name, value in given.items()
            )
        )

        (info,) = (await world.do(ListQueues(queues=(QUEUE,)))).items
        assert info.settings == QueueSettings(**given)


async def test_a_setting_that_there_is_not_is_refused(world: World) -> None:
    with pytest.raises(BadInput):
        await world.do(PutSettings(queue=QUEUE, settings=QueueSettings(), only=("colour",)))


async def test_a_queue_with_settings_is_listed(world: World) -> None:
    await world.do(PutSettings(queue="quiet", settings=QueueSettings(keep_failed=9)))

    assert [queue.name for queue in (await world.do(ListQueues())).items] == ["quiet"]


async def test_senseless_settings_are_refused(world: World) -> None:
    with pytest.raises(BadInput):
        await world.do(PutSettings(queue=QUEUE, settings=QueueSettings(keep_failed=-1)))
    with pytest.raises(BadName):
        await world.do(PutSettings(queue="", settings=QueueSettings()))

    assert (await world.do(ListQueues())).items == ()


async def test_limits_are_refused_where_they_are_not_supported(world: World) -> None:
    if Capability.LIMITS in world.driver.capabilities:
        pytest.skip("this store supports limits")

    with pytest.raises(NotSupported):
        await world.do(PutSettings(queue=QUEUE, settings=QueueSettings(concurrency=1)))


# --- events ---------------------------------------------------------------------------------------


async def newest_event(world: World) -> Event | None:
    events = await world.do(EventsAfter(limit=1_000))
    return events[-1] if events else None


async def test_every_change_by_people_leaves_an_event(world: World) -> None:
    pause = Rule(kind=RuleKind.PAUSE, target=QUEUE)
    schedule = Schedule(name="nightly", job=new_job("tick"), every=world.span(60))
    await world.enqueue("a", "b")
    requests = {
        "pause": PutRules(set=(pause,), author="ann"),
        "resume": PutRules(lift=(pause.key,), author="ann"),
        "settings": PutSettings(queue=QUEUE, settings=QueueSettings(), author="ann"),
        "edit": Edit(filter=by_id("a"), priority=2, author="ann"),
        "cancel": Cancel(filter=by_id("a"), author="ann"),
        "redrive": Redrive(filter=by_id("a"), author="ann"),
        "purge": Purge(filter=by_id("a"), author="ann"),
        "schedule": PutSchedules(put=(schedule,), author="ann"),
        "schedule_pause": PutSchedules(pause=("nightly",), author="ann"),
        "schedule_resume": PutSchedules(resume=("nightly",), author="ann"),
        "schedule_drop": PutSchedules(drop=("nightly",), author="ann"),
    }

    for kind, request in requests.items():
        await world.do(request)

        event = await newest_event(world)
        assert event is not None, kind
        assert (event.kind, event.author) == (kind, "ann")
        assert event.target


async def test_a_call_that_changes_nothing_leaves_no_event(world: World) -> None:
    await world.enqueue("a")
    before = await newest_event(world)

    for request in (
        Redrive(filter=by_id("a")),
        Purge(filter=by_id("none-such")),
        PutRules(lift=(Rule(kind=RuleKind.PAUSE, target=QUEUE).key,)),
        PutSchedules(drop=("none-such",), pause=("none-such",)),
    ):
        await world.do(request)

    assert await newest_event(world) == before


async def test_what_went_wrong_is_recorded_too(world: World) -> None:
    await world.enqueue(new_job("a", crash_limit=1), new_job("b"))
    await world.claim(lease=world.span(1))
    await world.pass_time(world.span(2))
    (lease,) = await world.claim()

    await world.settle(lease, Outcome.FAIL)

    events = await world.do(EventsAfter())
    assert [(event.kind, event.target) for event in events] == [
        ("lapse", "a"),
        ("failed", "a"),
        ("failed", "b"),
    ]
