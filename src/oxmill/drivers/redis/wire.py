"""One connection of an event loop: questions go out at once, answers are handed out in order.

What the client library does per command is too slow for a queue that asks thousands of times a
second, so only the parser is its own. Whatever is asked within one pass of the loop while an answer is
awaited leaves in one write.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections import deque
from typing import Any, Final, Self

from hiredis import Reader
from redis.exceptions import AuthenticationError, InvalidResponse

from oxmill.drivers.redis.address import Address, Target
from oxmill.drivers.redis.codes import code_of
from oxmill.drivers.redis.faults import PASSING
from oxmill.drivers.redis.link import tls_context
from oxmill.drivers.redis.resp import pack_words, refusal

_MORE: Final = object()
"""What the reader says when an answer is not there yet."""


class Question:
    """So many commands, and the future that is given their replies."""

    __slots__ = ("answer", "asked_at", "count", "replies", "sent")

    def __init__(self, count: int, answer: asyncio.Future[list[Any]], asked_at: float) -> None:
        self.count = count
        self.answer = answer
        self.asked_at = asked_at
        self.replies: list[Any] = []
        self.sent = False
        """Whether the server may have seen it."""


class Wire(asyncio.Protocol):
    """A connection. Once broken it stays so, and everybody is told."""

    def __init__(self, timeout: float) -> None:
        self.broken: BaseException | None = None
        self._loop = asyncio.get_running_loop()
        self.heard_at = self._loop.time()
        """When the server last said something, by the loop's clock."""
        self._transport: Any = None
        self._reader = Reader(
            protocolError=InvalidResponse, replyError=refusal, notEnoughData=_MORE
        )
        self._timeout = timeout
        self._asked: deque[Question] = deque()
        self._outgoing: list[bytes] = []
        self._unsent: list[Question] = []
        self._timer: asyncio.TimerHandle | None = None

    @classmethod
    async def open(cls, target: Target, address: Address) -> Self:
        """Connect and greet, within the time-outs of the target."""
        options = target.options
        wire = cls(options["socket_timeout"])
        async with asyncio.timeout(options["socket_connect_timeout"]):
            await wire._connect(target, address)
            try:
                await wire._greet(options)
            except BaseException:
                wire.break_off(ConnectionAbortedError("not greeted"))
                raise
        return wire

    async def _connect(self, target: Target, address: Address) -> None:
        host, port = address
        if not port:
            await self._loop.create_unix_connection(lambda: self, host)
            return
        context = tls_context(target, address)
        await self._loop.create_connection(lambda: self, host, port, ssl=context)
        line = self._transport.get_extra_info("socket")
        with contextlib.suppress(OSError):
            line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    async def _greet(self, options: dict[str, Any]) -> None:
        user, password, number = (options.get(name) for name in ("username", "password", "db"))
        if password is not None:
            words = ("AUTH", password) if user is None else ("AUTH", user, password)
            await self._order(words)
        if number:
            await self._order(("SELECT", number))

    async def _order(self, words: tuple[Any, ...]) -> None:
        (reply,) = await self.ask([pack_words(words)]).answer
        if isinstance(reply, Exception):
            wrong = words[0] == "AUTH" and code_of(reply) not in PASSING
            raise AuthenticationError(str(reply)) if wrong else reply

    def ask(self, commands: list[bytes]) -> Question:
        """Send these commands: at once if nobody waits for an answer, else with the rest of this pass
        of the loop."""
        question = Question(len(commands), self._loop.create_future(), self._loop.time())
        if self.broken is not None:
            question.answer.set_exception(self.broken)
            return question
        alone = not (self._asked or self._outgoing)
        if not (alone or self._outgoing):
            self._loop.call_soon(self._send)
        self._outgoing += commands
        self._unsent.append(question)
        if alone:
            self._send()
        return question

    def _send(self) -> None:
        data, self._outgoing = b"".join(self._outgoing), []
        questions, self._unsent = self._unsent, []
        if self.broken is not None:
            self._fail(questions)
            return
        for question in questions:
            question.sent = True
        self._asked += questions
        if self._timer is None:
            self._timer = self._loop.call_later(self._timeout, self._look)
        self._transport.write(data)

    def _look(self) -> None:
        """Nobody waits longer than the time-out for a reply."""
        self._timer = None
        if not self._asked:
            return
        now = self._loop.time()
        # The clock starts anew with every sign of life: a long answer is no silence.
        silent_since = max(self._asked[0].asked_at, self.heard_at)
        if now - silent_since >= self._timeout:
            self.break_off(TimeoutError(f"no answer within {self._timeout:g} s"))
        else:
            self._timer = self._loop.call_at(silent_since + self._timeout, self._look)

    def break_off(self, cause: BaseException) -> None:
        """Use this connection no more; whoever waits for it is told."""
        if self.broken is not None:
            return
        self.broken = cause
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._transport is not None:
            self._transport.abort()
        questions, self._asked = list(self._asked), deque()
        self._fail(questions)

    def _fail(self, questions: list[Question]) -> None:
        for question in questions:
            if not question.answer.done() and self.broken is not None:
                question.answer.set_exception(self.broken)

    # -- what the loop says --------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is there."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Replies, or parts of them."""
        self.heard_at = self._loop.time()
        try:
            self._reader.feed(data)
            while (reply := self._reader.gets()) is not _MORE:
                self._reply(reply)
        except Exception as fault:  # noqa: BLE001 - what cannot be read cannot be trusted further
            self.break_off(fault)

    def _reply(self, reply: Any) -> None:
        if not self._asked:
            raise InvalidResponse("the server said something nobody asked for")
        question = self._asked[0]
        question.replies.append(reply)
        if len(question.replies) == question.count:
            self._asked.popleft()
            if not question.answer.done():
                question.answer.set_result(question.replies)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone, from either side."""
        self.break_off(exc or ConnectionResetError("the connection was closed by the server"))
