"""Preparing: single jobs of a kind are stored just as they would be as batches of one."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import asdict

from oxmill.errors import BadInput, BadName, TooBig
from oxmill.model.info import ListQueues
from oxmill.model.job import Enqueued, NewJob, Verdict
from oxmill.model.state import State
from oxmill.model.unique import UniqueKey
from oxmill.store.doorbell import work
from oxmill.testing.conformance.doorbell import tells
from oxmill.testing.conformance.world import QUEUE, World, new_job

KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "kept": {"keep": 5_000_000, "priority": -3, "max_attempts": 4, "crash_limit": 2},
    "gone at its end": {"keep": 0},
    "later": {"delay": 60_000_000},
    "expiring": {"expires_in": 60_000_000, "timeout": 9_000_000},
    "labelled": {"fields": {"user": 7}, "tags": ("t",), "headers": {"h": "1"}},
    "grouped": {"group": "g"},
    "binary": {"content_type": "application/octet-stream"},
    "keyed": {"unique": UniqueKey(key="k")},
}
OF_ITS_OWN = {"id", "enqueued_at", "due_at", "expires_at", "unique"}


async def prepared(world: World, like: NewJob, job_id: str, payload: bytes = b"{}") -> Enqueued:
    """Store one job like this one."""
    (answer,) = await world.perform(world.driver.enqueueing.prepare(like).enqueue(job_id, payload))
    return answer


async def waiting(world: World) -> int:
    (info,) = (await world.do(ListQueues(queues=(QUEUE,)))).items
    return int(info.counts.get(State.WAITING, 0))


@pytest.mark.parametrize("kind", KINDS)
async def test_a_job_is_recorded_as_one_of_a_batch_is(world: World, kind: str) -> None:
    like = new_job("", **KINDS[kind])
    another = KINDS[kind] | ({"unique": UniqueKey(key="another")} if kind == "keyed" else {})

    one = await prepared(world, like, "one", b'{"n":1}')
    (other,) = await world.enqueue(new_job("other", payload=b'{"n":1}', **another))

    assert (one.id, one.verdict, one.state) == ("one", Verdict.CREATED, other.state)
    stored, beside = await world.job("one"), await world.job("other")
    assert stored is not None
    assert beside is not None
    ours, theirs = asdict(stored), asdict(beside)
    for name in ours.keys() - OF_ITS_OWN:
        assert ours[name] == theirs[name], name
    assert stored.due_at - stored.enqueued_at == beside.due_at - beside.enqueued_at
    assert (stored.expires_at is None) == (beside.expires_at is None)


async def test_a_job_takes_its_place_among_others_and_is_counted(world: World) -> None:
    kind = world.driver.enqueueing.prepare(new_job(""))

    await world.perform(kind.enqueue("a", b"{}"))
    await world.enqueue("b", "c")
    await world.perform(kind.enqueue("d", b"{}"))
    await world.perform(kind.enqueue("e", b"{}"))

    assert await waiting(world) == 5
    assert [job.id for job in await world.claim(9)] == ["a", "b", "c", "d", "e"]


async def test_the_same_job_again_is_a_duplicate_and_another_is_a_conflict(world: World) -> None:
    like = new_job("")
    await prepared(world, like, "a")

    again = await prepared(world, like, "a")
    other = await prepared(world, like, "a", b'{"n":1}')

    assert (again.id, again.verdict, again.state) == ("a", Verdict.DUPLICATE, State.WAITING)
    assert (other.id, other.verdict) == ("a", Verdict.ID_CONFLICT)
    assert await waiting(world) == 1
    assert (await prepared(world, like, "b")).verdict is Verdict.CREATED
    assert {job.id for job in await world.claim(9)} == {"a", "b"}


async def test_a_plan_may_be_performed_again(world: World) -> None:
    plan = world.driver.enqueueing.prepare(new_job("")).enqueue("a", b"{}")

    (first,), (second,) = await world.perform(plan), await world.perform(plan)

    assert (first.verdict, second.verdict) == (Verdict.CREATED, Verdict.DUPLICATE)
    assert await waiting(world) == 1


async def test_what_is_wrong_is_said_when_a_job_is_enqueued(world: World) -> None:
    driver = world.driver
    wrong: list[tuple[NewJob, Any, Any, type[Exception]]] = [
        (new_job(""), "", b"{}", BadName),
        (new_job(""), "a\n", b"{}", BadName),
        (new_job(""), "x" * (driver.bounds.id_bytes + 1), b"{}", BadName),
        (new_job(""), 7, b"{}", BadInput),
        (new_job(""), "a", "{}", BadInput),
        (new_job(""), "a", bytes(driver.bounds.payload_bytes + 1), TooBig),
        (new_job("", max_attempts=0), "a", b"{}", BadInput),
        (new_job("", queue=""), "a", b"{}", BadName),
        (new_job("", priority="high"), "a", b"{}", BadInput),
        (new_job("", parent="p"), "a", b"{}", BadInput),
    ]
    for like, job_id, payload, error in wrong:
        kind = driver.enqueueing.prepare(like)

        with pytest.raises(error):
            await world.perform(kind.enqueue(job_id, payload))

    assert not await world.claim(9)


async def test_names_that_are_not_ascii_are_taken(world: World) -> None:
    answer = await prepared(world, new_job("", task="évaluer"), "tâche")

    assert (answer.id, answer.verdict) == ("tâche", Verdict.CREATED)
    (job,) = await world.claim(9)
    assert (job.id, job.task) == ("tâche", "évaluer")


async def test_the_queue_is_rung_for(world: World) -> None:
    with world.driver.doorbell.listen((work(QUEUE),)) as bell:
        await prepared(world, new_job(""), "a")

        assert await tells(world, bell)


async def test_many_at_once_are_all_stored_and_numbered(world: World) -> None:
    kind = world.driver.enqueueing.prepare(new_job(""))
    plans = [kind.enqueue(f"job-{n}", b"{}") for n in range(20)]

    answers = await world.perform_at_once(*plans)

    assert [answer.verdict for (answer,) in answers] == [Verdict.CREATED] * 20
    assert await waiting(world) == 20
    assert len(await world.claim(50)) == 20
