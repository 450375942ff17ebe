"""Jobs added to a pipeline of the caller's."""

import asyncio

import pytest
import redis
import redis.asyncio

from oxmill import App, NoTransaction, OtherDatabase, WrongConnection, WrongContext


@pytest.fixture
def app(redis_server, tmp_path):
    app = App(f"{redis_server.url}?namespace={tmp_path.name}&mode=process")
    app.queue("other").add(b"first")
    yield app
    app.close()


@pytest.fixture
def client(redis_server):
    with redis.Redis(port=redis_server.port) as client:
        yield client


def test_items_are_there_when_the_pipeline_is_executed(app, client):
    queue = app.queue("work")
    with client.pipeline() as pipe:
        pipe.set("mine", "1")
        queue.add(b"a", id="item-a", connection=pipe)
        queue.add(b"b", id="item-b", connection=pipe)
        assert len(queue) == 0
        pipe.execute()

    assert client.get("mine") == b"1"
    assert [queue.lease(60).data, queue.lease(60).data] == [b"a", b"b"]


def test_items_of_a_pipeline_that_is_reset_were_never_there(app, client):
    queue = app.queue("work")
    with client.pipeline() as pipe:
        queue.add(b"a", connection=pipe)
        pipe.reset()
        pipe.set("mine", "2")
        pipe.execute()

    assert len(queue) == 0


def test_the_same_item_added_twice_is_there_once(app, client):
    queue = app.queue("work")
    for _ in range(2):
        with client.pipeline() as pipe:
            queue.add(b"a", id="same", connection=pipe)
            pipe.execute()

    assert len(queue) == 1


def test_a_server_that_forgot_all_scripts_takes_them_all_the_same(app, client):
    queue = app.queue("work")
    with client.pipeline() as pipe:
        queue.add(b"a", connection=pipe)
        client.script_flush()
        pipe.execute()

    assert len(queue) == 1


async def test_an_async_pipeline(app, redis_server):
    queue = app.queue("work")
    async with redis.asyncio.Redis(port=redis_server.port) as client:
        async with client.pipeline() as pipe:
            await queue.aadd(b"a", connection=pipe)
            assert await asyncio.to_thread(len, queue) == 0
            await pipe.execute()
        async with client.pipeline() as pipe:
            with pytest.raises(WrongContext):
                await asyncio.to_thread(queue.add, b"b", connection=pipe)

    assert await asyncio.to_thread(len, queue) == 1


def test_another_database_is_refused(app, redis_server):
    with (
        redis.Redis(port=redis_server.port, db=1) as client,
        client.pipeline() as pipe,
        pytest.raises(OtherDatabase),
    ):
        app.queue("work").add(b"a", connection=pipe)


def test_a_pipeline_that_sends_at_once_is_refused(app, client):
    with client.pipeline() as pipe:
        pipe.watch("mine")
        with pytest.raises(NoTransaction, match=r"multi\(\)"):
            app.queue("work").add(b"a", connection=pipe)
        pipe.multi()
        app.queue("work").add(b"a", connection=pipe)
        pipe.execute()

    assert len(app.queue("work")) == 1


def test_several_shards_are_refused(redis_server, tmp_path, client):
    app = App(f"{redis_server.url}?namespace={tmp_path.name}-many&mode=process&shards=4")
    with client.pipeline() as pipe, pytest.raises(WrongConnection, match="one shard"):
        app.queue("work").add(b"a", connection=pipe)
    app.close()
