"""What every client library must be able to do with a transaction, told once for all of them.

A client has `connection`, and coroutines to begin, commit and roll back, and to run a statement.
"""

import asyncio

import pytest
from sqlalchemy import text

from oxmill import DuplicateJob, IdConflict, LostLease, NoTransaction, OtherDatabase, Unique
from oxmill.model.state import State
from oxmill.queue.context import Context


class Client:
    """A blocking connection of a client library, used as if it were async."""

    begins_by_itself = True

    def __init__(self, connection):
        self.connection = connection

    async def begin(self):
        pass

    async def sql(self, statement):
        with self.connection.cursor() as cursor:
            cursor.execute(statement)

    async def commit(self):
        self.connection.commit()

    async def rollback(self):
        self.connection.rollback()

    async def close(self):
        self.connection.close()


class AlchemySession(Client):
    """A session of SQLAlchemy's."""

    async def sql(self, statement):
        self.connection.execute(text(statement))


class AsyncClient(Client):
    """An async connection."""

    async def sql(self, statement):
        await self.connection.execute(statement)

    async def commit(self):
        await self.connection.commit()

    async def rollback(self):
        await self.connection.rollback()

    async def close(self):
        await self.connection.close()


class AlchemyAsyncSession(AsyncClient):
    """An async session or connection of SQLAlchemy's."""

    async def sql(self, statement):
        await self.connection.execute(text(statement))


async def there(stage):
    return await asyncio.to_thread(stage.there)


async def counts(stage):
    return {
        state.value: n for state, n in (await stage.app.queue("default").acounts()).items() if n
    }


class Cases:
    """To be inherited, with fixtures `stage` and `client`, and `orders`, which reads the table."""

    async def test_commit(self, stage, client, orders):
        await client.begin()
        await client.sql("INSERT INTO orders VALUES ('one')")
        job = await stage.send.using(connection=client.connection).aenqueue("ann")
        assert job.created
        assert await there(stage) == []
        await client.commit()
        assert await there(stage) == ["ann"]
        assert orders() == ["one"]
        assert await counts(stage) == {"waiting": 1}

    async def test_rollback(self, stage, client, orders):
        await client.begin()
        await client.sql("INSERT INTO orders VALUES ('one')")
        await stage.send.using(connection=client.connection).aenqueue("ann")
        await stage.send.using(
            connection=client.connection, unique="k", fields={"user": 7}, delay="1h"
        ).aenqueue("bob")
        await client.rollback()
        assert await there(stage) == orders() == []
        assert await counts(stage) == {}
        assert (await stage.send.using(unique="k").aenqueue("cid")).created

    async def test_first_thing_in_the_transaction(self, stage, client, orders):
        await client.begin()
        await stage.send.using(connection=client.connection).aenqueue("dropped")
        await client.rollback()
        await client.begin()
        await stage.send.using(connection=client.connection).aenqueue("ann")
        await client.commit()
        assert await there(stage) == ["ann"]

    async def test_many(self, stage, client, orders):
        await client.begin()
        tx = stage.send.using(connection=client.connection)
        await tx.amap([(f"m{n}",) for n in range(1_200)])
        await client.rollback()
        await client.begin()
        await stage.app.aenqueue_many([tx.bind("a"), tx.bind("b")])
        await stage.app.queue("items").aadd(b"x", connection=client.connection)
        await client.commit()
        assert (await there(stage))[:2] == ["a", "b"]
        assert await counts(stage) == {"waiting": 2}

    async def test_savepoints_of_the_caller(self, stage, client, orders):
        await client.begin()
        tx = stage.send.using(connection=client.connection)
        await tx.aenqueue("ann")
        await client.sql("SAVEPOINT mine")
        await tx.aenqueue("dropped")
        await client.sql("ROLLBACK TO SAVEPOINT mine")
        await tx.aenqueue("bob")
        await client.commit()
        assert await there(stage) == ["ann", "bob"]
        assert await counts(stage) == {"waiting": 2}

    async def test_what_is_refused_leaves_the_transaction_as_it_was(self, stage, client, orders):
        await stage.send.using(id="taken").aenqueue("first")
        await client.begin()
        await client.sql("INSERT INTO orders VALUES ('one')")
        tx = stage.send.using(connection=client.connection)
        with pytest.raises(IdConflict):
            await tx.using(id="taken").aenqueue("other")
        assert not (await tx.using(id="taken").aenqueue("first")).created
        once = tx.using(unique=Unique("k", on_conflict="raise"))
        await once.aenqueue("ann")
        with pytest.raises(DuplicateJob):
            await once.aenqueue("bob")
        with pytest.raises(ValueError, match="surrogate"):
            await tx.using(headers={"h": "\ud800"}).aenqueue("bob")
        await client.commit()
        assert await there(stage) == ["first", "ann"]
        assert orders() == ["one"]

    async def test_odd_values_arrive(self, stage, client, orders):
        await client.begin()
        odd = "'\\\"%s;--\n\N{SNOWMAN}\N{OX}$1:x?"
        tx = stage.send.using(
            connection=client.connection,
            fields={"f": odd[:8].replace("\n", "")},
            headers={"h": odd},
        )
        job = await tx.aenqueue(odd)
        await client.commit()
        assert await there(stage) == [odd]
        assert (await asyncio.to_thread(stage.record, job.id)).headers == {"h": odd}

    async def test_another_database(self, stage, stranger, orders):
        await stranger.begin()
        if type(stranger) in (AlchemySession, AlchemyAsyncSession):
            await stage.send.using(connection=stranger.connection).aenqueue("ann")
            assert await there(stage) == []
            await stranger.commit()
            assert await there(stage) == ["ann"]
        else:
            with pytest.raises(OtherDatabase, match="after your commit"):
                await stage.send.using(connection=stranger.connection).aenqueue("ann")
            await stranger.sql("SELECT 1")  # the transaction is as it was
            await stranger.commit()
            assert await there(stage) == []

    async def test_completing(self, stage, client, orders):
        job = await stage.send.aenqueue("ann")
        lease = await stage.app.queue("default").alease("60s")
        context = Context(lease.job, None, stage.send)
        await client.begin()
        await client.sql("INSERT INTO orders VALUES ('one')")
        await context.acomplete_in(client.connection, "dropped")
        await client.rollback()
        assert (await stage.app.aget(job.id)).state is State.RUNNING
        assert orders() == []
        await client.begin()
        await client.sql("INSERT INTO orders VALUES ('one')")
        await context.acomplete_in(client.connection, "done")
        await client.commit()
        record = await stage.app.aget(job.id)
        assert (record.state, record.result) == (State.SUCCEEDED, b'"done"')
        assert orders() == ["one"]
        assert await lease.acomplete()
        assert await counts(stage) == {"succeeded": 1}

    async def test_completing_after_the_lease_was_lost(self, stage, client, orders):
        await stage.send.aenqueue("ann")
        lease = await stage.app.queue("default").alease("60s")
        await lease.arelease()
        await stage.app.queue("default").alease("60s")
        await client.begin()
        with pytest.raises(LostLease, match="roll back"):
            await Context(lease.job, None, stage.send).acomplete_in(client.connection)
        await client.rollback()

    async def test_no_transaction(self, stage, autocommit, orders):
        with pytest.raises(NoTransaction):
            await stage.send.using(connection=autocommit.connection).aenqueue("ann")
        assert await there(stage) == []
