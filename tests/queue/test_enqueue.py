"""Calls become jobs, on every store, through both faces."""

import asyncio
import dataclasses
from weakref import WeakSet

import pytest
from msgspec.structs import replace

from oxmill import (
    App,
    BadArguments,
    BadInput,
    DuplicateJob,
    IdConflict,
    Middleware,
    OutcomeUnknown,
    State,
    Unique,
)
from oxmill.model.job import Enqueued, Verdict
from oxmill.queue.bulk import BATCH_BYTES, BATCH_JOBS, batches
from oxmill.queue.context import CURRENT, Context


@pytest.fixture
def send(app):
    @app.task(name="send", queue="mail")
    def send(to: str, *, subject: str = "hi") -> int: ...

    return send


def test_an_enqueued_call_is_stored_as_it_was_made(app, send, face):
    job = face(
        send.using(priority=3, tags=["x"], fields={"user": 7}), "enqueue", "a@x", subject="yo"
    )

    record = face(app, "get", job.id)
    assert job.created
    assert job.state is State.WAITING
    assert (record.queue, record.task, record.priority) == ("mail", "send", 3)
    assert record.payload == b'{"to":"a@x","subject":"yo"}'
    assert (record.tags, record.fields) == (("x",), {"user": 7})


def test_a_delayed_call_is_scheduled(app, send, face, clock):
    job = face(send.using(delay="5m"), "enqueue", "a@x")

    assert job.state is State.SCHEDULED
    assert face(app, "get", job.id).due_at == clock.now + 300_000_000


def test_bad_arguments_store_nothing(app, send, face):
    with pytest.raises(BadArguments, match=r"\$\.to"):
        face(send, "enqueue", 1)
    assert face(app, "queues") == ()


def test_the_same_id_makes_one_job_and_other_content_is_told(app, send, face):
    first = face(send.using(id="one"), "enqueue", "a@x")
    again = face(send.using(id="one"), "enqueue", "a@x")

    assert (first.created, again.created) == (True, False)
    assert first == again
    with pytest.raises(IdConflict, match="one"):
        face(send.using(id="one"), "enqueue", "b@x")


def test_a_job_enqueued_by_a_run_carries_its_parent(app, send, face):
    outer = face(send, "enqueue", "a@x")
    leased = app.queue("mail").lease(60)
    token = CURRENT.set(Context(leased.job))
    try:
        inner = face(send.using(headers={"trace": "t"}), "enqueue", "b@x")
    finally:
        CURRENT.reset(token)

    headers = face(app, "get", inner.id).headers
    assert headers == {"oxmill-parent": outer.id, "trace": "t"}


def test_middleware_sees_and_may_change_every_job(new_app, face):
    class Stamp(Middleware):
        def on_enqueue(self, job):
            return replace(job, headers={"stamp": "yes"})

    app = new_app(middleware=[Stamp()])

    @app.task
    def work() -> None: ...

    one = face(work, "enqueue")
    (two,) = face(app, "enqueue_many", [work.bind()])
    face(app.queue("raw"), "add", b"x", id="three")

    for job_id in (one.id, two.id, "three"):
        assert face(app, "get", job_id).headers == {"stamp": "yes"}


def test_middleware_that_writes_into_a_job_changes_no_other(new_app, face):
    class Count(Middleware):
        def __init__(self):
            self.seen = 0

        def on_enqueue(self, job):
            self.seen += 1
            job.headers[f"seen-{self.seen}"] = "yes"
            job.fields[f"seen-{self.seen}"] = self.seen
            return job

    app = new_app(middleware=[Count()])

    @app.task
    def work() -> None: ...

    face(work, "enqueue")
    second = face(app, "get", face(work, "enqueue").id)

    assert second.headers == {"seen-2": "yes"}
    assert second.fields == {"seen-2": 2}


# -- many ------------------------------------------------------------------------------------------


def test_any_number_of_calls_is_enqueued_in_batches_and_in_order(app, send, face):
    jobs = face(app, "enqueue_many", (send.bind(f"{n}@x") for n in range(2_300)))

    assert len(jobs) == len(set(jobs)) == 2_300
    assert [job.id for job in jobs] == sorted(job.id for job in jobs)
    assert all(job.created for job in jobs)
    assert len(app.queue("mail")) == 2_300
    assert face(app, "get", jobs[1_500].id).payload == b'{"to":"1500@x"}'


def test_loading_counts_what_was_new(app, send, face):
    unique = send.using(unique=True)

    loaded = face(app, "load", (unique.bind(f"{n % 1_500}@x") for n in range(3_000)))

    assert loaded == (3_000, 1_500)
    assert loaded.created == len(app.queue("mail"))


class Kept(Enqueued, frozen=True, gc=True, weakref=True):
    """An answer of which can be seen whether anybody holds on to it."""


class Sink:
    """Says that it has stored everything, keeps nothing, and notes what others keep."""

    def __init__(self):
        self.stored = self.most_kept = 0
        self._kept = WeakSet()

    def run(self, plan):
        self.most_kept = max(self.most_kept, len(self._kept))
        answers = tuple(
            Kept(id=job.id, verdict=Verdict.CREATED, state=State.WAITING)
            for job in plan.request.jobs
        )
        self.stored += len(answers)
        self._kept.update(answers)
        return answers

    async def arun(self, plan):
        return self.run(plan)


@pytest.mark.parametrize("verb", ["enqueue_many", "load"])
def test_any_number_of_calls_is_read_and_forgotten_batch_by_batch(verb, face):
    # Given a store that keeps nothing, and calls that note how far ahead of it they are read
    app, sink, ahead = App("memory://"), Sink(), []

    @app.task
    def send(n: int) -> None: ...

    def calls():
        for n in range(4_500):
            ahead.append(n - sink.stored)
            yield send.bind(n)

    # When they are enqueued
    with app._client.lend(dataclasses.replace(app.driver, transport=sink)):
        face(app, verb, calls())

    # Then no more than a batch was read before the last one was stored, and none is kept
    assert sink.stored == 4_500
    assert max(ahead) == BATCH_JOBS
    assert sink.most_kept <= BATCH_JOBS


@pytest.mark.parametrize("verb", ["aenqueue_many", "aload"])
def test_an_async_iterator_is_read_and_forgotten_batch_by_batch(verb):
    app, sink, ahead = App("memory://"), Sink(), []

    @app.task
    def send(n: int) -> None: ...

    async def calls():
        for n in range(4_500):
            ahead.append(n - sink.stored)
            yield send.bind(n)

    with app._client.lend(dataclasses.replace(app.driver, transport=sink)):
        asyncio.run(getattr(app, verb)(calls()))

    assert sink.stored == 4_500
    assert max(ahead) == BATCH_JOBS
    assert sink.most_kept <= BATCH_JOBS


def test_calls_of_an_async_iterator_are_enqueued_in_order_and_loaded_alike(app, send):
    async def calls():
        for n in range(1_200):
            await asyncio.sleep(0)
            yield send.using(unique=True).bind(f"{n}@x")

    jobs = asyncio.run(app.aenqueue_many(calls()))
    loaded = asyncio.run(app.aload(calls()))

    assert len(jobs) == len(set(jobs)) == len(app.queue("mail")) == 1_200
    assert app.get(jobs[1_100].id).payload == b'{"to":"1100@x"}'
    assert loaded == (1_200, 0)


def test_large_calls_of_an_async_iterator_are_stored_before_more_are_read(app, send):
    sink, seen = Sink(), []

    async def calls():
        for _ in range(5):
            seen.append(sink.stored)
            yield send.bind("x" * (BATCH_BYTES // 3))

    with app._client.lend(dataclasses.replace(app.driver, transport=sink)):
        asyncio.run(app.aload(calls()))

    assert seen == [0, 0, 0, 2, 2]


def test_an_error_of_an_async_iterator_leaves_the_batches_before_it_stored(app, send):
    async def calls():
        for n in range(1_200):
            yield send.bind(f"{n}@x")
        raise OSError("the rows end here")

    with pytest.raises(OSError, match="the rows end here"):
        asyncio.run(app.aload(calls()))

    assert len(app.queue("mail")) == 1_000


def test_what_an_async_iterator_gives_is_checked_like_anything_else(app, send):
    async def no_call():
        yield send

    async def of_two_connections():
        for n in range(BATCH_JOBS + 1):
            yield (send if n < BATCH_JOBS else send.using(connection=object())).bind("a")

    with pytest.raises(BadInput, match="is not a call"):
        asyncio.run(app.aenqueue_many(no_call()))
    with pytest.raises(BadInput, match="another connection"):
        asyncio.run(app.aload(of_two_connections()))


def test_loading_makes_no_handles(app, send, face, monkeypatch):
    def handle(_task, _receipt):
        raise AssertionError("one handle per job would take memory without bound")

    monkeypatch.setattr(type(send), "handle", handle)

    assert face(app, "load", (send.bind(f"{n}@x") for n in range(3))) == (3, 3)


def test_batches_are_cut_by_number_and_by_weight():
    assert [len(batch) for batch in batches(range(2_500), lambda _: 1)] == [1_000, 1_000, 500]
    half = BATCH_BYTES // 2
    assert [len(batch) for batch in batches(range(5), lambda _: half)] == [2, 2, 1]
    assert [len(batch) for batch in batches(range(2), lambda _: 2 * BATCH_BYTES)] == [1, 1]
    assert list(batches([], lambda _: 1)) == []


def test_an_error_leaves_the_batches_before_it_stored(app, send, face):
    def calls():
        for n in range(1_200):
            yield send.bind(f"{n}@x")
        yield send.bind(5)

    with pytest.raises(BadArguments):
        face(app, "enqueue_many", calls())

    assert len(app.queue("mail")) == 1_000


def test_each_enqueue_of_a_call_makes_a_job_of_its_own(app, send, face):
    call = send.bind("a@x")

    jobs = face(app, "enqueue_many", [call, call])

    assert len(set(jobs)) == 2


def test_a_call_of_another_app_is_refused(app, send, face):
    with pytest.raises(BadInput, match="belongs to another app"):
        face(App("memory://"), "enqueue_many", [send.bind("a")])


def test_map_enqueues_one_job_per_tuple_of_arguments(app, send, face):
    jobs = face(send, "map", [("a",), ("b",)])

    assert [face(app, "get", job.id).payload for job in jobs] == [b'{"to":"a"}', b'{"to":"b"}']


# -- unique ----------------------------------------------------------------------------------------


def test_a_taken_key_gives_the_job_that_holds_it(app, send, face):
    first = face(send.using(unique="welcome:a"), "enqueue", "a@x")
    second = face(send.using(unique="welcome:a"), "enqueue", "a@x", subject="again")

    assert not second.created
    assert second == first
    assert len(app.queue("mail")) == 1


def test_a_taken_key_raises_if_asked_to(app, send, face):
    strict = send.using(unique=Unique("k", on_conflict="raise"))
    first = face(strict, "enqueue", "a@x")

    with pytest.raises(DuplicateJob, match="held by job") as refused:
        face(strict, "enqueue", "a@x")

    assert refused.value.job_id == first.id
    assert refused.value.key == "k"


# -- lost answers ----------------------------------------------------------------------------------


class Deaf:
    """Does what it is told, and loses the first answers to an enqueue."""

    def __init__(self, transport, losses):
        self._transport = transport
        self.losses = losses

    def run(self, plan):
        answer = self._transport.run(plan)
        self._lose(plan)
        return answer

    async def arun(self, plan):
        answer = await self._transport.arun(plan)
        self._lose(plan)
        return answer

    def _lose(self, plan):
        if plan.name == "enqueue" and self.losses:
            self.losses -= 1
            raise OutcomeUnknown("the answer was lost")


def test_a_lost_answer_is_made_up_for_without_a_second_job(app, send, face):
    driver = app.driver
    with app._client.lend(dataclasses.replace(driver, transport=Deaf(driver.transport, 2))):
        job = face(send, "enqueue", "a@x")
        added = face(app.queue("raw"), "add", b"x")

    assert job.created
    assert added
    assert len(app.queue("mail")) == 1


def test_an_item_whose_answer_was_lost_counts_as_added(app, face):
    driver = app.driver
    with app._client.lend(dataclasses.replace(driver, transport=Deaf(driver.transport, 1))):
        assert face(app.queue("raw"), "add", b"x", id="one")

    assert not face(app.queue("raw"), "add", b"x", id="one")


def test_a_store_that_never_answers_is_told_to_the_caller(app, send, face):
    driver = app.driver
    with (
        app._client.lend(dataclasses.replace(driver, transport=Deaf(driver.transport, 9))),
        pytest.raises(OutcomeUnknown),
    ):
        face(send, "enqueue", "a@x")
