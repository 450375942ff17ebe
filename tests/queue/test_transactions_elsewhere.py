"""The jobs are in another store than the caller's database: they are enqueued after the commit."""

import asyncio
import logging
import sqlite3
from contextlib import closing, suppress

import pytest
import sqlalchemy as sa
from django.db import transaction
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from oxmill import App, NoTransaction, OtherDatabase, StoreUnavailable, Unique
from transaction_stage import Stage, django_connection


@pytest.fixture(params=["memory", "file"])
def stage(request, tmp_path):
    """Jobs in memory, or in another file than the orders."""
    url = "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/jobs.db"
    with App(url) as app:
        yield Stage(app, tmp_path / "shop.db")


@pytest.fixture
def engine(stage):
    engine = sa.create_engine(f"sqlite:///{stage.path}")
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE orders (name TEXT)"))
    yield engine
    engine.dispose()


INSERT = sa.text("INSERT INTO orders VALUES ('one')")


def test_a_session_enqueues_after_its_commit(stage, engine):
    with Session(engine) as session:
        session.execute(INSERT)
        job = stage.send.using(connection=session).enqueue("ann")
        stage.send.using(connection=session).map([("bob",), ("cid",)])
        assert stage.there() == []
        session.commit()
        assert stage.there() == ["ann", "bob", "cid"]
        assert stage.record(job.id) is not None
        session.commit()
        stage.send.using(connection=session).enqueue("dan")
        session.rollback()
        session.execute(INSERT)
        session.commit()
    assert stage.there() == ["ann", "bob", "cid"]


def test_a_session_that_is_only_closed_enqueues_nothing(stage, engine):
    with Session(engine) as session:
        stage.send.using(connection=session).enqueue("ann")
    with engine.connect() as connection:
        stage.send.using(connection=connection).enqueue("bob")
    assert stage.there() == []


def test_savepoints(stage, engine):
    with Session(engine) as session:
        outer = session.begin_nested()
        stage.send.using(connection=session).enqueue("ann")
        inner = session.begin_nested()
        stage.send.using(connection=session).enqueue("dropped")
        inner.rollback()
        kept = session.begin_nested()
        stage.send.using(connection=session).enqueue("bob")
        kept.commit()
        assert stage.there() == []
        outer.commit()
        assert stage.there() == []
        with suppress(ZeroDivisionError), session.begin_nested():
            stage.send.using(connection=session).enqueue("dropped")
            raise ZeroDivisionError
        session.commit()
    assert stage.there() == ["ann", "bob"]


def test_an_outer_savepoint_takes_the_inner_ones_along(stage, engine):
    with engine.begin() as connection:
        outer = connection.begin_nested()
        stage.send.using(connection=connection).enqueue("dropped")
        inner = connection.begin_nested()
        stage.send.using(connection=connection).enqueue("dropped")
        inner.commit()
        outer.rollback()
        stage.send.using(connection=connection).enqueue("ann")
    assert stage.there() == ["ann"]


def test_the_outermost_commit_counts(stage, engine):
    """A session inside a transaction of somebody else's does not commit by its own commit."""
    with engine.connect() as connection:
        outer = connection.begin()
        with Session(connection, join_transaction_mode="create_savepoint") as session:
            stage.send.using(connection=session).enqueue("ann")
            session.commit()
        assert stage.there() == []
        outer.rollback()
        assert stage.there() == []
        with connection.begin(), Session(connection) as session:
            stage.send.using(connection=session).enqueue("bob")
            session.commit()
            assert stage.there() == []
    assert stage.there() == ["bob"]


def test_a_commit_that_fails_enqueues_nothing(stage, engine):
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE a (n PRIMARY KEY)"))
        connection.execute(sa.text("CREATE TABLE b (n REFERENCES a DEFERRABLE INITIALLY DEFERRED)"))
    with Session(engine) as session:
        session.execute(sa.text("PRAGMA foreign_keys = ON"))
        session.execute(sa.text("INSERT INTO b VALUES (1)"))
        stage.send.using(connection=session).enqueue("ann")
        with pytest.raises(sa.exc.IntegrityError):
            session.commit()
        session.rollback()
        assert stage.there() == []
        stage.send.using(connection=session).enqueue("bob")
        session.commit()
    assert stage.there() == ["bob"]


async def test_async_sessions(stage, engine):
    async_engine = create_async_engine(f"sqlite+aiosqlite:///{stage.path}")
    async with AsyncSession(async_engine) as session:
        await session.execute(INSERT)
        await stage.send.using(connection=session).aenqueue("ann")
        assert await asyncio.to_thread(stage.there) == []
        await session.commit()
        assert await asyncio.to_thread(stage.there) == ["ann"]
        await stage.send.using(connection=session).aenqueue("bob")
    async with async_engine.begin() as connection:
        await stage.send.using(connection=connection).aenqueue("cid")
    await async_engine.dispose()
    assert await asyncio.to_thread(stage.there) == ["ann", "cid"]


def test_what_goes_wrong_after_the_commit_is_told(stage, engine, caplog, monkeypatch):
    def refuse(_plan):
        raise StoreUnavailable("nobody there")

    with Session(engine) as session:
        session.execute(INSERT)
        job = stage.send.using(connection=session).enqueue("ann")
        transport = stage.app.driver.transport
        with monkeypatch.context() as patch, caplog.at_level(logging.ERROR, "oxmill.queue"):
            patch.setattr(type(transport), "run", lambda *_: refuse(None))
            session.commit()
        assert session.execute(sa.text("SELECT count(*) FROM orders")).scalar() == 1
    assert job.id in caplog.text
    assert "nobody there" in caplog.text


def test_a_taken_key_is_told(stage, engine, caplog):
    once = stage.send.using(unique=Unique("k", on_conflict="raise"))
    once.enqueue("ann")
    with Session(engine) as session:
        once.using(connection=session).enqueue("bob")
        session.commit()
    assert "in the way" in caplog.text
    assert stage.there() == ["ann"]


def test_django(stage, engine):
    with django_connection("django.db.backends.sqlite3", NAME=stage.path) as connection:
        tx = stage.send.using(connection=connection)
        with pytest.raises(NoTransaction):
            tx.enqueue("nobody")
        with transaction.atomic(using="oxmill"):
            tx.enqueue("ann")
            with suppress(ZeroDivisionError), transaction.atomic(using="oxmill"):
                tx.enqueue("dropped")
                raise ZeroDivisionError
            assert stage.there() == []
        assert stage.there() == ["ann"]
        with suppress(ZeroDivisionError), transaction.atomic(using="oxmill"):
            tx.enqueue("nobody")
            raise ZeroDivisionError
    assert stage.there() == ["ann"]


def test_a_plain_connection_is_refused(stage, engine):
    with (
        closing(sqlite3.connect(stage.path)) as connection,
        pytest.raises(OtherDatabase, match="after your commit, or give a SQLAlchemy session"),
    ):
        stage.send.using(connection=connection).enqueue("ann")
    assert stage.there() == []


def test_bad_input_is_told_at_once(stage, engine):
    with Session(engine) as session, pytest.raises(ValueError, match="job id"):
        stage.send.using(connection=session, id="x" * 1000).enqueue("ann")
