"""The doorbell's ear within an event loop: no thread stands between the server and who waits."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import Callable, Iterable
from typing import Any, Final

from redis.exceptions import ResponseError

from oxmill.drivers.redis.address import Address, Target
from oxmill.drivers.redis.faults import FAULTS
from oxmill.drivers.redis.resp import pack_words
from oxmill.drivers.redis.wire import Wire
from oxmill.errors import StoreError

_log: Final = logging.getLogger("oxmill.redis")
_QUIET: Final = 10.0
"""Seconds of silence after which the connection is asked for a sign of life."""
_CALM: Final = 0.2, 5.0
"""The shortest and the longest wait before a new connection."""


class Feed(Wire):
    """A connection on which the server speaks unasked."""

    def __init__(self, timeout: float) -> None:
        super().__init__(timeout)
        self.on_told: Callable[[list[Any]], None] | None = None
        self._gone = asyncio.Event()

    def _reply(self, reply: Any) -> None:
        if self.on_told is None:
            super()._reply(reply)
        elif isinstance(reply, list):
            self.on_told(reply)
        elif isinstance(reply, ResponseError):
            _log.warning("the doorbell stays silent: %s", reply)

    def say(self, *words: str) -> None:
        """Send a command whose reply comes as news."""
        if self.broken is None:
            self._transport.write(pack_words(words))

    def break_off(self, cause: BaseException) -> None:
        """Use this connection no more."""
        super().break_off(cause)
        self._gone.set()

    async def broke_off(self, timeout: float) -> None:
        """Wait for the end of the connection, at most so many seconds."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._gone.wait(), timeout)


class Ear:
    """Listens on some channels for the bells of one event loop, until that loop ends."""

    def __init__(
        self,
        target: Target,
        look: Callable[[], Address],
        on_message: Callable[[bytes, bytes], None],
        on_confirmed: Callable[[str], None],
    ) -> None:
        self.lines: dict[str, int] = {}
        """channel → listeners of this loop."""
        self._target = target
        self._look = look
        self._on_message = on_message
        self._on_confirmed = on_confirmed
        self._loop = asyncio.get_running_loop()
        self._feed: Feed | None = None
        self._task = self._loop.create_task(self._listen(), name="oxmill-redis-bell")

    def add(self, channels: Iterable[str]) -> None:
        """One more listener on each of these."""
        for channel in channels:
            self.lines[channel] = self.lines.get(channel, 0) + 1
            if self.lines[channel] == 1 and self._feed is not None:
                self._feed.say("SUBSCRIBE", channel)

    def drop(self, channels: Iterable[str]) -> None:
        """One listener less on each of these."""
        for channel in channels:
            self.lines[channel] -= 1
            if self.lines[channel] == 0:
                del self.lines[channel]
                if self._feed is not None:
                    self._feed.say("UNSUBSCRIBE", channel)

    def close(self) -> None:
        """Listen no more, from whatever thread."""
        if not self._loop.is_closed():
            with contextlib.suppress(RuntimeError):  # closed in this very moment
                self._loop.call_soon_threadsafe(self._task.cancel)

    async def _listen(self) -> None:
        wait = _CALM[0]
        try:
            while True:
                try:
                    await self._connect()
                    wait = _CALM[0]
                    await self._stay()
                except (*FAULTS, StoreError) as fault:
                    _log.warning("the doorbell's connection broke (%s); polling meanwhile", fault)
                self._hang_up()
                await asyncio.sleep(wait * random.uniform(0.5, 1))  # noqa: S311 - only spreads load
                wait = min(2 * wait, _CALM[1])
        finally:
            self._hang_up()
            await asyncio.sleep(0)  # the transport closes its socket in the loop's next pass

    async def _connect(self) -> None:
        address = await asyncio.to_thread(self._look)
        feed = await Feed.open(self._target, address)
        feed.on_told = self._told
        self._feed = feed
        if self.lines:
            feed.say("SUBSCRIBE", *self.lines)

    async def _stay(self) -> None:
        """Until the connection is broken or shows no sign of life."""
        feed, asked = self._feed, False
        while feed is not None and feed.broken is None:
            silent = self._loop.time() - feed.heard_at
            if silent < _QUIET:
                asked = False
            elif asked:
                raise TimeoutError("no sign of life")
            else:
                asked = True
                feed.say("PING")
            await feed.broke_off(_QUIET)
        if feed is not None and feed.broken is not None:
            raise feed.broken

    def _hang_up(self) -> None:
        feed, self._feed = self._feed, None
        if feed is not None:
            feed.break_off(ConnectionAbortedError("closed"))

    def _told(self, news: list[Any]) -> None:
        if news[0] == b"message":
            self._on_message(news[1], news[2])
        elif news[0] == b"subscribe":
            self._on_confirmed(news[1].decode())
