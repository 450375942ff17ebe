"""The doorbell between processes: scripts publish what changed; an event loop listens by itself, one
thread listens for all threads.

A message is a hint and carries no job. It may be lost: whoever waits looks again after a bounded
time. When the listening connection was broken, everybody is woken once it is back.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import random
import threading
from collections.abc import Callable, Iterable, Iterator
from socket import SHUT_RDWR
from typing import Any, Final

from redis.exceptions import ResponseError

from oxmill.drivers.redis.address import Address, Target
from oxmill.drivers.redis.ear import Ear
from oxmill.drivers.redis.faults import FAULTS
from oxmill.drivers.redis.link import open_blocking
from oxmill.drivers.redis.record import pack_id, unpack_id
from oxmill.errors import StoreError
from oxmill.store.bells import LocalBell, LocalDoorbell
from oxmill.store.doorbell import ended
from oxmill.store.per_loop import PerLoop

_log: Final = logging.getLogger("oxmill.redis")
_QUIET: Final = 10.0
"""Seconds of silence after which the connection is asked for a sign of life."""
_CALM: Final = 0.2, 5.0
"""The shortest and the longest wait before a new connection."""
_CONFIRMED: Final = 1.0
"""Seconds that a new listener waits for the server to listen too."""
_BUCKETS: Final = 16


class RedisDoorbell(LocalDoorbell):
    """Rings at once within the process, and across processes through channels."""

    def __init__(self, target: Target, look: Callable[[], Address], prefix: str) -> None:
        super().__init__()
        self._target = target
        self._look = look
        self._prefix = prefix
        self._prefix_bytes = len(prefix.encode())
        self._lines: dict[str, int] = {}
        """channel → listeners of this process."""
        self._start_over()

    def _start_over(self) -> None:
        self._pid = os.getpid()
        self._wire = threading.Condition(threading.RLock())
        self._connection: Any = None
        self._open: set[str] = set()
        """Channels that the server has confirmed."""
        self._missed = False
        """Whether something may have been published while nobody listened."""
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None
        self._ears: PerLoop[Ear] = PerLoop()
        self._heard_by: dict[LocalBell, Ear] = {}

    def listen(self, topics: Iterable[str]) -> LocalBell:
        """A bell for these topics, also rung by other processes.

        Returns once the server listens too, so that nothing published later is missed. If it does
        not confirm within a moment, the bell is rung when it does.
        """
        bell = super().listen(topics)
        if os.getpid() != self._pid:
            self._start_over()
        channels = {self._channel(topic) for topic in bell.topics}
        with self._wire:
            for channel in channels:
                self._lines[channel] = self._lines.get(channel, 0) + 1
                if self._lines[channel] == 1:
                    self._send("SUBSCRIBE", channel)
            if self._closed.is_set():
                return bell
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._listen, name="oxmill-redis-bell", daemon=True
                )
                self._thread.start()
            if not self._wire.wait_for(lambda: channels <= self._open, _CONFIRMED):
                self._missed = True
        return bell

    def attend(self, topics: Iterable[str]) -> LocalBell:
        """The same for somebody in this event loop, who hears it without a thread in between."""
        if os.getpid() != self._pid:
            self._start_over()
        ear = self._ear()
        if ear is None:
            return self.listen(topics)
        bell = super().listen(topics)
        self._heard_by[bell] = ear
        ear.add({self._channel(topic) for topic in bell.topics})
        return bell

    def forget(self, bell: LocalBell) -> None:
        """Take a bell off its topics."""
        super().forget(bell)
        ear = self._heard_by.pop(bell, None)
        if ear is not None:
            ear.drop({self._channel(topic) for topic in bell.topics})
            return
        with self._wire:
            for channel in {self._channel(topic) for topic in bell.topics}:
                left = self._lines.get(channel, 0) - 1
                if left > 0:
                    self._lines[channel] = left
                elif self._lines.pop(channel, None) is not None:
                    self._open.discard(channel)
                    self._send("UNSUBSCRIBE", channel)

    def close(self) -> None:
        """Let go of the socket and the thread; bells still open only time out."""
        self._closed.set()
        if os.getpid() != self._pid:  # the socket and the thread are the parent's
            return
        self._cut()
        for ear in self._ears.take_all():
            ear.close()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(_QUIET)

    def _ear(self) -> Ear | None:
        """The ear of the event loop that this is called in, if it is called in one."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return None
        if self._closed.is_set():
            return None
        return self._ears.of(
            loop, lambda: Ear(self._target, self._look, self._strike, self._caught_up)
        )

    def _caught_up(self, channel: str) -> None:
        """The server listens on a channel from now on: what came before must be looked for."""
        with self._lock:
            topics = [topic for topic in self._bells if self._channel(topic) == channel]
        super().ring(topics)

    def _channel(self, topic: str) -> str:
        """Ends of jobs share a few channels; all else has its own."""
        kind, _, name = topic.partition(":")
        if kind == ended("").rstrip(":"):
            return f"{self._prefix}ended:{pack_id(name)[-1] % _BUCKETS}"
        return f"{self._prefix}{topic}"

    def _send(self, *words: str) -> None:
        """Say something on the listening connection; if it is broken, the listener will notice."""
        if self._connection is None:
            return
        try:
            self._connection.send_command(*words, check_health=False)
        except FAULTS:
            self._cut()

    def _cut(self) -> None:
        """Wake the listener, which then closes its connection itself: no other thread may."""
        socket = getattr(self._connection, "_sock", None)
        if socket is not None:
            with contextlib.suppress(OSError):
                socket.shutdown(SHUT_RDWR)

    def _hang_up(self) -> None:
        with self._wire:
            connection, self._connection = self._connection, None
            self._open.clear()
            self._missed = True
        if connection is not None:
            connection.disconnect()

    # --- the listening thread ----------------------------------------------------------------

    def _listen(self) -> None:
        wait = _CALM[0]
        while not self._closed.is_set():
            try:
                connection = self._connect()
                wait = _CALM[0]
                self._hear(connection)
            except (*FAULTS, StoreError) as fault:
                if not self._closed.is_set():
                    _log.warning("the doorbell's connection broke (%s); polling meanwhile", fault)
            self._hang_up()
            self._closed.wait(wait * random.uniform(0.5, 1))  # noqa: S311 - only spreads load
            wait = min(2 * wait, _CALM[1])

    def _connect(self) -> Any:
        connection = open_blocking(self._target, self._look())
        connection.connect()
        with self._wire:
            if self._closed.is_set():
                connection.disconnect()
                raise ConnectionAbortedError("closed")
            self._connection = connection
            if self._lines:
                connection.send_command("SUBSCRIBE", *self._lines, check_health=False)
        return connection

    def _hear(self, connection: Any) -> None:
        asked = False
        while not self._closed.is_set():
            if not connection.can_read(timeout=_QUIET):
                if asked:
                    raise TimeoutError("no sign of life")
                asked = True
                with self._wire:
                    connection.send_command("PING", check_health=False)
                continue
            try:
                told = connection.read_response(disable_decoding=True, disconnect_on_error=False)
            except ResponseError as refusal:
                _log.warning("the doorbell stays silent: %s", refusal)
                continue
            asked = False
            if not isinstance(told, list):
                continue
            if told[0] == b"message":
                self._strike(told[1], told[2])
            elif told[0] == b"subscribe":
                self._confirm(told[1].decode())

    def _confirm(self, channel: str) -> None:
        with self._wire:
            if channel not in self._lines:
                return
            self._open.add(channel)
            caught_up = self._missed and self._lines.keys() <= self._open
            self._missed = self._missed and not caught_up
            self._wire.notify_all()
        if caught_up:
            self.ring_all()

    def _strike(self, channel: bytes, message: bytes) -> None:
        topic = channel[self._prefix_bytes :].decode()
        super().ring(map(ended, _ids(message)) if topic.startswith("ended:") else (topic,))


def _ids(message: bytes) -> Iterator[str]:
    """Packed ids, each after its length."""
    at = 0
    while at < len(message):
        size = message[at]
        yield unpack_id(message[at + 1 : at + 1 + size])
        at += 1 + size
