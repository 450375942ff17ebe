"""One connection shared by all tasks of an event loop, in the manner of `lane`."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any, Final

from redis.exceptions import NoScriptError

from oxmill.drivers.redis.address import Address, Target
from oxmill.drivers.redis.faults import FAULTS, cut_off, unreachable
from oxmill.drivers.redis.layout import Layout
from oxmill.drivers.redis.link import Packed, Packer, exchange
from oxmill.drivers.redis.meeting import Meetings
from oxmill.drivers.redis.resp import pack_words
from oxmill.drivers.redis.script import Call, Command
from oxmill.drivers.redis.wire import Question, Wire
from oxmill.errors import StoreUnavailable

_QUIET: Final = 15.0
"""A connection that was silent for so many seconds is asked for a sign of life before its use."""
_PING: Final = [pack_words(("PING",))]


class LoopLane:
    """An async connection to one server: made when needed, and again after any doubt.

    Questions of many tasks are on their way at the same time. Cancelling a task leaves its question
    to its course.
    """

    def __init__(self, target: Target, address: Address, packer: Packer, layout: Layout) -> None:
        self._target = target
        self._address = address
        self._pack = packer
        self._loop = asyncio.get_running_loop()
        self._wire: Wire | None = None
        self._loaded: set[str] = set()
        self._meetings = Meetings(layout, packer)
        self._meeting: asyncio.Task[None] | None = None
        self._opening: asyncio.Task[Wire] | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._closed = False

    async def ask(self, steps: Sequence[Call | Command], *, writes: bool) -> list[Any]:
        """The replies to all steps; they reach the server in this order."""
        commands = [self._pack(step) for step in steps]
        question: Question | None = None
        try:
            wire = self._wire
            if wire is None or wire.broken is not None or self._silent(wire):
                wire = await self._ready()
            while self._meetings.due(commands, self._loop.time()):
                if await self._meet(wire, commands, writes=writes):
                    break
            work = exchange(commands, self._loaded)
            data = next(work)
            while True:
                question = wire.ask(data)
                try:
                    data = work.send(await question.answer)
                except StopIteration as end:
                    return end.value  # type: ignore[no-any-return]
        except (*FAULTS, _Closed) as fault:
            raise self._told(question, fault, writes=writes) from fault

    async def ask_one(self, call: Call, *, writes: bool) -> Any:
        """The reply to one call, by the shortest way if the connection is well and knows the script."""
        wire, command = self._wire, self._pack(call)
        if (
            wire is not None
            and wire.broken is None
            and command.script is not None
            and command.script.sha in self._loaded
            and not self._silent(wire)
            and not self._meetings.due((command,), self._loop.time())
        ):
            question = wire.ask([command.data])
            try:
                (reply,) = await question.answer
            except (*FAULTS, _Closed) as fault:
                raise self._told(question, fault, writes=writes) from fault
            if not isinstance(reply, NoScriptError):
                return reply
            self._loaded.clear()  # which the server has forgotten; it did nothing
        return (await self.ask((call,), writes=writes))[0]

    def _told(self, question: Question | None, fault: Exception, *, writes: bool) -> Exception:
        if question is not None and question.sent:
            return cut_off(self._target.shown, fault, writes=writes)
        return unreachable(self._target.shown, fault)

    def _silent(self, wire: Wire) -> bool:
        return self._loop.time() - wire.heard_at > _QUIET

    async def _ready(self) -> Wire:
        """A connection that shows signs of life; all who need one wait for the same."""
        if self._closed:
            raise StoreUnavailable(f"{self._target.shown}: the connection was closed")
        if self._opening is None or self._opening.done():
            self._opening = self._loop.create_task(self._open(), name="oxmill-redis")
        return await asyncio.shield(self._opening)

    async def _meet(self, wire: Wire, commands: Sequence[Packed], *, writes: bool) -> bool:
        """Greet the shards that these commands are for, or wait for a greeting that is on its way. Gives
        whether it was their own."""
        own = self._meeting is None or self._meeting.done()
        if self._meeting is None or own:
            greeting = self._greet(wire, commands, writes=writes)
            self._meeting = self._loop.create_task(greeting, name="oxmill-redis")
        await asyncio.shield(self._meeting)
        return own

    async def _greet(self, wire: Wire, commands: Sequence[Packed], *, writes: bool) -> None:
        now = self._loop.time()
        work = self._meetings.introduce(self._meetings.due(commands, now), now, writes=writes)
        data = next(work)
        with contextlib.suppress(StopIteration):
            work.send(await wire.ask(data).answer)

    async def _open(self) -> Wire:
        wire = self._wire
        if wire is not None and wire.broken is None:
            with contextlib.suppress(*FAULTS):
                await wire.ask(_PING).answer
                return wire
        self._loaded = set()
        self._meetings.forget()
        self._wire = wire = await Wire.open(self._target, self._address)
        if self._keeper is None or self._keeper.done():
            self._keeper = self._loop.create_task(self._keep(), name="oxmill-redis")
        return wire

    async def _keep(self) -> None:
        """Ends with the loop, and closes what nobody else would."""
        try:
            await self._loop.create_future()
        finally:
            self._break_off()
            await asyncio.sleep(0)  # the transport closes its socket in the loop's next pass

    def close(self) -> None:
        """Let go of the connection, from whatever thread."""
        if not self._loop.is_closed():
            with contextlib.suppress(RuntimeError):  # closed in this very moment
                self._loop.call_soon_threadsafe(self._close)

    def _close(self) -> None:
        self._closed = True
        for task in (self._opening, self._meeting, self._keeper):
            if task is not None:
                task.cancel()
        self._break_off()

    def _break_off(self) -> None:
        if self._wire is not None:
            self._wire.break_off(_Closed("the connection was closed"))


class _Closed(Exception):
    """The lane was closed while somebody waited."""
