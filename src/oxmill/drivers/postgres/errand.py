"""A plan on its way in an event loop, on one connection, without a thread.

Only what is committed by itself is sent from here. A thread does the rest: an open transaction must not
wait, with its locks, for a loop that somebody keeps busy.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

import psycopg

from oxmill.drivers.postgres.performing import Performance
from oxmill.drivers.postgres.wire import ServerSilent

T = TypeVar("T")
_SILENT: Final = "the server does not answer"


class Errand(Generic[T]):
    """Callbacks of the loop, and no task: it ends, whoever is cancelled meanwhile.

    `on_end` is called once, unless it is stopped before: with nothing if there is an answer, or a transaction
    to go on with; else with the error that the plan has ended with.
    """

    __slots__ = (
        *("_on_end", "_patience", "_socket", "_timer", "_writing", "ending", "loop"),
        "performance",
    )

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        performance: Performance[T],
        patience: float,
        on_end: Callable[[Errand[T], BaseException | None], None],
    ) -> None:
        self.performance = performance
        self.loop = loop
        self.ending: asyncio.Future[T] = loop.create_future()
        """What the caller waits for. It is given the answer by others, who may have more to do first."""
        self._patience = patience
        self._on_end = on_end
        self._socket = performance.link.connection.pgconn.socket
        self._timer: asyncio.TimerHandle | None = None
        self._writing = False

    def set_out(self) -> None:
        """Send what comes first."""
        self.loop.add_reader(self._socket, self._readable)
        self._step(self.performance.begin)

    def stop(self) -> None:
        """Watch the connection no more, in the loop's thread or once the loop runs no longer."""
        if self._timer is not None:
            self._timer.cancel()
        if not self.loop.is_closed():
            self.loop.remove_reader(self._socket)
            self._write(more=False)

    def _step(self, step: Callable[..., None], *told: Any) -> None:
        """The plan's next step, and what it sends."""
        performance = self.performance
        try:
            step(*told)
            if performance.plain:
                self._send(performance)
                return
        except Exception as error:  # noqa: BLE001 - told to whoever waits
            failure: Exception | None = error
        else:
            failure = None
        self.stop()
        self._on_end(self, failure)

    def _send(self, performance: Performance[T]) -> None:
        assert performance.next is not None  # noqa: S101 - it is plain
        wire = performance.link.wire
        wire.put(performance.next)
        self._write(more=wire.push())
        self._be_patient()

    def _readable(self) -> None:
        wire = self.performance.link.wire
        try:
            if not self._heard():
                return
            replies = wire.rows()
        except Exception as error:  # noqa: BLE001 - the plan's own business, or told
            self._answered()
            self._step(self.performance.fail, error)
        else:
            self._answered()
            self._step(self.performance.go_on, replies)

    def _heard(self) -> bool:
        wire = self.performance.link.wire
        try:
            return wire.hear()
        except psycopg.Error as error:
            wire.cut_off(error)
            return True

    def _writable(self) -> None:
        try:
            self._write(more=self.performance.link.wire.push())
        except Exception as error:  # noqa: BLE001 - the plan's own business, or told
            self._answered()
            self._step(self.performance.fail, error)

    def _write(self, *, more: bool) -> None:
        """Be told when more can be sent, or no longer."""
        if more and not self._writing:
            self.loop.add_writer(self._socket, self._writable)
        elif self._writing and not more:
            self.loop.remove_writer(self._socket)
        self._writing = more

    def _answered(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _be_patient(self) -> None:
        self._timer = self.loop.call_later(self._patience, self._give_up)

    def _give_up(self) -> None:
        if self.performance.link.wire.arrived:
            # Somebody kept the loop busy for so long; some loops then look at the time first.
            self._be_patient()
            self._readable()
            return
        self._timer = None
        self._step(self.performance.fail, ServerSilent(_SILENT))
