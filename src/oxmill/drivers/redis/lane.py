"""One connection shared by all threads: what is asked while it is busy travels together next."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from time import monotonic
from typing import Any, Final

from redis.exceptions import NoScriptError

from oxmill.drivers.redis.address import Address, Target
from oxmill.drivers.redis.faults import FAULTS, cut_off, unreachable
from oxmill.drivers.redis.layout import Layout
from oxmill.drivers.redis.link import (
    Exchange,
    Packed,
    Packer,
    exchange,
    is_stale,
    open_blocking,
    read_all,
)
from oxmill.drivers.redis.meeting import Meetings
from oxmill.drivers.redis.script import Call, Command
from oxmill.errors import StoreError, StoreUnavailable

_TOGETHER: Final = 200
"""Calls that may share one round trip."""
_FRESH: Final = 0.1
"""Seconds for which a connection that has answered is taken to be alive without a look."""
_PATIENCE: Final = 3.0
"""How many time-outs a caller waits for its turn."""


class Asked:
    """What one caller asks, and what came of it."""

    __slots__ = ("commands", "error", "leads", "replies", "turn", "writes")

    def __init__(self, commands: Sequence[Packed], *, writes: bool) -> None:
        self.commands = commands
        self.writes = writes
        self.replies: list[Any] | None = None
        self.error: Exception | None = None
        self.turn: threading.Event | None = None
        """Set when it has been served or is to lead; who leads from the start needs none."""
        self.leads = False
        """Whether the caller is to take over the connection."""


class Lane:
    """A blocking connection to one server.

    The first to come leads: it sends what all have asked, hands out the replies, and passes the
    lead on. So a process under load has one connection and few round trips.
    """

    def __init__(self, target: Target, address: Address, packer: Packer, layout: Layout) -> None:
        self._target = target
        self._address = address
        self._pack = packer
        self._layout = layout
        self._bound = target.options["socket_timeout"]
        self._reset()

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._guard = threading.Lock()
        self._pending: list[Asked] = []
        self._led = False
        self._connection: Any = None
        self._loaded: set[str] = set()
        self._meetings = Meetings(self._layout, self._pack)
        self._used = 0.0

    def ask(self, steps: Sequence[Call | Command], *, writes: bool) -> list[Any]:
        """The replies to all steps; they reach the server in this order."""
        if os.getpid() != self._pid:  # a forked child must not talk on its parent's socket
            self._reset()
        mine = Asked([self._pack(step) for step in steps], writes=writes)
        with self._guard:
            self._pending.append(mine)
            if self._led:
                mine.turn = threading.Event()
            self._led = True
        if mine.turn is not None:
            self._await_turn(mine, mine.turn)
        if mine.replies is None and mine.error is None:
            self._serve(mine)
        if mine.error is not None:
            raise mine.error
        assert mine.replies is not None  # noqa: S101 - served, and without an error
        return mine.replies

    def _await_turn(self, mine: Asked, turn: threading.Event) -> None:
        if turn.wait(_PATIENCE * self._bound + 5):
            return
        with self._guard:
            if mine in self._pending and not mine.leads:
                self._pending.remove(mine)
                raise StoreUnavailable(
                    f"{self._target.shown} is busy: no turn came; nothing was written, try again"
                )
        turn.wait()

    def _serve(self, mine: Asked) -> None:
        """Send what has been asked, until it is one's own turn; then pass the lead on."""
        try:
            while mine.replies is None and mine.error is None:
                with self._guard:
                    batch, self._pending = self._pending[:_TOGETHER], self._pending[_TOGETHER:]
                try:
                    self._exchange(batch)
                finally:
                    for each in batch:
                        if each.turn is not None:
                            each.turn.set()
        finally:
            with self._guard:
                heir = self._pending[0] if self._pending else None
                self._led = heir is not None
                if heir is not None and heir.turn is not None:
                    heir.leads = True
                    heir.turn.set()

    def _exchange(self, batch: Sequence[Asked]) -> None:
        commands = batch[0].commands
        if len(batch) > 1:
            commands = [command for asked in batch for command in asked.commands]
        sent = False
        try:
            connection = self._ready()
            strangers = self._meetings.due(commands, monotonic())
            if strangers:
                writes = any(asked.writes for asked in batch)
                _talk(connection, self._meetings.introduce(strangers, monotonic(), writes=writes))
            sent = True
            replies = self._replies(connection, commands)
        except StoreError as refusal:  # the store is not what it was: nothing was sent
            for asked in batch:
                asked.error = type(refusal)(*refusal.args)
            return
        except FAULTS as fault:
            self._drop()
            for asked in batch:
                asked.error = (
                    cut_off(self._target.shown, fault, writes=asked.writes)
                    if sent
                    else unreachable(self._target.shown, fault)
                )
            return
        except BaseException as fault:
            # Interrupted halfway: what is still on the wire must not answer the next question.
            self._drop()
            for asked in batch:
                asked.error = cut_off(self._target.shown, fault, writes=asked.writes)
            raise
        self._used = monotonic()
        at = 0
        for asked in batch:
            asked.replies = replies[at : at + len(asked.commands)]
            at += len(asked.commands)

    def _replies(self, connection: Any, commands: Sequence[Packed]) -> list[Any]:
        if len(commands) == 1:  # as most are that nobody else is waiting for
            (only,) = commands
            if only.script is not None and only.script.sha in self._loaded:
                connection.send_packed_command([only.data], check_health=False)
                replies = read_all(connection, 1)
                if not isinstance(replies[0], NoScriptError):
                    return replies
                self._loaded.clear()  # which the server has forgotten; it did nothing
        return _talk(connection, exchange(commands, self._loaded))

    def _ready(self) -> Any:
        """A connection that shows signs of life."""
        if self._connection is not None:
            if monotonic() - self._used < _FRESH:
                return self._connection
            if not is_stale(self._connection):
                try:
                    self._connection.check_health()
                except FAULTS:
                    self._drop()
                else:
                    return self._connection
            self._drop()
        connection = open_blocking(self._target, self._address)
        connection.connect()
        self._connection = connection
        return connection

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        self._loaded = set()
        self._meetings.forget()
        if connection is not None:
            connection.disconnect()

    def close(self) -> None:
        """Let go of the connection; the next question would open another."""
        if os.getpid() == self._pid:
            self._drop()


def _talk(connection: Any, work: Exchange) -> list[Any]:
    """Do what was prepared, round trip by round trip."""
    data = next(work)
    while True:
        connection.send_packed_command([b"".join(data)], check_health=False)
        try:
            data = work.send(read_all(connection, len(data)))
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
