"""The doorbell between processes: while someone listens, one light look after the other.

MySQL tells nobody that something was written. One thread per process asks for what was written last,
which costs a fraction of a claim however many bells there are, and wakes whom it may concern if that
differs. While nothing is written it has MariaDB look, and is woken a few times a second (`watching.py`).
"""

from __future__ import annotations

import logging
import os
import random
import threading
import time
from collections.abc import Iterable
from typing import Final

from oxmill.drivers.mysql.address import Place
from oxmill.drivers.mysql.faults import FAULTS
from oxmill.drivers.mysql.link import Link
from oxmill.drivers.mysql.statements import statement
from oxmill.drivers.mysql.watching import Watching
from oxmill.drivers.sql.steps import Rows
from oxmill.store.bells import LocalBell, LocalDoorbell
from oxmill.store.doorbell import CONTROL, SWEEP

_log: Final = logging.getLogger("oxmill.mysql")

_CALLED: Final = statement("last_call", {})
LINGER: Final = 5.0
"""Seconds for which the looks go on after the last bell was closed."""
_AGAIN: Final = 0.2, 5.0
"""The shortest and the longest wait before a new connection."""
_CONFIRMED: Final = 1.0
"""Seconds that a new listener waits for the first look."""


class MysqlDoorbell(LocalDoorbell):
    """Wakes listeners of this process at once, and those of others after their next look."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self._place = place
        self._start_anew()

    def _start_anew(self) -> None:
        self._pid = os.getpid()
        self._guard = threading.Lock()
        self._stop = threading.Event()
        self._looked = threading.Event()
        self._missed = False
        """Whether something may have been written while nobody looked."""
        self._claimed_at = 0.0
        self._thread: threading.Thread | None = None

    def claimed(self, at: float) -> None:
        """A claim of this process, which set out then, was answered: it has looked, too."""
        self._claimed_at = at

    def listen(self, topics: Iterable[str]) -> LocalBell:
        """A bell for these topics; it may also ring for others.

        Returns once there was a look, so that nothing written later is missed. If there was none
        within a moment, everybody is woken by the first.
        """
        bell = self._hang(topics)
        if not self._looked.wait(_CONFIRMED):
            self._missed = True
        return bell

    def attend(self, topics: Iterable[str]) -> LocalBell:
        """The same at once, for somebody in this event loop: the first look wakes everybody."""
        bell = self._hang(topics)
        if not self._looked.is_set():
            self._missed = True
        return bell

    def _hang(self, topics: Iterable[str]) -> LocalBell:
        """A bell for these topics, and somebody who looks."""
        if os.getpid() != self._pid:  # the thread and the bells are the parent's
            LocalDoorbell.__init__(self)
            self._start_anew()
        bell = super().listen(topics)
        with self._guard:
            if self._thread is None and not self._stop.is_set():
                self._thread = threading.Thread(
                    target=self._serve, name="oxmill-mysql-bell", daemon=True
                )
                self._thread.start()
        return bell

    def close(self) -> None:
        """Let go of the connection and the thread; bells still open only time out."""
        if os.getpid() != self._pid:
            return
        self._stop.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(self._place.timeout)

    # --- the thread ----------------------------------------------------------------------------

    def _serve(self) -> None:
        wait = _AGAIN[0]
        while not self._stop.is_set():
            begun = time.monotonic()
            try:
                if not self._watch():
                    return
            except FAULTS as fault:
                if time.monotonic() - begun > _AGAIN[1]:
                    wait = _AGAIN[0]
                self._missed = True
                self._looked.clear()
                _log.info("the doorbell's connection broke (%s); workers look by themselves", fault)
            self._stop.wait(wait * random.uniform(0.5, 1))  # noqa: S311 - only spreads load
            wait = min(2 * wait, _AGAIN[1])

    def _watch(self) -> bool:
        """Look until nobody listens any more, which is the answer `False`."""
        link = Link(self._place)
        called: Rows | None = None
        busy = time.monotonic()
        try:
            watching = Watching(link, lambda: self._claimed_at)
            while not self._stop.is_set():
                changed = watching.changed()
                if changed and called is not None:
                    self.ring_most()  # whom else it concerns takes a round trip to learn
                if changed or self._missed:
                    called = self._tell(link.send([_CALLED])[0].rows, called)
                    self._looked.set()
                if self.listeners:
                    busy = time.monotonic()
                elif time.monotonic() - busy > LINGER and self._dismissed():
                    return False
        finally:
            link.leave()
        return False

    def _tell(self, told: Rows, before: Rows | None) -> Rows:
        """Wake whom a change may concern besides most. Who waits to be asked for something, or for what
        others leave to sweep, is woken only if there is that: it is much rarer."""
        missed, self._missed = self._missed, False
        ((_, left),) = told
        if missed:
            self.ring_all()
            return told
        if before is not None and told[0][0] != before[0][0]:
            self.ring([CONTROL])
        if left:
            self.ring([SWEEP])
        return told

    def _dismissed(self) -> bool:
        """Whether the thread may go, because nobody listens any more."""
        with self._guard:
            if self.listeners:
                return False
            self._thread = None
            self._looked.clear()
            return True
