"""app.testing() around code that enqueues and completes in transactions of its own."""

import sqlite3
from contextlib import closing

import aiosqlite
import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from oxmill import App, OtherDatabase, State, current


@pytest.fixture
def app():
    return App("memory://")


@pytest.fixture
def send(app):
    @app.task(name="send")
    def send(to: str) -> int:
        return len(to)

    return send


@pytest.fixture
def engine(tmp_path):
    engine = sa.create_engine(f"sqlite:///{tmp_path}/shop.db")
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE orders (name TEXT)"))
    yield engine
    engine.dispose()


ORDER = sa.text("INSERT INTO orders VALUES ('one')")


def test_a_plain_connection_enqueues_at_once(app, send):
    with app.testing() as t, closing(sqlite3.connect(":memory:")) as connection:
        job = send.using(connection=connection).enqueue("a@x")
        app.queue("items").add(b"x", connection=connection)
        with app.flow("f", connection=connection) as flow:
            flow.add(send, "b@x")

        t.assert_enqueued(send, "a@x")
        assert job.created
        assert len(app.queue("items")) == 1
        assert job.result() == 3
        assert flow.outcome().counts == {State.SUCCEEDED: 1}


async def test_an_async_connection_enqueues_at_once(app, send):
    async with aiosqlite.connect(":memory:") as connection:
        with app.testing() as t:
            await send.using(connection=connection).aenqueue("a@x")
            t.assert_enqueued(send, "a@x")


def test_a_session_enqueues_when_it_commits(app, send, engine):
    with app.testing() as t, Session(engine) as session:
        session.execute(ORDER)
        send.using(connection=session).enqueue("a@x")
        t.refute_enqueued(send)
        session.commit()
        t.assert_enqueued(send, "a@x")

        send.using(connection=session).enqueue("b@x")
        session.rollback()
        session.commit()
        t.refute_enqueued(send, "b@x")


def test_a_run_completes_its_job_at_once_on_a_plain_connection(app):
    @app.task(retry=None)
    def charge() -> int:
        with closing(sqlite3.connect(":memory:")) as connection:
            current().complete_in(connection, 7)
        current().save("a renewal finds no lease")
        raise ValueError("too late")

    with app.testing() as t:
        job = charge.enqueue()
        assert job.result() == 7
        assert (t.succeeded(charge), t.failed(charge)) == (1, 0)


@pytest.mark.parametrize("commits", [True, False])
def test_a_run_completes_its_job_when_its_session_commits(app, engine, commits):
    seen = []

    @app.task(retry=None)
    def charge() -> int:
        with Session(engine) as session:
            session.execute(ORDER)
            current().complete_in(session, 7)
            seen.append(app.get(current().id).state)
            if commits:
                session.commit()
            else:
                session.rollback()
            seen.append(app.get(current().id).state)
        return 8

    with app.testing():
        assert charge.enqueue().result() == (7 if commits else 8)
    assert seen == [State.RUNNING, State.SUCCEEDED if commits else State.RUNNING]


def test_outside_of_tests_another_database_is_refused(app, send):
    with (
        closing(sqlite3.connect(":memory:")) as connection,
        pytest.raises(OtherDatabase, match="enqueue without connection="),
    ):
        send.using(connection=connection).enqueue("a@x")
