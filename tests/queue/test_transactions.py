"""Jobs enqueued in a transaction of the caller's: on SQLite, where the jobs and the orders share a
file."""

import asyncio
import os
import sqlite3
from contextlib import closing, suppress
from dataclasses import replace

import aiosqlite
import pytest
import sqlalchemy as sa
from django.db import connections, transaction
from django.utils.connection import ConnectionProxy
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session, scoped_session, sessionmaker

from oxmill import (
    App,
    DuplicateJob,
    IdConflict,
    NoTransaction,
    OtherDatabase,
    OxmillError,
    SchemaMismatch,
    StoreUnavailable,
    Unique,
    WrongContext,
)
from oxmill.errors import BadInput
from oxmill.store.bells import LocalDoorbell
from oxmill.store.doorbell import work
from transaction_stage import Stage, django_connection


@pytest.fixture
def stage(tmp_path):
    path = tmp_path / "shop.db"
    with App(f"sqlite:///{path}") as app:
        yield made(Stage(app, path))


def made(stage):
    """The store is there, and so is a table of the caller's."""
    with closing(sqlite3.connect(stage.path)) as connection:
        stage.send.enqueue("first")
        connection.execute("CREATE TABLE orders (name TEXT)")
        connection.commit()
    stage.app.control.purge(queue="default")
    return stage


@pytest.fixture
def connection(stage):
    with closing(sqlite3.connect(stage.path, timeout=0.2)) as connection:
        yield connection


def orders(stage):
    with closing(sqlite3.connect(stage.path)) as connection:
        return [name for (name,) in connection.execute("SELECT name FROM orders")]


# -- sqlite3 ---------------------------------------------------------------------------------------


def test_a_job_is_there_once_the_caller_commits(stage, connection):
    connection.execute("INSERT INTO orders VALUES ('one')")
    job = stage.send.using(connection=connection).enqueue("ann")
    assert job.created
    assert stage.there() == []
    connection.commit()
    assert stage.there() == ["ann"]
    assert orders(stage) == ["one"]
    assert {state.value: n for state, n in stage.count().items()} == {"waiting": 1}


def test_what_is_rolled_back_was_never_there(stage, connection):
    connection.execute("INSERT INTO orders VALUES ('one')")
    job = stage.send.using(connection=connection).enqueue("ann")
    connection.rollback()
    assert stage.there() == orders(stage) == []
    assert stage.record(job.id) is None
    assert not any(stage.count().values())


def test_a_connection_that_would_begin_by_itself_is_begun(stage, connection):
    stage.send.using(connection=connection).enqueue("ann")
    assert connection.in_transaction
    connection.rollback()
    assert stage.there() == []


def test_a_connection_that_commits_each_statement_is_refused(stage, connection):
    connection.isolation_level = None
    with pytest.raises(NoTransaction, match="BEGIN IMMEDIATE"):
        stage.send.using(connection=connection).enqueue("ann")
    assert not connection.in_transaction
    connection.execute("BEGIN")
    stage.send.using(connection=connection).enqueue("ann")
    connection.execute("COMMIT")
    assert stage.there() == ["ann"]


@pytest.mark.skipif(not hasattr(sqlite3.Connection, "autocommit"), reason="since Python 3.12")
@pytest.mark.parametrize("autocommit", [True, False])
def test_the_newer_autocommit_decides(stage, autocommit):
    with closing(sqlite3.connect(stage.path, autocommit=autocommit)) as connection:
        if autocommit:
            with pytest.raises(NoTransaction):
                stage.send.using(connection=connection).enqueue("ann")
        else:
            stage.send.using(connection=connection).enqueue("ann")
            connection.rollback()
            assert stage.there() == []


def test_savepoints_of_the_caller_hold(stage, connection):
    connection.execute("INSERT INTO orders VALUES ('one')")
    stage.send.using(connection=connection).enqueue("kept")
    connection.execute("SAVEPOINT mine")
    stage.send.using(connection=connection).enqueue("dropped")
    connection.execute("ROLLBACK TO mine")
    connection.commit()
    assert stage.there() == ["kept"]
    assert sum(stage.count().values()) == 1


def test_settings_of_the_connection_neither_disturb_nor_change(stage, connection):
    class Odd(sqlite3.Cursor):
        def execute(self, *_):
            raise AssertionError("the caller's cursor class was used")

    class Mine(sqlite3.Connection):
        def cursor(self, factory=Odd):
            return super().cursor(factory)

        def execute(self, *_):
            raise AssertionError("the caller's method was used")

    def rows(_cursor, row):
        return {"row": row}

    with closing(sqlite3.connect(stage.path, factory=Mine)) as odd:
        odd.row_factory = rows
        odd.text_factory = bytes
        keyed = stage.send.using(connection=odd, unique="k", fields={"user": 7}, tags=["t"])
        first, second = keyed.enqueue("ann"), keyed.enqueue("bob")
        assert first.created
        assert not second.created
        assert first == second
        assert odd.row_factory is rows
        assert odd.text_factory is bytes
        odd.commit()
    assert stage.there() == ["ann"]


def test_jobs_of_the_transaction_are_seen_by_it(stage, connection):
    """Unique keys and ids are judged with what the transaction itself has written."""
    tx = stage.send.using(connection=connection, id="one")
    assert tx.enqueue("ann").created
    assert not tx.enqueue("ann").created
    with pytest.raises(IdConflict):
        tx.enqueue("bob")
    told = stage.send.using(connection=connection, unique=Unique("k", on_conflict="raise"))
    told.enqueue("cid")
    with pytest.raises(DuplicateJob):
        told.enqueue("dan")
    connection.commit()
    assert stage.there() == ["ann", "cid"]


def test_many_jobs_in_one_transaction(stage, connection):
    jobs = stage.send.using(connection=connection).map([(f"m{n}",) for n in range(2_500)])
    assert len(jobs) == 2_500
    assert stage.there() == []
    connection.rollback()
    stage.send.using(connection=connection).map([("a",), ("b",)])
    tx = stage.send.using(connection=connection)
    stage.app.enqueue_many([tx.bind("c"), tx.bind("d")])
    assert stage.app.load([tx.bind("e")]).created == 1
    connection.commit()
    assert stage.there() == ["a", "b", "c", "d", "e"]


def test_calls_of_several_connections_do_not_mix(stage, connection):
    tx = stage.send.using(connection=connection)
    with pytest.raises(BadInput, match="another connection"):
        stage.app.enqueue_many([tx.bind("a"), stage.send.bind("b")])
    connection.rollback()
    assert stage.there() == []


def test_items_of_a_work_queue(stage, connection):
    queue = stage.app.queue("items")
    assert queue.add(b"x", id="1", connection=connection)
    assert not queue.add(b"x", id="1", connection=connection)
    assert queue.add_json({"n": 1}, connection=connection)
    assert len(queue) == 0
    connection.commit()
    assert len(queue) == 2
    with pytest.raises(BadInput):
        queue.item(b"x", connection=connection)


def test_another_file_is_refused(stage, tmp_path):
    with closing(sqlite3.connect(tmp_path / "other.db")) as other:
        with pytest.raises(OtherDatabase, match=r"other\.db.*after your commit"):
            stage.send.using(connection=other).enqueue("ann")
        assert not other.in_transaction
    with (
        closing(sqlite3.connect(":memory:")) as memory,
        pytest.raises(OtherDatabase, match="in memory"),
    ):
        stage.send.using(connection=memory).enqueue("ann")


def test_the_file_is_known_by_any_of_its_names(stage, tmp_path):
    (tmp_path / "alias.db").symlink_to(stage.path)
    os.link(stage.path, tmp_path / "hard.db")
    with closing(sqlite3.connect(tmp_path / "alias.db")) as connection:
        stage.send.using(connection=connection).enqueue("ann")
        connection.commit()
    assert stage.there() == ["ann"]


def test_what_is_no_connection_at_all_is_refused(stage):
    with pytest.raises(OtherDatabase, match="builtins"):
        stage.send.using(connection=object()).enqueue("ann")


def test_a_plan_that_fails_leaves_the_transaction_as_it_was(stage, connection):
    connection.execute("INSERT INTO orders VALUES ('one')")
    with pytest.raises(OxmillError):
        stage.send.using(connection=connection, id="\ud800").enqueue("ann")
    connection.execute(
        "CREATE TEMP TRIGGER no BEFORE INSERT ON fields BEGIN SELECT RAISE(ABORT, 'x'); END"
    )
    with pytest.raises(OxmillError, match="x"):
        stage.send.using(connection=connection, fields={"user": 7}).enqueue("ann")
    assert connection.in_transaction
    stage.send.using(connection=connection).enqueue("bob")
    connection.commit()
    assert orders(stage) == ["one"]
    assert stage.there() == ["bob"]


def test_a_plan_that_fails_leaves_no_transaction_where_there_was_none(stage, connection):
    connection.execute("CREATE TEMP TABLE seen (n)")
    connection.execute(
        "CREATE TEMP TRIGGER no BEFORE INSERT ON jobs BEGIN SELECT RAISE(ABORT, 'x'); END"
    )
    with pytest.raises(OxmillError, match="x"):
        stage.send.using(connection=connection).enqueue("ann")
    assert not connection.in_transaction


def test_a_locked_file_is_told_and_nothing_begun(stage, connection):
    with closing(sqlite3.connect(stage.path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable):
            stage.send.using(connection=connection).enqueue("ann")
    assert not connection.in_transaction


def test_a_store_that_was_never_used_is_made(tmp_path):
    path = tmp_path / "new.db"
    with closing(App(f"sqlite:///{path}")) as app, closing(sqlite3.connect(path)) as connection:
        stage = Stage(app, path)
        stage.send.using(connection=connection).enqueue("ann")
        connection.commit()
        assert stage.there() == ["ann"]


def test_a_store_that_cannot_be_made_meanwhile_says_so(tmp_path):
    path = tmp_path / "new.db"
    with closing(App(f"sqlite:///{path}")) as app, closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE orders (name TEXT)")
        connection.execute("INSERT INTO orders VALUES ('one')")
        with pytest.raises(SchemaMismatch, match="oxmill db migrate"):
            Stage(app, path).send.using(connection=connection).enqueue("ann")
        assert connection.in_transaction


async def test_a_blocking_call_with_a_connection_is_allowed_on_the_loop(stage, connection):
    stage.send.using(connection=connection).enqueue("ann")
    await stage.send.using(connection=connection).aenqueue("bob")
    await stage.send.using(connection=connection).amap([("cid",)])
    connection.commit()
    assert await asyncio.to_thread(stage.there) == ["ann", "bob", "cid"]


# -- aiosqlite -------------------------------------------------------------------------------------


async def test_aiosqlite(stage):
    async with aiosqlite.connect(stage.path) as connection:
        connection.row_factory = aiosqlite.Row
        await stage.send.using(connection=connection).aenqueue("ann")
        assert connection.in_transaction
        await connection.rollback()
        await stage.send.using(connection=connection).aenqueue("bob")
        with pytest.raises(WrongContext, match="aenqueue"):
            stage.send.using(connection=connection).enqueue("cid")
        await connection.commit()
    assert await asyncio.to_thread(stage.there) == ["bob"]


# -- SQLAlchemy ------------------------------------------------------------------------------------


@pytest.fixture
def engine(stage):
    engine = sa.create_engine(f"sqlite:///{stage.path}")
    yield engine
    engine.dispose()


INSERT = sa.text("INSERT INTO orders VALUES ('one')")


def test_a_session(stage, engine):
    with Session(engine) as session:
        session.execute(INSERT)
        stage.send.using(connection=session).enqueue("ann")
        assert stage.there() == []
        session.commit()
        stage.send.using(connection=session).enqueue("bob")
        session.rollback()
    assert stage.there() == ["ann"]
    assert orders(stage) == ["one"]


def test_a_scoped_session(stage, engine):
    session = scoped_session(sessionmaker(engine))
    stage.send.using(connection=session).enqueue("ann")
    session.commit()
    stage.send.using(connection=session).enqueue("bob")
    session.remove()
    assert stage.there() == ["ann"]


def test_a_connection_of_sqlalchemy(stage, engine):
    with engine.connect() as connection:
        stage.send.using(connection=connection).enqueue("ann")
        assert connection.in_transaction()
        connection.commit()
        stage.send.using(connection=connection).enqueue("bob")
    with engine.begin() as connection:
        stage.send.using(connection=connection).enqueue("cid")
    assert stage.there() == ["ann", "cid"]


def test_autocommit_of_sqlalchemy_is_refused(stage, engine):
    with (
        engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection,
        pytest.raises(NoTransaction),
    ):
        stage.send.using(connection=connection).enqueue("ann")
    assert stage.there() == []


async def test_async_sessions_and_connections(stage):
    engine = create_async_engine(f"sqlite+aiosqlite:///{stage.path}")
    async with AsyncSession(engine) as session:
        await session.execute(INSERT)
        await stage.send.using(connection=session).aenqueue("ann")
        await session.commit()
        await stage.send.using(connection=session).aenqueue("bob")
        with pytest.raises(WrongContext, match="aenqueue"):
            stage.send.using(connection=session).enqueue("bob")
    async with engine.begin() as connection:
        await stage.send.using(connection=connection).aenqueue("cid")
        await connection.run_sync(lambda inner: stage.send.using(connection=inner).enqueue("dan"))
    await engine.dispose()
    assert await asyncio.to_thread(stage.there) == ["ann", "cid", "dan"]


@pytest.fixture
def bell(stage):
    """Rung by calls in this process alone; SQLite's own doorbell also looks at the file."""
    driver = replace(stage.app.driver, doorbell=LocalDoorbell())
    with stage.app._client.lend(driver), driver.doorbell.listen((work("default"),)) as bell:
        yield bell


def test_the_bell_rings_after_the_commit(stage, engine, bell):
    with Session(engine) as session:
        stage.send.using(connection=session).enqueue("ann")
        assert not bell.wait(0)
        session.commit()
        assert bell.wait(5)
        stage.send.using(connection=session).enqueue("bob")
        session.rollback()
        session.execute(INSERT)
        session.commit()
        assert not bell.wait(0)


# -- Django ----------------------------------------------------------------------------------------


def test_django(stage):
    with django_connection("django.db.backends.sqlite3", NAME=stage.path) as connection:
        tx = stage.send.using(connection=connection)
        with pytest.raises(NoTransaction, match="atomic"):
            tx.enqueue("nobody")
        with transaction.atomic(using="oxmill"):
            with connection.cursor() as cursor:
                cursor.execute("INSERT INTO orders VALUES ('one')")
            tx.enqueue("ann")
            stage.send.using(connection=ConnectionProxy(connections, "oxmill")).enqueue("bob")
            with suppress(ZeroDivisionError), transaction.atomic(using="oxmill"):
                tx.enqueue("dropped")
                raise ZeroDivisionError
            assert stage.there() == []
        with suppress(ZeroDivisionError), transaction.atomic(using="oxmill"):
            tx.enqueue("nobody")
            raise ZeroDivisionError
    assert stage.there() == ["ann", "bob"]
    assert orders(stage) == ["one"]


def test_the_bell_rings_after_djangos_commit(stage, bell):
    with django_connection("django.db.backends.sqlite3", NAME=stage.path) as connection:
        with transaction.atomic(using="oxmill"):
            stage.send.using(connection=connection).enqueue("ann")
            assert not bell.wait(0)
        assert bell.wait(5)
