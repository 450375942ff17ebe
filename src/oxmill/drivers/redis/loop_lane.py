"""One connection shared by all tasks of an event loop, in the manner of `lane`."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any, Final

from oxmill.drivers.redis.address import Address, Target
from oxmill.drivers.redis.faults import FAULTS, cut_off, unreachable
from oxmill.drivers.redis.link import Packed, Packer, aread_all, exchange, open_async
from oxmill.drivers.redis.script import Call, Command
from oxmill.errors import StoreUnavailable

_TOGETHER: Final = 200


class Asked:
    """What one task asks; cancelling the task leaves the question to its course."""

    __slots__ = ("answer", "commands", "writes")

    def __init__(
        self, commands: Sequence[Packed], answer: asyncio.Future[list[Any]], *, writes: bool
    ) -> None:
        self.commands = commands
        self.answer = answer
        self.writes = writes


class LoopLane:
    """An async connection to one server, kept by one task that lives as long as the loop."""

    def __init__(self, target: Target, address: Address, packer: Packer) -> None:
        self._target = target
        self._address = address
        self._pack = packer
        self._loop = asyncio.get_running_loop()
        self._pending: list[Asked] = []
        self._rung = asyncio.Event()
        self._connection: Any = None
        self._loaded: set[str] = set()
        self._keeper = self._loop.create_task(self._keep(), name="oxmill-redis")

    async def ask(self, steps: Sequence[Call | Command], *, writes: bool) -> list[Any]:
        """The replies to all steps; they reach the server in this order."""
        if self._keeper.done():
            self._keeper = self._loop.create_task(self._keep(), name="oxmill-redis")
        commands = [self._pack(step) for step in steps]
        asked = Asked(commands, self._loop.create_future(), writes=writes)
        self._pending.append(asked)
        self._rung.set()
        return await asked.answer

    async def _keep(self) -> None:
        try:
            while True:
                await self._rung.wait()
                batch, self._pending = self._pending[:_TOGETHER], self._pending[_TOGETHER:]
                if not self._pending:
                    self._rung.clear()
                if batch:
                    await self._serve(batch)
        finally:
            closed = StoreUnavailable(f"{self._target.shown}: the connection was closed")
            for asked in self._pending:
                if not asked.answer.done():
                    asked.answer.set_exception(closed)
            self._pending = []
            await self._drop()

    async def _serve(self, batch: Sequence[Asked]) -> None:
        commands = [command for asked in batch for command in asked.commands]
        sent = False
        try:
            connection = await self._ready()
            work = exchange(commands, self._loaded)
            data = next(work)
            while True:
                sent = True
                await connection.send_packed_command([b"".join(data)], check_health=False)
                try:
                    data = work.send(await aread_all(connection, len(data)))
                except StopIteration as end:
                    replies = end.value
                    break
        except FAULTS as fault:
            await self._drop()
            self._fail(batch, fault, sent=sent)
            return
        except BaseException as fault:
            self._fail(batch, fault, sent=sent)
            raise
        at = 0
        for asked in batch:
            if not asked.answer.done():
                asked.answer.set_result(replies[at : at + len(asked.commands)])
            at += len(asked.commands)

    def _fail(self, batch: Sequence[Asked], fault: BaseException, *, sent: bool) -> None:
        shown = self._target.shown
        for asked in batch:
            if not asked.answer.done():
                asked.answer.set_exception(
                    cut_off(shown, fault, writes=asked.writes)
                    if sent
                    else unreachable(shown, fault)
                )

    async def _ready(self) -> Any:
        """A connection that shows signs of life."""
        connection = self._connection
        if connection is not None:
            reader = getattr(connection, "_reader", None)
            if reader is not None and not reader.at_eof():
                try:
                    await connection.check_health()
                except FAULTS:
                    pass
                else:
                    return connection
            await self._drop()
        connection = open_async(self._target, self._address)
        try:
            await connection.connect()
        except BaseException:
            await connection.disconnect(nowait=True)
            raise
        self._connection = connection
        return connection

    async def _drop(self) -> None:
        connection, self._connection = self._connection, None
        self._loaded = set()
        if connection is not None:
            await connection.disconnect(nowait=True)

    def close(self) -> None:
        """Let go of the connection, from whatever thread."""
        if not self._loop.is_closed():
            with contextlib.suppress(RuntimeError):  # closed in this very moment
                self._loop.call_soon_threadsafe(self._keeper.cancel)
