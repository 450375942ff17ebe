"""Many callers share one commit, and none of them suffers from another."""

import asyncio
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlite_stage import Store, kept_waiting, wait_until

from oxmill.drivers.sqlite import committer as committer_module
from oxmill.drivers.sqlite import connection as connection_module
from oxmill.drivers.sqlite.driver import open_sqlite
from oxmill.errors import BadInput, StoreFull, StoreUnavailable
from oxmill.model.claim import Claim
from oxmill.model.job import Verdict
from oxmill.model.query import Cancel, Filter, Find
from oxmill.store.plan import Plan


def commits(store):
    """A list that grows by one word with every commit from now on."""
    seen = []
    store.writer.ensure_open()
    store.writer.committer.session.connection.set_trace_callback(
        lambda text: seen.append(text) if text == "COMMIT" else None
    )
    return seen


def spoiled(store, job_id, error=RuntimeError, *, before=False):
    """A plan that fails: after it has written a job, or before it writes anything."""

    def start():
        if not before:
            yield from store.plan(job_id).start()
        raise error(f"{job_id} went wrong")

    return Plan("spoiled", None, start)


def at_once(store, plans):
    """Perform plans from as many threads, all in line, in this order, before any is performed."""
    writer = store.writer
    answers = []
    with ThreadPoolExecutor(len(plans)) as pool:
        with kept_waiting(writer):
            for number, plan in enumerate(plans, start=1):
                answers.append(pool.submit(store.driver.run, plan))
                wait_until(lambda number=number: len(writer._line) == number)
        return [answer.exception(30) or answer.result() for answer in answers]


def verdicts(answers):
    return [answer[0].verdict if isinstance(answer, tuple) else answer for answer in answers]


def test_threads_share_one_commit(store):
    seen = commits(store)

    answers = at_once(store, [store.plan(f"job-{number}") for number in range(40)])

    assert verdicts(answers) == [Verdict.CREATED] * 40
    assert len(seen) == 1
    assert store.counts() == {"waiting": 40}


async def test_coroutines_share_few_commits(store):
    seen = commits(store)

    await asyncio.gather(*(store.driver.arun(store.plan(f"job-{n}")) for n in range(200)))

    assert len(seen) <= 10
    assert store.counts() == {"waiting": 200}


async def test_coroutines_of_a_group_are_woken_together(store, monkeypatch):
    store.enqueue("first")
    loop = asyncio.get_running_loop()
    calls = []
    threadsafe = loop.call_soon_threadsafe
    monkeypatch.setattr(
        loop, "call_soon_threadsafe", lambda *args: (calls.append(args), threadsafe(*args))[1]
    )

    with kept_waiting(store.writer):
        tasks = [asyncio.create_task(store.driver.arun(store.plan(f"{n}"))) for n in range(100)]
        await asyncio.sleep(0)
        assert len(store.writer._line) == 100
    await asyncio.gather(*tasks)

    assert len(calls) == 1


def test_a_lone_blocking_caller_needs_no_other_thread(store):
    before = threading.active_count()

    store.enqueue("a")

    assert threading.active_count() == before
    assert store.writer._thread is None


def test_a_plan_that_fails_after_it_wrote_harms_nobody(store):
    seen = commits(store)
    plans = [store.plan("a"), spoiled(store, "x"), store.plan("b"), store.plan("c")]

    answers = at_once(store, plans)

    assert verdicts(answers)[0::2] == [Verdict.CREATED, Verdict.CREATED]
    assert isinstance(answers[1], RuntimeError)
    assert [job.id for job in store.get("a", "x", "b", "c")] == ["a", "b", "c"]
    assert store.counts() == {"waiting": 3}
    assert len(seen) == 3


def test_a_plan_that_fails_before_it_writes_does_not_even_split_the_group(store):
    seen = commits(store)

    answers = at_once(store, [store.plan("a"), spoiled(store, "x", before=True), store.plan("b")])

    assert isinstance(answers[1], RuntimeError)
    assert len(seen) == 1
    assert store.counts() == {"waiting": 2}


def test_numbers_are_right_after_a_group_was_rolled_back(store):
    store.enqueue("first")
    at_once(store, [store.plan("a"), spoiled(store, "x")])
    store.enqueue("b")

    drawn, used = store.writer.committer.session.connection.execute(
        "SELECT (SELECT n FROM counters WHERE queue = ''), max(seq) FROM jobs"
    ).fetchone()
    assert drawn == used
    assert [job.id for job in store.claim(9)] == ["first", "a", "b"]


def test_plans_of_one_group_see_each_other(store):
    claim = Claim(queues=("q",), limit=5, lease=60_000_000, worker="w", nonce=1)

    _, claimed = at_once(store, [store.plan("a"), store.driver.claiming.claim(claim)])

    assert [job.id for job in claimed.jobs] == ["a"]


def test_plans_of_one_group_see_each_others_counts(store):
    cancel = store.driver.steering.cancel(Cancel(filter=Filter()))

    _, cancelled = at_once(store, [store.plan("a"), cancel])

    assert cancelled.ids == ("a",)


async def test_cancelled_calls_leave_everything_consistent(store):
    store.enqueue("first")
    tasks = [asyncio.create_task(store.driver.arun(store.plan(f"{n}"))) for n in range(300)]
    await asyncio.sleep(0)
    for number, task in enumerate(tasks):
        if number % 3:
            task.cancel()
        if number % 50 == 0:
            await asyncio.sleep(0.001)
    answers = await asyncio.gather(*tasks, return_exceptions=True)

    # The store works on, and what was acknowledged is there.
    await store.driver.arun(store.plan("last"))
    acknowledged = {str(n) for n, answer in enumerate(answers) if isinstance(answer, tuple)}
    found = {job.id for job in store.get(*map(str, range(300)))}
    assert len(acknowledged) >= 100
    assert acknowledged <= found
    assert store.counts() == {"waiting": len(found) + 2}


async def test_a_call_cancelled_before_its_turn_is_not_performed(store):
    store.enqueue("first")
    with kept_waiting(store.writer):
        task = asyncio.create_task(store.driver.arun(store.plan("never")))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    await store.driver.arun(store.plan("last"))

    assert [job.id for job in store.get("never", "last")] == ["last"]


async def test_a_loop_that_was_closed_does_not_stop_the_others(store):
    store.enqueue("first")
    other = asyncio.new_event_loop()
    with kept_waiting(store.writer):
        gone = other.create_task(store.driver.arun(store.plan("of a closed loop")))
        other.call_soon(other.stop)
        await asyncio.to_thread(other.run_forever)
        mine = asyncio.create_task(store.driver.arun(store.plan("mine")))
        await asyncio.sleep(0)
        gone.cancel()
        other.call_soon(other.stop)
        await asyncio.to_thread(other.run_forever)
        other.close()

    assert (await mine)[0].verdict is Verdict.CREATED


def test_an_interrupted_leader_leaves_the_others_served(store):
    store.enqueue("first")
    plans = [store.plan("one"), spoiled(store, "x", error=KeyboardInterrupt), store.plan("two")]

    answers = at_once(store, plans)

    # Whoever led when the second was performed was interrupted; the rest have their answers.
    assert sum(isinstance(answer, KeyboardInterrupt) for answer in answers) >= 1
    assert store.get("x") == ()
    assert {job.id for job in store.get("one", "two")} >= {
        job_id
        for job_id, answer in zip(("one", "x", "two"), answers, strict=True)
        if isinstance(answer, tuple)
    }
    assert store.enqueue("after")[0].verdict is Verdict.CREATED


def test_a_leader_interrupted_after_the_commit_still_tells_the_others(store, monkeypatch):
    store.enqueue("first")
    session = store.writer.committer.session
    commit = type(session).commit

    def interrupted_commit(self):
        commit(self)
        raise KeyboardInterrupt

    monkeypatch.setattr(type(session), "commit", interrupted_commit)
    with ThreadPoolExecutor(2) as pool:
        with kept_waiting(store.writer):
            tasks = [pool.submit(store.driver.run, store.plan(name)) for name in "ab"]
            wait_until(lambda: len(store.writer._line) == 2)
        errors = [task.exception(30) for task in tasks]
        monkeypatch.undo()

    # One of them led and was interrupted; the other has its answer, and both jobs are there.
    assert sorted(type(error).__name__ for error in errors) == ["KeyboardInterrupt", "NoneType"]
    assert len(store.get("a", "b")) == 2


def test_a_leader_interrupted_among_single_turns_repeats_none(store, monkeypatch):
    store.enqueue("first")
    performed = []

    def counted(name):
        def start():
            performed.append(name)
            yield from store.plan(name).start()

        return Plan("counted", None, start)

    plans = [counted("a"), spoiled(store, "x"), spoiled(store, "y", error=KeyboardInterrupt)]
    at_once(store, plans)

    # Once with the group, once alone; the interrupt came after that.
    assert performed == ["a", "a"]
    assert len(store.get("a")) == 1


def test_text_that_is_none_is_refused(store):
    claim = Claim(queues=("q",), limit=1, lease=60_000_000, worker="half \ud800", nonce=1)
    store.enqueue("a")

    with pytest.raises(BadInput, match="surrogate"):
        store.driver.run(store.driver.claiming.claim(claim))

    assert store.counts() == {"waiting": 1}


def test_closing_performs_what_was_accepted(path):
    driver = open_sqlite(path)
    driver.run(driver.inspecting.find(Find()))

    async def main():
        store = Store(driver, path)
        with kept_waiting(store.writer):
            task = asyncio.create_task(driver.arun(store.plan("a")))
            await asyncio.sleep(0)
        await asyncio.to_thread(driver.close)
        return await task

    ((answer,),) = [asyncio.run(main())]

    assert answer.verdict is Verdict.CREATED


def test_a_closed_store_says_so(store):
    store.enqueue("a")
    store.driver.close()
    store.driver.close()

    with pytest.raises(StoreUnavailable, match="was closed"):
        store.enqueue("b")
    with pytest.raises(StoreUnavailable, match="was closed"):
        store.get("a")


@pytest.fixture
def impatient(path, monkeypatch):
    """A store that does not wait long for locks."""
    monkeypatch.setattr(connection_module, "BUSY_SECONDS", 0.05)
    monkeypatch.setattr(committer_module, "PATIENCE", 0.1)
    driver = open_sqlite(path, mode="volatile")
    yield Store(driver, path)
    driver.close()


def test_a_file_locked_by_another_program_is_unavailable_for_everyone_in_line(impatient):
    impatient.enqueue("first")
    other = sqlite3.connect(impatient.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    answers = at_once(impatient, [impatient.plan("a"), impatient.plan("b")])

    assert [type(answer) for answer in answers] == [StoreUnavailable, StoreUnavailable]
    assert "locked" in str(answers[0])
    other.execute("ROLLBACK")
    other.close()
    assert impatient.enqueue("a")[0].verdict is Verdict.CREATED


def test_a_process_that_keeps_the_turnstile_is_named(impatient):
    impatient.enqueue("first")
    other = open_sqlite(impatient.path)
    other.transport._writer.committer.turnstile.enter(1)

    with pytest.raises(StoreUnavailable, match="another process has kept"):
        impatient.enqueue("a")

    other.transport._writer.committer.turnstile.leave()
    other.close()
    assert impatient.enqueue("a")[0].verdict is Verdict.CREATED


def test_a_full_disk_is_named_and_loses_nothing(store):
    store.enqueue("first")
    connection = store.writer.committer.session.connection
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")

    with pytest.raises(StoreFull, match="Free some disk space"):
        store.enqueue("big", payload=b"x" * 1_000_000)

    # A connection whose disk was full is opened anew.
    assert store.enqueue("small")[0].verdict is Verdict.CREATED
    assert store.counts() == {"waiting": 2}
