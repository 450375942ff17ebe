"""Jobs in transactions of the caller's, with every client library for MariaDB and MySQL."""

import contextlib
import threading
from urllib.parse import urlsplit

import asyncmy
import pymysql
import pytest
import sqlalchemy as sa
from django.db import transaction
from private_mysql import shared_server
from pymysql.constants import FIELD_TYPE
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from oxmill import (
    App,
    NoTransaction,
    OxmillError,
    State,
    StoreUnavailable,
    WrongConnection,
    WrongContext,
)
from oxmill.queue.context import Context
from transaction_cases import AlchemyAsyncSession, AlchemySession, AsyncClient, Cases, Client, there
from transaction_stage import Stage, completed_by_django, django_connection, killed_after_commit

try:
    import MySQLdb
except ImportError:  # it needs a C compiler and the server's headers to be installed
    MySQLdb = None

needs_mysqlclient = pytest.mark.skipif(MySQLdb is None, reason="mysqlclient is not installed")


@pytest.fixture
def stage():
    url = shared_server().emptied()
    with contextlib.closing(App(url)) as app:
        stage = Stage(app, urlsplit(url).path.strip("/"))
        shared_server().ask("CREATE TABLE IF NOT EXISTS orders (name VARCHAR(20))", stage.path)
        shared_server().ask("DELETE FROM orders", stage.path)
        yield stage


@pytest.fixture
def orders(stage):
    return lambda: [name for (name,) in shared_server().ask("SELECT name FROM orders", stage.path)]


class Asyncmy(AsyncClient):
    async def sql(self, statement):
        async with self.connection.cursor() as cursor:
            await cursor.execute(statement)

    async def close(self):
        self.connection.close()


def settings(database, **more):
    return {
        "host": "127.0.0.1",
        "port": shared_server().port,
        "user": "root",
        "database": database,
        "charset": "utf8mb4",
    } | more


async def open_client(kind, database, *, autocommit=False):
    if kind == "pymysql":
        return Client(pymysql.connect(**settings(database, autocommit=autocommit)))
    if kind == "mysqlclient":
        return Client(MySQLdb.connect(**settings(database, autocommit=autocommit)))
    if kind == "asyncmy":
        return Asyncmy(await asyncmy.connect(**settings(database, autocommit=autocommit)))
    options = {"isolation_level": "AUTOCOMMIT"} if autocommit else {}
    library, shape = kind.removeprefix("sqlalchemy+").split()
    url = f"mysql+{library}://root@127.0.0.1:{shared_server().port}/{database}?charset=utf8mb4"
    if library == "asyncmy":
        engine = create_async_engine(url, poolclass=sa.NullPool, **options)
        return AlchemyAsyncSession(AsyncSession(engine))
    engine = sa.create_engine(url, poolclass=sa.NullPool, **options)
    return AlchemySession(Session(engine) if shape == "session" else engine.connect())


KINDS = [
    "pymysql",
    pytest.param("mysqlclient", marks=needs_mysqlclient),
    "asyncmy",
    "sqlalchemy+pymysql session",
    "sqlalchemy+pymysql connection",
    pytest.param("sqlalchemy+mysqldb session", marks=needs_mysqlclient),
    "sqlalchemy+asyncmy session",
]


class TestMysql(Cases):
    @pytest.fixture(params=KINDS)
    def kind(self, request):
        return request.param

    @pytest.fixture
    async def client(self, kind, stage):
        client = await open_client(kind, stage.path)
        yield client
        await client.close()

    @pytest.fixture
    async def stranger(self, kind, stage):
        client = await open_client(kind, "mysql")
        yield client
        await client.close()

    @pytest.fixture
    async def autocommit(self, kind, stage):
        client = await open_client(kind, stage.path, autocommit=True)
        yield client
        await client.close()

    async def test_begun_by_hand(self, stage, autocommit, kind, orders):
        if "sqlalchemy" in kind:
            pytest.skip("SQLAlchemy begins by itself")
        await autocommit.sql("START TRANSACTION")
        await stage.send.using(connection=autocommit.connection).aenqueue("ann")
        await autocommit.rollback()
        await autocommit.sql("START TRANSACTION")
        await stage.send.using(connection=autocommit.connection).aenqueue("bob")
        await autocommit.commit()
        assert await there(stage) == ["bob"]

    async def test_a_blocking_call_with_an_async_connection(self, stage, client, orders):
        if isinstance(client, AsyncClient):
            with pytest.raises(WrongContext, match="aenqueue"):
                stage.send.using(connection=client.connection).enqueue("ann")
        else:
            stage.send.using(connection=client.connection).enqueue("ann")
            await client.commit()
            assert await there(stage) == ["ann"]


@pytest.fixture
def by_django(stage):
    """A connection of Django's, by mysqlclient, or else by PyMySQL in its place."""
    if MySQLdb is None:
        pymysql.install_as_MySQLdb()
    named = {"NAME": stage.path, "HOST": "127.0.0.1", "PORT": shared_server().port, "USER": "root"}
    with django_connection("django.db.backends.mysql", **named) as connection:
        yield connection


def test_completing_by_django(stage, by_django, orders):
    completed_by_django(stage, by_django, orders)


def test_django(stage, by_django, orders):
    connection = by_django
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


def plain(stage, **more):
    return contextlib.closing(pymysql.connect(**settings(stage.path, **more)))


def test_settings_of_a_pymysql_connection_neither_disturb_nor_change(stage):
    odd = pymysql.converters.conversions | {
        kind: lambda _: "SHOUT"
        for kind in (FIELD_TYPE.LONGLONG, FIELD_TYPE.VAR_STRING, FIELD_TYPE.LONG, FIELD_TYPE.BLOB)
    }
    more = {"cursorclass": pymysql.cursors.SSDictCursor, "conv": odd, "use_unicode": False}
    with plain(stage, **more) as connection:
        keyed = stage.send.using(connection=connection, unique="k", fields={"user": 7})
        first, second = keyed.enqueue("ann"), keyed.enqueue("bob")
        assert first.created
        assert not second.created
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 AS a")
            assert cursor.fetchall() == [{"a": "SHOUT"}]
        connection.commit()
    assert stage.there() == ["ann"]


def test_another_encoding_is_refused(stage):
    with (
        plain(stage, charset="latin1") as connection,
        pytest.raises(WrongConnection, match="SET NAMES utf8mb4"),
    ):
        stage.send.using(connection=connection).enqueue("ann")


def test_an_encoding_in_which_a_quote_can_hide_is_refused_before_anything_is_sent(stage):
    """In such a character set the bytes BF 27 are one character and half of a literal's end."""
    with plain(stage, charset="gbk") as connection:
        queue = stage.app.queue("items")
        with pytest.raises(WrongConnection, match="gbk"):
            queue.add(b"\xbf'; DROP TABLE oxmill_jobs; -- ", connection=connection)
        connection.commit()
    assert len(stage.app.queue("items")) == 0


def test_every_byte_arrives(stage):
    queue = stage.app.queue("items")
    pairs = [bytes((one, two)) for one in range(256) for two in b"'\\\"\0%\n"]
    data = b"".join([bytes(range(256)), *pairs])
    with plain(stage) as connection:
        queue.add(data, connection=connection)
        connection.commit()
    assert queue.lease("60s").data == data


def test_a_plan_that_fails_halfway_leaves_the_transaction_as_it_was(stage, orders):
    stage.send.enqueue("first")
    shared_server().ask(
        "CREATE TRIGGER no BEFORE INSERT ON oxmill_fields FOR EACH ROW "
        "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no room'",
        stage.path,
    )
    try:
        with plain(stage) as connection:
            with connection.cursor() as cursor:
                cursor.execute("INSERT INTO orders VALUES ('one')")
            with pytest.raises(OxmillError, match="no room"):
                stage.send.using(connection=connection, fields={"user": 7}).enqueue("ann")
            stage.send.using(connection=connection).enqueue("bob")
            connection.commit()
    finally:
        shared_server().ask("DROP TRIGGER no", stage.path)
    assert orders() == ["one"]
    assert stage.there() == ["first", "bob"]
    assert stage.count()[State.WAITING] == 2


def test_a_mode_that_reads_our_text_otherwise_is_refused(stage):
    with (
        plain(stage, sql_mode="NO_BACKSLASH_ESCAPES") as connection,
        pytest.raises(WrongConnection, match="NO_BACKSLASH_ESCAPES"),
    ):
        stage.send.using(connection=connection).enqueue("ann")


@pytest.mark.parametrize("level", ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])
def test_an_old_snapshot_never_decides(stage, level):
    """What others committed since the transaction began is seen, or the transaction is refused."""
    told = []
    with plain(
        stage, init_command=f"SET SESSION TRANSACTION ISOLATION LEVEL {level}"
    ) as connection:
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM oxmill_jobs" if level[0] == "R" else "SELECT 1")
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


@pytest.mark.parametrize("options", [{}, {"unique": "k"}, {"id": "z"}])
def test_an_open_transaction_keeps_nobody_from_enqueueing(stage, options):
    """No lock on the place where all new jobs go, also at the server's own default isolation."""
    with plain(stage) as connection:
        stage.send.using(connection=connection, **options).enqueue("ann")
        with plain(stage) as other:
            stage.send.using(connection=other).enqueue("bob")
            stage.send.using(connection=other, unique="l").enqueue("cid")
            other.commit()
        stage.send.enqueue("dan")
        connection.commit()
    assert sorted(stage.there()) == ["ann", "bob", "cid", "dan"]


def test_completing_keeps_nobody_from_working(stage):
    stage.send.enqueue("ann")
    lease = stage.app.queue("default").lease("60s")
    with plain(stage) as connection:
        Context(lease.job, None, stage.send).complete_in(connection)
        stage.send.enqueue("bob")
        other = stage.app.queue("default").lease("60s")
        assert other.renew()
        assert other.complete()
        connection.commit()


def test_two_transactions_with_one_key_wait_for_each_other(stage):
    """The second is told by the first one's end, not before."""
    keyed = stage.send.using(unique="k")
    with plain(stage) as one, plain(stage) as two:
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
    words = ", ".join(f"{name}={value!r}" for name, value in settings(stage.path).items())
    killed_after_commit(stage, where, f"pymysql.connect({words})", tmp_path)
    assert orders() == ["one"]
