"""The doorbell between processes: NOTIFY after the commit, LISTEN on a connection of its own.

A notification is a hint and carries no job, only short hashes of what to look at. None is sent
within a transaction that writes jobs: notifying commits take turns over the whole database. What
rings in quick succession goes out together.
"""

from __future__ import annotations

import contextlib
import logging
import os
import random
import select
import threading
import time
from collections.abc import Collection, Iterable
from typing import Final
from zlib import crc32

import psycopg

from oxmill.drivers.postgres.address import Address
from oxmill.drivers.postgres.connection import Link, open_link
from oxmill.drivers.postgres.session import Query
from oxmill.drivers.postgres.statements import statement
from oxmill.store.bells import LocalBell, LocalDoorbell
from oxmill.store.doorbell import ENDS, in_short

_log: Final = logging.getLogger("oxmill.postgres")
_CALM: Final = 0.002, 0.05
"""Seconds between two notifications of one process, at least: the longer it rings without a break,
the more goes out together."""
_QUIET: Final = 15.0
"""Seconds of silence after which the connection is asked for a sign of life."""
_ECHO: Final = 3.0
"""Seconds within which our own ring must be heard; a pooler in between passes none on."""
_DEAF: Final = 0.25
"""Seconds between two rings of a bell that cannot hear: whoever waits looks by itself."""
_AGAIN: Final = 0.2, 5.0
"""The shortest and the longest wait before a new connection."""
_CONFIRMED: Final = 1.0
"""Seconds that a new listener waits for the server to listen too."""
_MOST: Final = 800
"""Topics in one notification, which holds less than 8000 bytes."""
_ALL: Final = "*"


def hashed(topic: str) -> str:
    """What stands for a topic in a notification. Two topics may share it, without harm."""
    return f"{crc32(topic.encode()):08x}"


def message_for(topics: Collection[str]) -> str:
    """A notification of these topics."""
    told = topics if len(topics) <= _MOST else in_short(topics)
    return "".join(map(hashed, told)) if len(told) <= _MOST else _ALL


class PostgresDoorbell(LocalDoorbell):
    """Rings at once within the process, and across processes through one channel."""

    def __init__(self, address: Address) -> None:
        super().__init__()
        self._address = address
        self.channel = f"{address.schema}_bell"
        self._start_anew()

    def _start_anew(self) -> None:
        self._pid = os.getpid()
        self._state = threading.Condition()
        self._outgoing: dict[str, None] = {}
        self._heard = False
        self._missed = False
        """Whether something may have been rung while nobody listened."""
        self._closed = False
        self._thread: threading.Thread | None = None
        self._wake = os.pipe()
        os.set_blocking(self._wake[0], False)
        os.set_blocking(self._wake[1], False)

    def listened(self) -> bool:
        """Someone in another process may always listen."""
        return not self._closed

    def ring(self, topics: Iterable[str]) -> None:
        """Wake whoever listens, here at once and elsewhere soon."""
        topics = set(topics)
        super().ring(topics)
        if self._thread is None or os.getpid() != self._pid:
            self._run_thread()
        if topics <= self._outgoing.keys():  # it is about to be said
            return
        with self._state:
            if self._closed:
                return
            idle = not self._outgoing
            self._outgoing.update(dict.fromkeys(topics))
        if idle:
            self._poke()

    def listen(self, topics: Iterable[str]) -> LocalBell:
        """A bell for these topics, also rung by other processes.

        Returns once the server listens too, so that nothing rung later is missed. If it does not
        within a moment, everybody is woken when it does.
        """
        bell = super().listen(topics)
        self._run_thread()
        with self._state:
            if not self._state.wait_for(lambda: self._heard or self._closed, _CONFIRMED):
                self._missed = True
        return bell

    def attend(self, topics: Iterable[str]) -> LocalBell:
        """The same at once, for somebody in this event loop: everybody is woken when the server
        listens."""
        bell = super().listen(topics)
        self._run_thread()
        with self._state:
            if not self._heard:
                self._missed = True
        return bell

    def close(self) -> None:
        """Let go of the connection and the thread; bells still open only time out."""
        if os.getpid() != self._pid:  # the thread and its connection are the parent's
            return
        with self._state:
            self._closed = True
            self._state.notify_all()
            thread, self._thread = self._thread, None
        self._poke()
        if thread is not None and thread is not threading.current_thread():
            thread.join(_QUIET)
        ends, self._wake = self._wake, (-1, -1)
        for end in ends:
            if end >= 0:
                os.close(end)

    def _run_thread(self) -> None:
        if os.getpid() != self._pid:
            self._start_anew()
        if self._thread is None:
            with self._state:
                if self._thread is None and not self._closed:
                    self._thread = threading.Thread(
                        target=self._serve, name="oxmill-postgres-bell", daemon=True
                    )
                    self._thread.start()

    def _poke(self) -> None:
        with contextlib.suppress(OSError):
            os.write(self._wake[1], b"!")

    # --- the thread ----------------------------------------------------------------------------

    def _serve(self) -> None:
        wait = _AGAIN[0]
        while not self._closed:
            try:
                link = open_link(self._address, listening=True)
            except psycopg.Error as fault:
                self._tell(fault)
            else:
                try:
                    self._attend(link)
                    wait = _AGAIN[0]
                except (psycopg.Error, OSError) as fault:
                    self._tell(fault)
                finally:
                    self._heard, self._missed = False, True
                    link.close()
            if not self._closed:
                with self._state:
                    self._state.wait_for(
                        lambda: self._closed,
                        wait * random.uniform(0.5, 1),  # noqa: S311 - only spreads load
                    )
            wait = min(2 * wait, _AGAIN[1])

    def _tell(self, fault: Exception) -> None:
        if not self._closed:
            said = str(fault).strip().partition("\n")[0]
            _log.warning("the doorbell's connection broke (%s); polling meanwhile", said)

    def _attend(self, link: Link) -> None:
        """Listen, see that we hear ourselves, then pass rings on both ways."""
        link.say(f"LISTEN {self.channel}")
        echo = f"?{random.getrandbits(64):016x}"
        # From another session: what one's own says comes back even through a pooler.
        with contextlib.closing(open_link(self._address, listening=True)) as other:
            self._notify(other, echo)
        deadline = time.monotonic() + _ECHO
        heard = False
        while not heard and not self._closed and (left := deadline - time.monotonic()) > 0:
            heard = echo in self._hear(link)
            if not heard:
                self._sleep(link, left)
        if not heard and not self._closed:
            _log.warning(
                "notifications do not come through (a pooler in transaction mode?); polling every "
                "%s s. Give the URL listen=, the address of the server itself",
                _DEAF,
            )
        with self._state:
            self._heard = True
            missed, self._missed = self._missed, False
            self._state.notify_all()
        if missed:
            self.ring_all()
        self._pass_on(link, deaf=not heard)

    def _pass_on(self, link: Link, *, deaf: bool) -> None:
        spoken, calm = 0.0, _CALM[0]
        while not self._closed:
            self._sleep(link, _DEAF if deaf else _QUIET)
            self._hear(link)
            if deaf:
                self.ring_all()
            with self._state:
                outgoing, self._outgoing = self._outgoing, {}
            now = time.monotonic()
            if outgoing:
                self._notify(link, message_for(outgoing))
                spoken = time.monotonic()
                with self._state:
                    self._state.wait_for(lambda: self._closed, calm)
                    calm = min(2 * calm, _CALM[1]) if self._outgoing else _CALM[0]
            elif now - spoken > _QUIET:
                link.say("SELECT 1")
                spoken = now
            self._hear(link)  # what came with an answer would wake nobody

    def _sleep(self, link: Link, seconds: float) -> None:
        """Until the server says something, a ring is to go out, or the time has passed."""
        if self._outgoing and self._heard:
            return
        waiting = select.poll()  # unlike select, it takes descriptors of any number
        waiting.register(link.connection.fileno(), select.POLLIN)
        waiting.register(self._wake[0], select.POLLIN)
        ready = [number for number, _ in waiting.poll(seconds * 1_000)]
        if self._wake[0] in ready:
            with contextlib.suppress(OSError):
                os.read(self._wake[0], 4096)

    def _hear(self, link: Link) -> list[str]:
        """Ring for what has arrived."""
        pgconn = link.connection.pgconn
        pgconn.consume_input()
        messages: list[str] = []
        while (notice := pgconn.notifies()) is not None:
            messages.append(notice.extra.decode())
        for message in messages:
            self._strike(message)
        return messages

    def _strike(self, message: str) -> None:
        if message == _ALL:
            self.ring_all()
        elif not message.startswith("?"):
            known = {hashed(topic): topic for topic in (*self.topics(), ENDS)}
            told = [message[at : at + 8] for at in range(0, len(message), 8)]
            topics = [known[each] for each in told if each in known]
            super().ring(topics)
            if ENDS in topics:
                self.ring_ends()

    def _notify(self, link: Link, message: str) -> None:
        text = statement(self._address.schema, "notify")
        link.ask(Query(text, [self.channel, message]))
