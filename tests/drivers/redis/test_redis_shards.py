"""What relates jobs of different shards: batches, schedules, events, lists, bounds."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from redis_load import SECOND, claim, do, enqueue, job, settle

from oxmill.drivers.redis.driver import open_redis
from oxmill.errors import BadInput, OutcomeUnknown, StoreFull
from oxmill.model.info import EventsAfter, ListQueues, Sweep
from oxmill.model.job import Enqueue, NewJob, Verdict
from oxmill.model.query import Find, Get
from oxmill.model.schedule import Fire, ListSchedules, PutSchedules, Schedule
from oxmill.model.settlement import Outcome, Ruling
from oxmill.model.state import State
from oxmill.model.unique import UniqueKey
from oxmill.store.plan import Together

SHARDS = 4
NAMES = [f"job-{number}" for number in range(40)]


@pytest.fixture
def driver(redis_server, tmp_path):
    driver = open_redis(redis_server.url, namespace=tmp_path.name, shards=SHARDS)
    yield driver
    driver.close()


def test_a_batch_cut_short_is_completed_by_repeating_it(driver):
    batch = Enqueue(jobs=tuple(map(job, NAMES)))
    plan = driver.enqueueing.enqueue(batch)
    steps = plan.start()
    looked = driver.transport._perform(next(steps).steps, writes=True)
    assert do(driver, Get(ids=tuple(NAMES))) == ()
    writing = steps.send(tuple(looked))
    assert isinstance(writing, Together)
    assert len(writing.steps) == SHARDS
    driver.transport._perform(writing.steps[:1], writes=True)  # and here the caller dies
    part = {each.id for each in do(driver, Get(ids=tuple(NAMES)))}
    assert 0 < len(part) < len(NAMES)

    answers = do(driver, batch)

    assert {a.id for a in answers if a.verdict is Verdict.DUPLICATE} == part
    assert {a.id for a in answers if a.verdict is Verdict.CREATED} == set(NAMES) - part
    (info,) = do(driver, ListQueues()).items
    assert info.counts == {State.WAITING: len(NAMES)}


def test_a_batch_with_one_refused_job_is_refused_by_all_shards(driver):
    enqueue(driver, "job-7")
    other = [job(name) if name != "job-7" else job(name, payload=b"other") for name in NAMES]

    answers = do(driver, Enqueue(jobs=tuple(other)))

    assert [a.verdict for a in answers].count(Verdict.ID_CONFLICT) == 1
    assert [each.id for each in do(driver, Get(ids=tuple(NAMES)))] == ["job-7"]


def scheduled(name, key):
    template = NewJob(id="template", queue="q", task="t", payload=b"{}", unique=UniqueKey(key=key))
    return Schedule(name=name, job=template, every=SECOND)


@pytest.mark.parametrize("key", ["a", "b", "c", "d", "e", "f"])
def test_a_tick_and_a_producer_share_a_unique_key(driver, key):
    do(driver, PutSchedules(put=(scheduled("tick", key),)))
    do(driver, Fire(name="tick", expected=None, next_at=10))
    made = job("made", unique=UniqueKey(key=key))

    fired = do(driver, Fire(name="tick", expected=10, next_at=20, jobs=(made,), tick=10))
    (answer,) = enqueue(driver, "mine", unique=UniqueKey(key=key))

    assert fired.won
    assert not do(driver, Fire(name="tick", expected=10, next_at=20, jobs=(made,))).won
    assert (answer.verdict, answer.id) == (Verdict.DUPLICATE, "made")


def test_a_schedule_whose_key_changes_moves_as_it_is(driver):
    names = [f"s{number}" for number in range(8)]
    do(driver, PutSchedules(put=tuple(scheduled(name, f"one-{name}") for name in names)))
    do(driver, PutSchedules(pause=tuple(names)))

    do(driver, PutSchedules(put=tuple(scheduled(name, f"other-{name}") for name in names)))

    found = do(driver, ListSchedules()).items
    assert [info.schedule.name for info in found] == names
    assert [info.schedule.job.unique.key for info in found] == [f"other-{n}" for n in names]
    assert all(info.paused for info in found)
    assert do(driver, PutSchedules(drop=tuple(names))).changed == len(names)
    assert do(driver, ListSchedules()).items == ()


def test_events_of_all_shards_are_told_once_however_many_read(driver):
    enqueue(driver, *NAMES)
    for lease in claim(driver, len(NAMES)):
        assert settle(driver, lease, Outcome.FAIL).ruling is Ruling.WON

    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(lambda _: do(driver, EventsAfter(limit=1_000)), range(16)))

    assert sorted(event.target for event in told[-1]) == sorted(NAMES)
    assert [event.seq for event in told[-1]] == list(range(1, len(NAMES) + 1))
    assert do(driver, EventsAfter(limit=1_000)) == told[-1]


def test_pages_are_merged_by_time_of_arrival(redis_server, tmp_path):
    now = [1_700_000_000 * SECOND]
    driver = open_redis(
        redis_server.url, namespace=tmp_path.name, shards=SHARDS, clock=lambda: now[0]
    )
    for name in NAMES:
        enqueue(driver, name)
        now[0] += 1
    for limit in (1, 3, 7, 40, 100):
        seen, cursor = [], None
        while True:
            page = do(driver, Find(limit=limit, after=cursor))
            assert len(page.jobs) <= limit
            seen += (each.id for each in page.jobs)
            cursor = page.next
            if cursor is None:
                break
        assert seen == NAMES[::-1]
    for odd in ("1", "1-2-3", "1-2-3-x", "1-2-3--4"):
        with pytest.raises(BadInput):
            do(driver, Find(after=odd))
    driver.close()


def test_a_sweep_shares_its_bound_and_comes_to_an_end(redis_server, tmp_path):
    now = [1_700_000_000 * SECOND]
    driver = open_redis(
        redis_server.url, namespace=tmp_path.name, shards=SHARDS, clock=lambda: now[0]
    )
    enqueue(driver, *NAMES, delay=SECOND)
    now[0] += 2 * SECOND

    swept = []
    while not swept or swept[-1].more:
        swept.append(do(driver, Sweep(limit=3)))
        assert swept[-1].due <= 3
        assert len(swept) < 100

    assert sum(each.due for each in swept) == len(NAMES)
    driver.close()


def test_a_batch_of_which_a_part_is_refused_says_so(own):
    server = own()
    driver = open_redis(server.url, shards=SHARDS)
    enqueue(driver, *(f"warm-{n}" for n in range(20)))
    names = [f"job-{n}" for n in range(40)]
    with server.client() as client:
        client.config_set("maxmemory", client.info("memory")["used_memory"] + 1_500_000)
        with pytest.raises(OutcomeUnknown, match=r"did \d of 4 parts.*over its memory") as told:
            enqueue(driver, *names, payload=b"x" * 100_000)
        stored = do(driver, Get(ids=tuple(names)))
        assert 0 < len(stored) < len(names)
        assert "nothing was written" not in str(told.value)

        client.config_set("maxmemory", 0)
        answers = enqueue(driver, *names, payload=b"x" * 100_000)

    assert [a.verdict for a in answers].count(Verdict.DUPLICATE) == len(stored)
    assert len(do(driver, Get(ids=tuple(names)))) == len(names)
    driver.close()


def test_a_batch_that_all_shards_refuse_was_not_written(own):
    server = own("--maxmemory", "1mb")
    driver = open_redis(server.url, shards=SHARDS)

    with pytest.raises(StoreFull, match="nothing was written"):
        enqueue(driver, *(f"job-{n}" for n in range(40)))
    driver.close()
