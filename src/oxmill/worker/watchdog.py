"""Notices when the worker does not make progress, from a thread of its own."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable
from typing import Final

from oxmill.observe.bus import Bus
from oxmill.observe.events import LoopBlocked, ReadinessChanged
from oxmill.worker.claimer import Claimer
from oxmill.worker.stacks import stack_of_thread
from oxmill.worker.systemd import Systemd

CHECK_EVERY: Final = 0.1
BLOCKED: Final = 0.25
"""Seconds that the event loop may be held up before its stack is logged."""
STALLED: Final = 10.0
"""Seconds without an answer to a turn after which the worker is not ready."""
HUNG: Final = 120.0
"""Seconds that one turn may be on its way. Every wait of a driver is shorter: this is a fault."""

STARVED: Final = 30.0
"""Seconds without an answer to a turn after which a drain gives up."""


class Watchdog:
    """Logs what blocks the event loop, judges readiness, and reports what can only be a fault.

    Ready means that claims make progress. It also ends the worker when the supervisor that started
    it is gone.
    """

    def __init__(self, claimer: Claimer, bus: Bus, systemd: Systemd) -> None:
        self.on_fault: Callable[[str, BaseException], None] | None = None
        self.on_orphaned: Callable[[], None] | None = None
        self.on_starved: Callable[[str], None] | None = None
        """Called once when the store has not answered for too long; `None` to wait for it for ever."""
        self._claimer = claimer
        self._bus = bus
        self._systemd = systemd
        self._ticked = time.monotonic()
        self._told = False
        self._was_ready = self._told_unready = False
        self._alive_at = 0.0
        self._parent = os.getppid()
        self._ended = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._loop_thread = 0
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Watch the running loop, which this is called in."""
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()
        self._tick()
        threading.Thread(target=self._watch, name="oxmill-watchdog", daemon=True).start()

    def stop(self) -> None:
        """Watch no more."""
        self._ended.set()
        if self._timer is not None:
            self._timer.cancel()

    def _tick(self) -> None:
        """In the loop's thread: it is not blocked."""
        self._ticked = now = time.monotonic()
        if self._loop is not None:
            self._timer = self._loop.call_later(CHECK_EVERY, self._tick)
        owing = self._claimer.owing_since
        if owing is not None and now - owing > STARVED and self.on_starved is not None:
            on_starved, self.on_starved = self.on_starved, None
            on_starved(f"the store has not answered for {STARVED:g} s")
        since = self._claimer.turn_since
        if since is not None and now - since > HUNG and self.on_fault is not None:
            on_fault, self.on_fault = self.on_fault, None
            on_fault("claimer", TimeoutError(f"a turn has not ended for {HUNG:g} s"))

    def _watch(self) -> None:
        last = time.monotonic()
        while not self._ended.wait(CHECK_EVERY):
            now = time.monotonic()
            if now - last > CHECK_EVERY + BLOCKED:
                # The whole process stood still (SIGSTOP, a suspended machine), not the loop alone.
                self._ticked = now
            last = now
            self._look_at_loop(now)
            self._judge(now)
            if self.on_orphaned is not None and os.getppid() != self._parent:
                on_orphaned, self.on_orphaned = self.on_orphaned, None
                on_orphaned()

    def _look_at_loop(self, now: float) -> None:
        behind = now - self._ticked
        if behind < BLOCKED:
            self._told = False
        elif not self._told:
            self._told = True
            self._bus.emit(LoopBlocked(seconds=behind, stack=stack_of_thread(self._loop_thread)))

    @property
    def trouble(self) -> str:
        """Why the worker is not ready; empty if it is."""
        now, owing = time.monotonic(), self._claimer.owing_since
        if self._ended.is_set():
            return "the worker has stopped"
        if now - self._ticked > STALLED:
            return "the event loop is blocked"
        if owing is not None and now - owing > STALLED:
            return f"the store has not answered for {now - owing:.0f} s"
        return "" if self._claimer.answered else "no claim has been answered yet"

    def _judge(self, now: float) -> None:
        trouble = self.trouble
        if self._ended.is_set():  # a worker that stops is told of elsewhere
            return
        if self._was_ready and trouble:
            self._bus.emit(ReadinessChanged(ready=False, reason=trouble))
        elif self._told_unready and not trouble:
            self._bus.emit(ReadinessChanged(ready=True, reason="claims make progress again"))
        self._told_unready = (self._told_unready or self._was_ready) and bool(trouble)
        self._was_ready = not trouble
        wanted = self._systemd.alive_every
        if not trouble and wanted is not None and now - self._alive_at >= wanted:
            self._alive_at = now
            self._systemd.alive()
