"""Jobs that complete themselves in a transaction of their own."""

import asyncio
import sqlite3
import threading
import time
from contextlib import closing

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from oxmill import App, LostLease, OtherDatabase, TooBig, current
from oxmill.model.state import State
from oxmill.observe.events import LeaseLost
from oxmill.queue.context import Context
from transaction_stage import Stage, killed_after_commit, wait_until


@pytest.fixture
def stage(tmp_path):
    path = tmp_path / "shop.db"
    with App(f"sqlite:///{path}") as app:
        stage = Stage(app, path)
        stage.lost = []
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE orders (name TEXT)")
        yield stage


def orders(stage):
    with closing(sqlite3.connect(stage.path)) as connection:
        return [name for (name,) in connection.execute("SELECT name FROM orders")]


def run(stage, job, until=None, **options):
    """Run a worker until the job has ended, or until told."""
    with stage.app.running(**options) as worker:
        worker.bus.subscribe(stage.lost.append, LeaseLost)
        wait_until(until or (lambda: ended(stage, job)))
    assert stage.lost == []
    return stage.record(job.id)


def ended(stage, job):
    record = stage.record(job.id)
    return record is None or record.state not in (State.WAITING, State.RUNNING, State.SCHEDULED)


def write(connection, name):
    connection.execute("INSERT INTO orders VALUES (?)", (name,))


def test_both_are_committed(stage):
    @stage.app.task
    def bill(name: str) -> str:
        with closing(sqlite3.connect(stage.path)) as connection:
            write(connection, name)
            current().complete_in(connection, "of the transaction")
            connection.commit()
        return "of the run"

    record = run(stage, bill.enqueue("one"))
    assert record.state is State.SUCCEEDED
    assert record.attempt == 1
    assert bill.read_result(record) == "of the transaction"
    assert orders(stage) == ["one"]
    assert stage.count()[State.SUCCEEDED] == 1


def test_rolled_back_the_run_goes_on(stage):
    @stage.app.task
    def bill(name: str) -> str:
        with closing(sqlite3.connect(stage.path)) as connection:
            write(connection, name)
            current().complete_in(connection, "of the transaction")
            connection.rollback()
        return "of the run"

    record = run(stage, bill.enqueue("one"))
    assert bill.read_result(record) == "of the run"
    assert record.state is State.SUCCEEDED
    assert orders(stage) == []


def test_rolled_back_by_an_exception_it_is_tried_again(stage):
    @stage.app.task(retry=2)
    def bill(name: str) -> None:
        with closing(sqlite3.connect(stage.path)) as connection, connection:
            write(connection, name)
            current().complete_in(connection)
            if current().attempt == 1:
                raise ZeroDivisionError

    job = bill.enqueue("one")
    with stage.app.running():
        wait_until(lambda: stage.record(job.id).failures == 1)
    record = stage.record(job.id)
    assert record.state is State.SCHEDULED
    assert orders(stage) == []


@pytest.mark.parametrize("keep", [None, 0])
def test_an_exception_after_the_commit_changes_nothing(stage, keep):
    @stage.app.task(keep=keep)
    def bill(name: str) -> None:
        with closing(sqlite3.connect(stage.path)) as connection:
            write(connection, name)
            current().complete_in(connection)
            connection.commit()
        raise ZeroDivisionError

    job = bill.enqueue("one")
    with stage.app.running() as worker:
        worker.bus.subscribe(stage.lost.append, LeaseLost)
        wait_until(lambda: worker.metrics.settled == 1)
    record = stage.record(job.id)
    assert stage.lost == []
    assert orders(stage) == ["one"]
    if keep == 0:
        assert record is None
    else:
        assert (record.state, record.failures) == (State.SUCCEEDED, 0)


@pytest.mark.parametrize("keep", [None, 0])
@pytest.mark.parametrize("kind", ["thread", "loop"])
def test_a_run_goes_on_after_its_commit_however_long(stage, keep, kind):
    """Renewals find no lease any more, which is no reason to stop the run."""
    going_on, end, holds = threading.Event(), threading.Event(), []

    def start(name):
        holds.append(current()._hold)
        with closing(sqlite3.connect(stage.path)) as connection:
            write(connection, name)
            current().complete_in(connection)
            connection.commit()
        going_on.set()

    if kind == "thread":

        @stage.app.task(keep=keep)
        def bill(name: str) -> None:
            start(name)
            while not end.wait(0.01):
                current().ensure_lease()
            stage.ran.append("end")

    else:

        @stage.app.task(keep=keep)
        async def bill(name: str) -> None:
            start(name)
            while not end.is_set():
                current().ensure_lease()
                await asyncio.sleep(0.01)
            stage.ran.append("end")

    job = bill.enqueue("one")
    with stage.app.running(lease="600ms") as worker:
        worker.bus.subscribe(stage.lost.append, LeaseLost)
        try:
            assert going_on.wait(20)
            (run,) = holds
            wait_until(lambda: run.settled)
            ended = time.monotonic() + 1  # longer than the lease
            wait_until(lambda: time.monotonic() > ended)
            assert run.why is None
        finally:
            end.set()
        wait_until(lambda: worker.metrics.settled == 1)
    assert stage.ran == ["end"]
    assert stage.lost == []
    record = stage.record(job.id)
    assert record is None if keep == 0 else record.state is State.SUCCEEDED


def test_a_lease_that_is_lost_after_a_rollback_stops_the_run(stage):
    """A renewal that finds no lease is not taken for the run's own completion."""
    going_on = threading.Event()

    @stage.app.task
    async def bill() -> None:
        with closing(sqlite3.connect(stage.path)) as connection:
            current().complete_in(connection)
            connection.rollback()
        going_on.set()
        await asyncio.Event().wait()

    job = bill.enqueue()
    with stage.app.running(lease="600ms") as worker:
        worker.bus.subscribe(stage.lost.append, LeaseLost)
        assert going_on.wait(20)
        with closing(sqlite3.connect(stage.path)) as connection, connection:
            connection.execute("UPDATE jobs SET attempt = attempt + 1, nonce = nonce + 1")
        wait_until(lambda: stage.lost)
    assert [(lost.job, lost.at) for lost in stage.lost] == [(job.id, "renewal")]


def test_a_lease_that_is_lost_cannot_complete(stage):
    @stage.app.task
    def bill(name: str) -> None: ...

    job = bill.enqueue("one")
    first = stage.app.queue("default").lease("1ms")
    wait_until(lambda: stage.app.queue("default").lease("60s") is not None)
    with closing(sqlite3.connect(stage.path)) as connection:
        write(connection, "one")
        with pytest.raises(LostLease, match="roll back"):
            Context(first.job, None, bill).complete_in(connection)
        connection.rollback()
    assert stage.record(job.id).state is State.RUNNING


def test_another_database_is_refused(stage, tmp_path):
    told = []

    @stage.app.task(retry=None)
    def bill() -> str:
        engine = sa.create_engine(f"sqlite:///{tmp_path}/other.db")
        for connection in (sqlite3.connect(tmp_path / "other.db"), Session(engine)):
            try:
                current().complete_in(connection)
            except OtherDatabase as error:
                told.append(str(error))
            connection.close()
        engine.dispose()
        return "of the run"

    record = run(stage, bill.enqueue())
    assert bill.read_result(record) == "of the run"
    assert len(told) == 2
    assert all("complete_in needs a connection to the store itself" in text for text in told)


def test_a_result_that_is_too_big_is_refused_at_once(stage):
    told = []

    @stage.app.task
    def bill() -> str:
        with closing(sqlite3.connect(stage.path)) as connection:
            try:
                current().complete_in(connection, "x" * 20_000_000)
            except TooBig as error:
                told.append(error)
        return "of the run"

    record = run(stage, bill.enqueue())
    assert told
    assert bill.read_result(record) == "of the run"


def test_sessions_of_sqlalchemy(stage):
    engine = sa.create_engine(f"sqlite:///{stage.path}")
    async_engine = create_async_engine(f"sqlite+aiosqlite:///{stage.path}")
    insert = sa.text("INSERT INTO orders VALUES ('one')")

    @stage.app.task
    def bill() -> None:
        with Session(engine) as session, session.begin():
            session.execute(insert)
            current().complete_in(session)

    @stage.app.task
    async def abill() -> None:
        async with AsyncSession(async_engine) as session, session.begin():
            await session.execute(insert)
            await current().acomplete_in(session)

    jobs = [bill.enqueue(), abill.enqueue()]
    with stage.app.running() as worker:
        worker.bus.subscribe(stage.lost.append, LeaseLost)
        wait_until(lambda: all(ended(stage, job) for job in jobs))
    engine.dispose()
    asyncio.run(async_engine.dispose())
    assert [stage.record(job.id).state for job in jobs] == [State.SUCCEEDED] * 2
    assert orders(stage) == ["one", "one"]
    assert stage.lost == []


@pytest.mark.parametrize("where", ["worker", "child"])
def test_a_kill_between_the_commit_and_the_settlement_runs_nothing_twice(stage, where):
    killed_after_commit(stage, where, f"sqlite3.connect({str(stage.path)!r})", stage.path.parent)
    assert orders(stage) == ["one"]
