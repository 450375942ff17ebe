"""Single enqueues of many coroutines travel together, and each is judged as if it came alone."""

import asyncio
import gc
import weakref
from dataclasses import replace

import msgspec
import pytest

from oxmill import App, Unique
from oxmill.errors import DuplicateJob, StoreUnavailable, TooBig
from oxmill.model.job import Enqueue


class Counting:
    """A transport that counts the enqueues it carries, and can fail on command."""

    def __init__(self, inner):
        self.inner = inner
        self.sizes = []
        self.fail = None

    def run(self, plan):
        return self.inner.run(plan)

    async def arun(self, plan):
        if isinstance(plan.request, Enqueue):
            self.sizes.append(len(plan.request.jobs))
            if self.fail is not None:
                raise self.fail
        return await self.inner.arun(plan)

    def close(self):
        self.inner.close()


@pytest.fixture(params=["memory", "sqlite"])
def counted(request, tmp_path):
    url = "memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'jobs.db'}"
    app = App(url)
    link = Counting(app.driver.transport)
    with app._client.lend(replace(app.driver, transport=link)):
        yield app, link
    app.close()


def replace_bounds(driver, **bounds):
    return replace(driver, bounds=msgspec.structs.replace(driver.bounds, **bounds))


def note_of(app, **options):
    @app.task(name="note", **options)
    async def note(text: str) -> None: ...

    return note


async def test_callers_of_one_turn_share_a_step(counted):
    app, link = counted
    note = note_of(app)

    jobs = await asyncio.gather(*(note.aenqueue(str(n)) for n in range(100)))

    assert len({job.id for job in jobs}) == 100
    assert all(job.created for job in jobs)
    assert sum(link.sizes) == 100
    assert len(link.sizes) <= 2


async def test_where_fields_are_costly_jobs_with_fields_travel_in_small_groups(counted):
    app, link = counted
    note = note_of(app)
    with_field = note.using(fields={"user": 1})
    few = replace_bounds(app.driver, heavy_jobs=10)
    mixed = [with_field if n % 2 else note for n in range(60)]

    with app._client.lend(replace(few, transport=link)):
        await asyncio.gather(*(task.aenqueue(str(n)) for n, task in enumerate(mixed)))

    assert sum(link.sizes) == 60
    assert max(link.sizes) == 21  # ten with a field, and eleven without one before the next


async def test_one_caller_s_mistake_is_not_another_s(counted):
    app, _ = counted
    note = note_of(app)
    huge = "x" * (app.driver.bounds.payload_bytes + 1)

    answers = await asyncio.gather(
        note.aenqueue("a"), note.aenqueue(huge), note.aenqueue("b"), return_exceptions=True
    )

    assert [type(answer).__name__ for answer in answers] == ["Job", "TooBig", "Job"]
    assert isinstance(answers[1], TooBig)
    assert len([job async for job in app.ajobs()]) == 2


async def test_who_asked_to_be_told_is_told_and_the_others_are_stored(counted):
    app, _ = counted
    note = note_of(app, unique=Unique(on_conflict="raise"))

    answers = await asyncio.gather(
        *(note.aenqueue(text) for text in ("a", "a", "b")), return_exceptions=True
    )

    assert isinstance(answers[1], DuplicateJob)
    assert answers[1].job_id == answers[0].id
    assert answers[2].created


async def test_a_store_that_fails_is_told_to_everyone_and_the_next_try_works(counted):
    app, link = counted
    note = note_of(app)
    link.fail = StoreUnavailable("away")

    answers = await asyncio.gather(
        *(note.aenqueue(str(n)) for n in range(3)), return_exceptions=True
    )
    assert [type(answer) for answer in answers] == [StoreUnavailable] * 3

    link.fail = None
    assert (await note.aenqueue("again")).created


async def test_a_caller_that_goes_away_takes_nobody_along(counted):
    app, _ = counted
    note = note_of(app)
    goes = asyncio.ensure_future(note.aenqueue("goes"))
    stays = asyncio.ensure_future(note.aenqueue("stays"))
    await asyncio.sleep(0)
    goes.cancel()

    assert (await stays).created
    with pytest.raises(asyncio.CancelledError):
        await goes


def test_every_event_loop_has_its_own(counted):
    app, _ = counted
    note = note_of(app)

    async def both():
        return await asyncio.gather(note.aenqueue("a"), note.aenqueue("b"))

    for _ in range(3):
        assert all(job.created for job in asyncio.run(both()))


def test_a_program_that_starts_loop_after_loop_keeps_none_that_has_ended(url):
    app, loops = App(url), weakref.WeakSet()
    note = note_of(app)

    async def once():
        loops.add(asyncio.get_running_loop())
        await note.aenqueue("a")

    for _ in range(5):
        asyncio.run(once())
    gc.collect()
    app.close()

    assert len(loops) <= 1
