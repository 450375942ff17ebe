"""Jobs in transactions of the caller's, with every client library for PostgreSQL."""

import asyncio
import contextlib
import json
import threading

import asyncpg
import psycopg
import pytest
import sqlalchemy as sa
from django.db import transaction
from private_postgres import clean_url, shared_server
from psycopg.rows import dict_row
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from oxmill import App, NoTransaction, StoreUnavailable, WrongConnection, WrongContext
from oxmill.store.doorbell import work
from transaction_cases import (
    AlchemyAsyncSession,
    AlchemySession,
    AsyncClient,
    Cases,
    Client,
    there,
)
from transaction_stage import Stage, completed_by_django, django_connection, killed_after_commit

OTHER = "elsewhere"


@pytest.fixture(scope="module", autouse=True)
def _databases(_one_server):
    shared_server().ask(f"CREATE DATABASE {OTHER}")
    yield
    shared_server().ask(f"DROP DATABASE {OTHER}")


@pytest.fixture
def stage():
    shared_server().ask("CREATE TABLE IF NOT EXISTS public.orders (name text)")
    shared_server().ask("DELETE FROM public.orders")
    with contextlib.closing(App(clean_url())) as app:
        yield Stage(app, None)


@pytest.fixture
def orders():
    return lambda: [name for (name,) in shared_server().ask("SELECT name FROM public.orders")]


class Asyncpg(AsyncClient):
    """asyncpg has no transaction but those that are begun."""

    async def begin(self):
        self.transaction = self.connection.transaction()
        await self.transaction.start()

    async def commit(self):
        await self.transaction.commit()

    async def rollback(self):
        await self.transaction.rollback()


def url(database, library=None):
    plain = shared_server().url.removesuffix("/postgres") + f"/{database}"
    return plain.replace("postgresql://", f"postgresql+{library}://") if library else plain


async def open_client(kind, database="postgres", *, autocommit=False):
    if kind == "psycopg":
        return Client(psycopg.connect(url(database), autocommit=autocommit))
    if kind == "psycopg async":
        made = await psycopg.AsyncConnection.connect(url(database), autocommit=autocommit)
        return AsyncClient(made)
    if kind == "asyncpg":
        return Asyncpg(await asyncpg.connect(url(database)))
    library, shape = kind.split()
    options = {"isolation_level": "AUTOCOMMIT"} if autocommit else {}
    if library == "sqlalchemy":
        engine = sa.create_engine(url(database, "psycopg"), poolclass=sa.NullPool, **options)
        return AlchemySession(Session(engine) if shape == "session" else engine.connect())
    dialect = library.removeprefix("sqlalchemy+")
    engine = create_async_engine(url(database, dialect), poolclass=sa.NullPool, **options)
    made = AsyncSession(engine) if shape == "session" else await AsyncConnection(engine).start()
    return AlchemyAsyncSession(made)


KINDS = [
    "psycopg",
    "psycopg async",
    "asyncpg",
    "sqlalchemy session",
    "sqlalchemy connection",
    "sqlalchemy+psycopg session",
    "sqlalchemy+asyncpg session",
    "sqlalchemy+asyncpg connection",
]


class TestPostgres(Cases):
    @pytest.fixture(params=KINDS)
    def kind(self, request):
        return request.param

    @pytest.fixture
    async def client(self, kind):
        client = await open_client(kind)
        yield client
        await client.close()

    @pytest.fixture
    async def stranger(self, kind):
        client = await open_client(kind, OTHER)
        yield client
        await client.close()

    @pytest.fixture
    async def autocommit(self, kind):
        client = await open_client(kind, autocommit=True)
        yield client
        await client.close()

    async def test_a_blocking_call_with_an_async_connection(self, stage, client, orders):
        if isinstance(client, AsyncClient):
            with pytest.raises(WrongContext, match="aenqueue"):
                stage.send.using(connection=client.connection).enqueue("ann")
        else:
            stage.send.using(connection=client.connection).enqueue("ann")
            await client.commit()
            assert await there(stage) == ["ann"]

    async def test_the_bell_rings_at_the_commit(self, stage, client, orders):
        driver = stage.app.driver
        with await asyncio.to_thread(driver.doorbell.listen, (work("default"),)) as bell:
            await bell.arrive(0.05)  # what rings while the listener is made
            await client.begin()
            await stage.send.using(connection=client.connection).aenqueue("ann")
            assert not await bell.arrive(0.2)
            await client.commit()
            assert await bell.arrive(10)


def test_django(stage, orders):
    named = {"NAME": "postgres", "HOST": "127.0.0.1", "PORT": shared_server().port}
    with django_connection("django.db.backends.postgresql", USER="postgres", **named) as connection:
        tx = stage.send.using(connection=connection)
        with pytest.raises(NoTransaction, match="atomic"):
            tx.enqueue("nobody")
        with transaction.atomic(using="oxmill"):
            with connection.cursor() as cursor:
                cursor.execute("INSERT INTO orders VALUES ('one')")
            tx.enqueue("ann")
            with contextlib.suppress(ZeroDivisionError), transaction.atomic(using="oxmill"):
                tx.enqueue("dropped")
                raise ZeroDivisionError
        with contextlib.suppress(ZeroDivisionError), transaction.atomic(using="oxmill"):
            tx.enqueue("nobody")
            raise ZeroDivisionError
    assert stage.there() == ["ann"]
    assert orders() == ["one"]


def test_completing_by_django(stage, orders):
    named = {"NAME": "postgres", "HOST": "127.0.0.1", "PORT": shared_server().port}
    with django_connection("django.db.backends.postgresql", USER="postgres", **named) as connection:
        completed_by_django(stage, connection, orders)


def test_settings_of_a_psycopg_connection_neither_disturb_nor_change(stage):
    class Shout(psycopg.adapt.Loader):
        def load(self, _data):
            return "SHOUT"

    class ShoutBinary(Shout):
        format = psycopg.pq.Format.BINARY

    with psycopg.connect(
        shared_server().url, row_factory=dict_row, cursor_factory=psycopg.ClientCursor
    ) as connection:
        for name in ("text", "int8", "int4", "bytea"):
            connection.adapters.register_loader(name, Shout)
            connection.adapters.register_loader(name, ShoutBinary)
        keyed = stage.send.using(connection=connection, unique="k", fields={"user": 7})
        first, second = keyed.enqueue("ann"), keyed.enqueue("bob")
        assert first.created
        assert not second.created
        assert connection.execute("SELECT 'x'::text AS a").fetchone() == {"a": "SHOUT"}
        assert connection.row_factory is dict_row
    assert stage.there() == ["ann"]


async def test_codecs_of_an_asyncpg_connection_neither_disturb_nor_change(stage):
    connection = await asyncpg.connect(shared_server().url, record_class=Odd)
    for name in ("json", "jsonb"):
        await connection.set_type_codec(
            name, schema="pg_catalog", encoder=json.dumps, decoder=json.loads
        )
    async with connection.transaction():
        keyed = stage.send.using(connection=connection, unique="k", fields={"user": 7})
        first, second = await keyed.aenqueue("ann"), await keyed.aenqueue("bob")
        assert first.created
        assert not second.created
        assert await connection.fetchval("""SELECT '{"a": 1}'::json""") == {"a": 1}
    await connection.close()
    assert await there(stage) == ["ann"]


class Odd(asyncpg.Record):
    """A record class of the caller's."""


async def test_a_connection_from_an_asyncpg_pool(stage):
    async with asyncpg.create_pool(shared_server().url, min_size=1, max_size=1) as pool:
        async with pool.acquire() as connection, connection.transaction():
            await stage.send.using(connection=connection).aenqueue("ann")
        async with pool.acquire() as connection, connection.transaction():
            await stage.send.using(connection=connection).aenqueue("bob")
    assert await there(stage) == ["ann", "bob"]


def test_a_transaction_that_has_failed_is_refused(stage):
    with psycopg.connect(shared_server().url) as connection:
        with pytest.raises(psycopg.errors.DivisionByZero):
            connection.execute("SELECT 1 / 0")
        with pytest.raises(WrongConnection, match="roll back first"):
            stage.send.using(connection=connection).enqueue("ann")
        connection.rollback()


def test_another_encoding_is_refused(stage):
    with (
        psycopg.connect(shared_server().url, client_encoding="LATIN1") as connection,
        pytest.raises(WrongConnection, match="UTF8"),
    ):
        stage.send.using(connection=connection).enqueue("ann")


@pytest.mark.parametrize("level", ["REPEATABLE_READ", "SERIALIZABLE"])
def test_an_old_snapshot_never_decides(stage, level):
    """What others committed since the transaction began is seen, or the transaction is refused."""
    with psycopg.connect(shared_server().url) as connection:
        connection.isolation_level = psycopg.IsolationLevel[level]
        connection.execute("SELECT count(*) FROM orders").fetchall()
        told = []
        first = stage.send.using(unique="k", id="mine").enqueue("first")
        for task in (stage.send.using(unique="k"), stage.send.using(id="mine")):
            try:
                job = task.using(connection=connection).enqueue("first")
            except StoreUnavailable as error:
                told.append(str(error))
            else:
                assert job == first
                assert not job.created
        connection.commit()
    assert all("start your transaction again" in text for text in told)
    assert stage.there() == ["first"]


def test_two_transactions_with_one_key_wait_for_each_other(stage):
    """The second is told by the first one's end, not before."""
    keyed = stage.send.using(unique="k")
    with psycopg.connect(shared_server().url) as one, psycopg.connect(shared_server().url) as two:
        first = keyed.using(connection=one).enqueue("ann")
        answers = []
        thread = threading.Thread(
            target=lambda: answers.append(keyed.using(connection=two).enqueue("bob"))
        )
        thread.start()
        thread.join(0.3)
        assert answers == []
        one.commit()
        thread.join(10)
        assert answers[0] == first
        assert not answers[0].created
        two.commit()
    assert stage.there() == ["ann"]


@pytest.mark.parametrize("where", ["worker", "child"])
def test_a_kill_between_the_commit_and_the_settlement_runs_nothing_twice(
    stage, orders, where, tmp_path
):
    killed_after_commit(stage, where, f"psycopg.connect({shared_server().url!r})", tmp_path)
    assert orders() == ["one"]
