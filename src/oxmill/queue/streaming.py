"""Calls that come from an async iterator, enqueued part by part."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Iterator
from contextlib import aclosing
from functools import partial
from typing import Any, TypeVar

from oxmill.errors import BadInput
from oxmill.queue.bulk import (
    BATCH_BYTES,
    BATCH_JOBS,
    Loaded,
    enqueue_all,
    load_all,
    with_connection,
)
from oxmill.queue.call import Call
from oxmill.queue.client import Client
from oxmill.queue.handle import Job

R = TypeVar("R")


async def aenqueue_stream(client: Client, calls: AsyncIterable[Call[R]]) -> list[Job[R]]:
    """Enqueue all calls and give their handles, in order. No more than a batch is read ahead."""
    handles: list[Job[R]] = []
    async with aclosing(_parts(calls)) as parts:
        async for part, connection in parts:
            handles += await client.awaiting(
                partial(enqueue_all, client=client, calls=part), connection
            )
    return handles


async def aload_stream(client: Client, calls: AsyncIterable[Call[Any]]) -> Loaded:
    """The same in constant memory."""
    given = created = 0
    async with aclosing(_parts(calls)) as parts:
        async for part, connection in parts:
            loaded = await client.awaiting(partial(load_all, client=client, calls=part), connection)
            given, created = given + loaded.given, created + loaded.created
    return Loaded(given, created)


async def _parts(calls: AsyncIterable[Call[R]]) -> AsyncGenerator[tuple[Iterator[Call[R]], Any]]:
    """As many calls at a time as a batch may hold, and the connection that all of them share."""
    shared: list[Any] = []
    async with aclosing(_pieces(calls)) as pieces:
        async for piece in pieces:
            part, connection = with_connection(piece)
            shared = shared or [connection]
            if connection is not shared[0]:
                raise BadInput(
                    f"the call of {piece[0].template.task} was made using another connection than "
                    f"the first one; enqueue the calls of each connection by themselves"
                )
            yield part, connection


async def _pieces(calls: AsyncIterable[Call[R]]) -> AsyncGenerator[list[Call[R]]]:
    piece: list[Call[R]] = []
    size = 0
    async for call in calls:
        more = len(call.template.payload) if isinstance(call, Call) else 0
        if piece and (len(piece) == BATCH_JOBS or size + more > BATCH_BYTES):
            yield piece
            piece, size = [], 0
        piece.append(call)
        size += more
    if piece:
        yield piece
