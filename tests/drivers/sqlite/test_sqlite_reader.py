"""Reads run beside the writer, each on one snapshot, and change nothing."""

import asyncio
import threading

import pytest
from sqlite_stage import kept_waiting

from oxmill.drivers.sql.steps import Look, Statement
from oxmill.drivers.sqlite.reader import THREADS
from oxmill.errors import StoreRefused
from oxmill.model.query import Find
from oxmill.store.plan import Plan


def test_a_read_sees_one_moment(store):
    store.enqueue("a")

    def count(connection):
        return connection.execute("SELECT count(*) FROM jobs").fetchone()[0]

    def look_twice():
        before = yield Look(count)
        store.enqueue("b")
        after = yield Look(count)
        return before, after

    assert store.driver.run(Plan("look", None, look_twice, writes=False)) == (1, 1)
    assert len(store.get("a", "b")) == 2


def test_a_read_cannot_write(store):
    store.enqueue("a")

    def delete():
        yield Statement("delete_jobs", {"seqs": "[1]"})

    with pytest.raises(StoreRefused, match="readonly"):
        store.driver.run(Plan("delete", None, delete, writes=False))

    assert len(store.get("a")) == 1


def test_a_read_does_not_wait_for_the_writer(store):
    store.enqueue("a")
    with kept_waiting(store.writer):
        assert [job.id for job in store.get("a")] == ["a"]


async def test_async_reads_use_few_threads_and_connections(store):
    store.enqueue("a")
    find, before = store.driver.inspecting.find, set(threading.enumerate())  # also other tests'

    pages = await asyncio.gather(*(store.driver.arun(find(Find())) for _ in range(50)))

    assert {len(page.jobs) for page in pages} == {1}
    names = [thread.name for thread in set(threading.enumerate()) - before]
    assert 1 <= sum("oxmill-sqlite-reader" in name for name in names) <= THREADS
    assert len(store.driver.transport._readers._idle) <= THREADS


def test_a_failed_read_leaves_the_connection_usable(store):
    store.enqueue("a")

    def fail():
        yield Statement("window_all", {"below": 9, "most": 1})
        raise ValueError("of the plan")

    with pytest.raises(ValueError, match="of the plan"):
        store.driver.run(Plan("fail", None, fail, writes=False))

    assert len(store.get("a")) == 1
    assert len(store.driver.transport._readers._idle) == 1
