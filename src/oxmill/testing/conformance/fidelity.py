"""Fidelity: bytes in are bytes out, and names are told apart byte for byte."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest

from oxmill.errors import BadInput, BadName, TooBig
from oxmill.model.claim import ClaimIds, Renew, Renewal
from oxmill.model.info import EventsAfter, ListQueues
from oxmill.model.job import Job
from oxmill.model.query import Cancel, Filter, Find, Get
from oxmill.model.rule import PutRules, Rule, RuleKind
from oxmill.model.schedule import PutSchedules, Schedule
from oxmill.model.settings import PutSettings, QueueSettings
from oxmill.model.settlement import Failure, Outcome, Settle, Settlement
from oxmill.model.token import Token
from oxmill.model.unique import UniqueKey
from oxmill.model.value import Value
from oxmill.testing.conformance.world import World, by_id, new_job

CONTENTS = {
    "empty": b"",
    "NUL": b"\x00",
    "NULs": b"a\x00b\x00\x00",
    "all bytes": bytes(range(256)),
    "not UTF-8": b"\xff\xfe\x80\xc3(",
    "newlines": b"a\r\nb\n\r\x1a",
    "JSON": b'{"big": 90071992547409931234, "b": 1, "a": 1, "a": 2, "e": "\\u0000"}',
    "quotes": b"'; DROP TABLE jobs; --\\'\"`",
}
NAMES = [
    "mail",
    "Mail",
    "MAIL",
    "mail ",
    " mail",
    "mail:urgent",
    "mail{1}",
    "mail*",
    "mail%",
    "mail_",
    "mail?",
    "mail'",
    'mail"',
    "mail`",
    "mail\\",
    "mail/sub",
    "mail.sub",
    "mail;--",
    "mail[a-z]",
    "ma\u0131l",
    "stra\u00dfe",
    "strasse",
    "\u00e9",
    "e\u0301",
    "\U0001f4ee",
    "\u90ae\u4ef6",
    "null",
    "0",
    "00",
    "n" * 200,
]
REFUSED = {
    "empty": "",
    "too long": "n" * 201,
    "too many bytes": "\u00e9" * 101,
    "NUL": "a\x00b",
    "newline": "a\nb",
    "control": "a\x1bb",
    "delete": "a\x7fb",
    "half a pair": "a\ud800",
}


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS.keys())
async def test_bytes_in_are_bytes_out(world: World, content: bytes) -> None:
    await world.enqueue(new_job("a", payload=content, content_type="application/x-raw"))

    (lease,) = await world.claim()
    renewal = Renewal(id="a", token=lease.token, progress=content)
    await world.do(Renew(items=(renewal,), lease=world.span(60)))
    await world.settle(lease, Outcome.COMPLETE, result=content)

    job = await world.job("a")
    (found,) = (await world.do(Find())).jobs
    assert job is not None
    assert lease.payload == content
    assert (job.payload, job.progress, job.result) == (content, content, content)
    assert (found.payload, found.content_type) == (content, "application/x-raw")


async def test_no_result_is_not_an_empty_result(world: World) -> None:
    await world.enqueue("none", "empty")
    none, empty = await world.claim(2)

    await world.settle(none, Outcome.COMPLETE)
    await world.settle(empty, Outcome.COMPLETE, result=b"")

    results = [job.result for job in [await world.job("none"), await world.job("empty")] if job]
    assert results == [None, b""]


async def test_each_job_of_a_batch_has_its_own_result(world: World) -> None:
    """However much ids look alike, and however many there are."""
    ids = ["a", "A", "a ", "1", "01", "1.0", "a'", "a\\", *(f"job-{n}" for n in range(150))]
    await world.enqueue(*ids)
    leases = await world.claim(len(ids))
    results = {job_id: f"{n} '\\\0".encode() for n, job_id in enumerate(ids) if n % 5 != 2}

    items = [
        Settlement(id=j.id, token=j.token, outcome=Outcome.COMPLETE, result=results.get(j.id))
        for j in leases
    ]
    await world.do(Settle(items=tuple(items)))

    jobs: tuple[Job, ...] = await world.do(Get(ids=tuple(ids)))
    assert {job.id: job.result for job in jobs} == {name: results.get(name) for name in ids}


async def test_the_largest_payload_and_result_are_kept(world: World) -> None:
    bounds = world.driver.bounds
    payload = bytes(range(256)) * (bounds.payload_bytes // 256)
    result = payload[::-1][: bounds.result_bytes]
    assert len(payload) == bounds.payload_bytes

    await world.enqueue(new_job("a", payload=payload))
    (lease,) = await world.claim()
    await world.settle(lease, Outcome.COMPLETE, result=result)

    job = await world.job("a")
    assert job is not None
    # Equality alone would print megabytes when it fails.
    same = (lease.payload == payload, job.payload == payload, job.result == result)
    assert same == (True, True, True)


async def test_a_payload_over_the_limit_is_refused_before_anything_is_written(
    world: World,
) -> None:
    too_big = b"x" * (world.driver.bounds.payload_bytes + 1)

    with pytest.raises(TooBig):
        await world.enqueue(new_job("a"), new_job("b", payload=too_big))

    assert (await world.do(Find())).jobs == ()


@pytest.mark.parametrize("bad", REFUSED.values(), ids=REFUSED.keys())
@pytest.mark.parametrize("place", ["id", "queue", "task", "group", "tag", "field", "key"])
async def test_what_cannot_be_told_apart_on_every_store_is_refused(
    world: World, place: str, bad: str
) -> None:
    if place == "key" and bad.strip("n\u00e9") == "" and bad:
        bad *= 6  # keys may be longer than names
    wrong: dict[str, dict[str, Any]] = {
        "tag": {"tags": (bad,)},
        "field": {"fields": {bad: 1}},
        "key": {"unique": UniqueKey(key=bad)},
    }
    job = new_job(bad) if place == "id" else new_job("b", **wrong.get(place, {place: bad}))

    with pytest.raises(BadName):
        await world.enqueue(new_job("a"), job)

    assert (await world.do(Find())).jobs == ()


async def test_queues_are_told_apart_byte_for_byte(world: World) -> None:
    await world.enqueue(*(new_job(f"job-{n}", queue=name) for n, name in enumerate(NAMES)))

    info = (await world.do(ListQueues())).items
    assert [queue.name for queue in info] == sorted(NAMES)
    for number, name in enumerate(NAMES):
        (by_name,) = (await world.do(ListQueues(queues=(name,)))).items
        assert sum(by_name.counts.values()) == 1, name
        found = (await world.do(Find(filter=Filter(queues=(name,))))).jobs
        assert [job.id for job in found] == [f"job-{number}"], name
        claimed = await world.claim(9, queues=(name,))
        assert [job.id for job in claimed] == [f"job-{number}"], name


async def test_ids_are_told_apart_byte_for_byte(world: World) -> None:
    await world.enqueue(*NAMES)

    assert [job.id for job in await world.claim(99)] == NAMES
    for name in NAMES:
        job = await world.job(name)
        assert job is not None
        assert job.id == name
    steered = await world.do(Cancel(filter=by_id(NAMES[1])))
    assert steered.asked == (NAMES[1],)


async def test_tasks_groups_tags_and_fields_are_told_apart_byte_for_byte(world: World) -> None:
    await world.enqueue(
        *(
            new_job(f"job-{n}", task=name, group=name, tags=(name,), fields={name: name})
            for n, name in enumerate(NAMES)
        )
    )

    for number, name in enumerate(NAMES):
        for wanted in (
            Filter(tasks=(name,)),
            Filter(group=name),
            Filter(tag=name),
            Filter(fields={name: name}),
        ):
            found = (await world.do(Find(filter=wanted))).jobs
            assert [job.id for job in found] == [f"job-{number}"], (name, wanted)


async def test_rules_and_settings_are_for_one_name_only(world: World) -> None:
    for one, other in pairwise(["mail", "Mail", "mail ", "mail*"]):
        await world.enqueue(new_job(f"{one}-1", queue=one), new_job(f"{other}-2", queue=other))
        await world.do(PutRules(set=(Rule(kind=RuleKind.PAUSE, target=one),)))
        await world.do(PutSettings(queue=one, settings=QueueSettings(keep_failed=5)))

        claimed = await world.claim(9, queues=(one, other))
        (info,) = (await world.do(ListQueues(queues=(other,)))).items

        assert [job.id for job in claimed] == [f"{other}-2"]
        assert (info.rules, info.settings) == ((), QueueSettings())


async def test_schedules_are_told_apart_byte_for_byte(world: World) -> None:
    schedules = tuple(
        Schedule(name=name, job=new_job("tick", payload=name.encode()), every=world.span(60))
        for name in NAMES
    )

    put = await world.do(PutSchedules(put=schedules))

    assert put.changed == len(NAMES)


async def test_text_that_is_carried_along_is_kept_whole(world: World) -> None:
    odd = "\u00e9 \U0001f4ee \n\t\x01 '\" \\ %s {x} </script>"
    await world.enqueue(
        new_job("a", headers={odd: odd}, fields={"f": "\u00e9'%*"}, content_type="text/\u00e9")
    )
    (lease,) = await world.claim(worker="w \u00e9")
    error = Failure(type="E", message=odd, traceback=odd * 9)

    await world.settle(lease, Outcome.FAIL, error=error, reason=odd)

    job = await world.job("a")
    assert job is not None
    assert (job.headers, job.fields) == ({odd: odd}, {"f": "\u00e9'%*"})
    assert lease.headers == {odd: odd}
    assert (job.error, job.reason, job.content_type) == (error, odd, "text/\u00e9")
    assert job.history[0].worker == "w \u00e9"
    assert job.history[0].error == error


@pytest.mark.parametrize(
    "wrong",
    [{"headers": {"k": "a\ud800"}}, {"headers": {"\ud800": "v"}}, {"content_type": "\ud800"}],
    ids=["header", "header name", "content type"],
)
async def test_text_that_is_not_text_is_refused(world: World, wrong: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        await world.enqueue(new_job("a"), new_job("b", **wrong))

    assert (await world.do(Find())).jobs == ()


ODD = "half \ud800"
ODD_QUESTIONS: dict[str, Value] = {
    "get": Get(ids=(ODD,)),
    "find by id": Find(filter=by_id(ODD)),
    "find by queue": Find(filter=Filter(queues=(ODD,))),
    "find by tag": Find(filter=Filter(tag=ODD)),
    "find by field": Find(filter=Filter(fields={ODD: 1})),
    "find by large field": Find(filter=Filter(fields={"f": 2**70})),
    "find by far time": Find(filter=Filter(since=2**70)),
    "queues": ListQueues(queues=(ODD,)),
    "cancel": Cancel(filter=by_id(ODD)),
    "cancel with reason": Cancel(filter=by_id("none-such"), reason=ODD, author=ODD),
    "settle": Settle(items=(Settlement(id=ODD, token=Token(1, 1), outcome=Outcome.COMPLETE),)),
    "settle with large token": Settle(
        items=(Settlement(id="a", token=Token(2**70, 2**70), outcome=Outcome.COMPLETE),)
    ),
    "renew": Renew(items=(Renewal(id=ODD, token=Token(1, 1)),), lease=1_000_000),
    "claim by id": ClaimIds(ids=(ODD,), lease=1_000_000, worker="w", nonce=1),
    "events": EventsAfter(seq=2**70),
}


@pytest.mark.parametrize("question", ODD_QUESTIONS.values(), ids=ODD_QUESTIONS.keys())
async def test_an_odd_question_is_answered_or_refused_and_harms_nobody(
    world: World, question: Value
) -> None:
    await world.enqueue("a")
    before = await world.job("a")

    with suppress(BadInput):
        await world.do(question)

    assert await world.job("a") == before
    assert [job.id for job in await world.claim(9)] == ["a"]


async def test_field_values_keep_their_type_and_size(world: World) -> None:
    fields: dict[str, str | int] = {
        "largest": 2**63 - 1,
        "smallest": -(2**63),
        "past doubles": 2**53 + 1,
        "zero": 0,
        "text": "0",
        "empty": "",
    }
    await world.enqueue(new_job("a", fields=fields))

    job = await world.job("a")
    assert job is not None
    assert job.fields == fields
    for name, value in fields.items():
        found = (await world.do(Find(filter=Filter(fields={name: value})))).jobs
        assert len(found) == 1, name


async def test_lists_in_fields_keep_their_order_and_all_their_values(world: World) -> None:
    fields = {"empty": (), "one": ("x",), "same": (1, 1, "1"), "l": ("l", "", -(2**63)), "s": "l"}
    await world.enqueue(new_job("a", fields=fields))

    job = await world.job("a")

    assert job is not None
    assert dict(job.fields) == fields


async def test_a_number_and_its_digits_are_different_values(world: World) -> None:
    await world.enqueue(
        new_job("number", fields={"user": 62}), new_job("text", fields={"user": "62"})
    )

    numbers = (await world.do(Find(filter=Filter(fields={"user": 62})))).jobs
    texts = (await world.do(Find(filter=Filter(fields={"user": "62"})))).jobs

    assert [job.id for job in numbers] == ["number"]
    assert [job.id for job in texts] == ["text"]
