"""Flows enqueued in a transaction of the caller's, or after its commit."""

import sqlite3
from contextlib import closing

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from oxmill import App, FlowNotFound, FlowStatus, State
from oxmill.store.capabilities import Capability


@pytest.fixture
def app(tmp_path):
    """Jobs in the caller's own file."""
    with App(f"sqlite:///{tmp_path}/shop.db") as made:
        if Capability.FLOWS not in made.driver.capabilities:
            pytest.skip("this store has no flows")
        yield declared(made)


@pytest.fixture
def elsewhere():
    """Jobs in another store than the caller's database."""
    with App("memory://") as made:
        yield declared(made)


def declared(app):
    @app.task(name="one")
    async def one(n: int) -> int:
        return n

    @app.task(name="total")
    async def total(numbers: list[int]) -> int:
        return sum(numbers)

    app.one, app.total = one, total
    assert list(app.jobs()) == []  # the store is there before anybody's transaction
    return app


def draw(app, connection, number, flow_id="f"):
    with app.flow("import", id=flow_id, connection=connection) as f:
        nodes = [f.add(app.one, n) for n in range(number)]
        f.add(app.total, [node.out for node in nodes])
    return f


@pytest.mark.parametrize("number", [3, 1_500], ids=["small", "staged"])
def test_a_flow_is_there_with_the_commit(app, tmp_path, number):
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection:
        connection.execute("BEGIN")
        f = draw(app, connection, number)
        with pytest.raises(FlowNotFound):
            f.info()
        connection.commit()
    assert sum(f.info().counts.values()) == number + 1

    with app.running(slots=50, sweep_every=0.1):
        info = f.outcome(timeout=60)
    assert (info.status, info.counts) == (FlowStatus.SUCCEEDED, {State.SUCCEEDED: number + 1})


def test_a_flow_that_is_rolled_back_never_was(app, tmp_path):
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection:
        connection.execute("BEGIN")
        f = draw(app, connection, 1_500)
        connection.rollback()
    with pytest.raises(FlowNotFound):
        f.info()
    assert list(app.jobs()) == []
    assert draw(app, None, 3).created


def test_a_pipeline_starts_with_the_commit(app, tmp_path):
    @app.step(name="double")
    def double(n: int) -> dict:
        return {"n": n * 2}

    doubled = app.pipeline("double", double)
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection:
        connection.execute("BEGIN")
        lost = doubled.start({"n": 1}, connection=connection)
        connection.rollback()
        connection.execute("BEGIN")
        flow = doubled.start({"n": 2}, connection=connection)
        connection.commit()
    with app.running():
        flow.outcome(timeout=30)
    assert flow.state() == {"n": 4}
    with pytest.raises(FlowNotFound):
        lost.info()


@pytest.mark.parametrize("number", [3, 1_500], ids=["small", "staged"])
def test_elsewhere_a_flow_is_enqueued_after_the_commit(elsewhere, tmp_path, number):
    engine = sa.create_engine(f"sqlite:///{tmp_path}/shop.db")
    with Session(engine) as session:
        session.execute(sa.text("CREATE TABLE orders (name TEXT)"))
        f = draw(elsewhere, session, number)
        with pytest.raises(FlowNotFound):
            f.info()
        session.commit()
        g = draw(elsewhere, session, number, "g")
        session.rollback()
    engine.dispose()

    assert sum(f.info().counts.values()) == number + 1
    with pytest.raises(FlowNotFound):
        g.info()
