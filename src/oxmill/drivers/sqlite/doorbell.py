"""The doorbell of a database file: at once within the process, by sockets to other processes.

Hints may be lost, so every listener also looks now and then whether anything was committed at all.
Where no socket can be made it looks more often.
"""

from __future__ import annotations

import asyncio
import logging
import selectors
import socket
import sqlite3
import threading
import time
from collections.abc import Collection, Iterable
from typing import Final

from oxmill.drivers.sqlite.connection import Place, connect
from oxmill.drivers.sqlite.forks import watch_forks
from oxmill.drivers.sqlite.peers import Ear, Peers, meeting_place
from oxmill.drivers.sqlite.roll import Roll
from oxmill.store.bells import LocalBell, LocalDoorbell
from oxmill.store.doorbell import CONTROL, ENDS

_log = logging.getLogger("oxmill.sqlite")

LINGER: Final = 5.0
"""Seconds for which the listener stays after its last bell was closed."""
_SAFETY_NET: Final = 0.4
"""Seconds between looks where sockets work."""
_SHORTEST, _LONGEST = 0.005, 0.25
"""Seconds between looks where they do not: the shorter, the more is going on."""
_ASKING: Final = 2.0
"""Seconds before a change wakes those who wait to be asked for something once more."""


class Watch:
    """Whether another connection has committed since the last look."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._version: int | None = None

    def changed(self) -> bool:
        """Look. Costs a few microseconds and holds no lock on the database afterwards."""
        with self._lock:
            try:
                if self._connection is None:
                    if not self._place.path.exists():  # opening would make it, as SQLite likes it
                        return False
                    self._connection = connect(self._place, reader=True)
                (version,) = self._connection.execute("PRAGMA data_version").fetchone()
            except sqlite3.Error as error:
                _log.debug("cannot look for changes of %s: %s", self._place.path, error)
                self._drop()
                return True
        before, self._version = self._version, version
        return before is not None and before != version

    def pause(self) -> None:
        """Before a fork: no connection, and none to be opened."""
        self._lock.acquire()
        self._drop()

    def resume(self) -> None:
        """After a fork, in the parent."""
        self._lock.release()

    def close(self) -> None:
        """Let go of the connection."""
        with self._lock:
            self._drop()

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


class Listener:
    """The one thread of this process that waits for nudges, while someone listens."""

    def __init__(self, home: SqliteDoorbell, place: Place, ear: Ear | None) -> None:
        self.ear = ear
        self.watch = Watch(place)
        self._home = home
        self._wake, self._woken = socket.socketpair()
        self._stopped = False
        self._nap = _SHORTEST
        self._asking, self._ask_at = False, 0.0
        self._thread = threading.Thread(target=self._run, name="oxmill-doorbell", daemon=True)

    def start(self) -> None:
        """Begin."""
        self.watch.changed()
        self._thread.start()

    def stop(self) -> None:
        """End, and wait for that. Told first and woken then, the thread might have ended by itself in
        between, with the socket that wakes it closed."""
        self._wake.send(b".")
        self._stopped = True
        if self._thread is not threading.current_thread():
            self._thread.join()

    def close(self) -> None:
        """Let go of everything. Called once, when nobody will nudge any more."""
        if self.ear is not None:
            self.ear.close()
        self.watch.close()
        self._wake.close()
        self._woken.close()

    def abandon(self) -> None:
        """After a fork, in the child: let go of copies, and touch nothing that is the parent's."""
        if self.ear is not None:
            self.ear.socket.close()
        self._wake.close()
        self._woken.close()

    def _run(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._woken, selectors.EVENT_READ)
            if self.ear is not None:
                selector.register(self.ear.socket, selectors.EVENT_READ)
            idle_since = time.monotonic()
            while not self._stopped:
                events = selector.select(_SAFETY_NET if self.ear is not None else self._nap)
                if self._home.listeners:
                    idle_since = time.monotonic()
                elif time.monotonic() - idle_since > LINGER and self._home.dismiss(self):
                    break
                self._pass_on(heard=bool(events))
        self.close()

    def _pass_on(self, *, heard: bool) -> None:
        """Ring for what was heard; if nothing was, for whatever may have changed."""
        if heard and self.ear is not None:
            topics = self.ear.hear()
            if topics is None:
                self._home.ring_all()
            else:
                self._home.ring_here(topics)
                if ENDS in topics:
                    self._home.ring_ends()
        elif self.watch.changed():
            self._nap = _SHORTEST
            self._home.ring_most()
            self._asking = self.ear is None
        else:
            self._nap = min(self._nap * 1.5, _LONGEST)
        if self._asking:
            self._ask_now_and_then()

    def _ask_now_and_then(self) -> None:
        """Where no socket tells what is asked of workers, any change may be that. They write when they
        look, which is a change again: so not after each."""
        now = time.monotonic()
        if now >= self._ask_at:
            self._asking, self._ask_at = False, now + _ASKING
            self._home.ring_here((CONTROL,))


class SqliteDoorbell(LocalDoorbell):
    """Wakes listeners of this process at once, and those of others within milliseconds."""

    def __init__(self, place: Place, *, sockets: bool = True) -> None:
        super().__init__()
        self._place = place
        self._sockets = sockets and hasattr(socket, "AF_UNIX")
        self._start_anew()
        watch_forks(self)

    def _start_anew(self) -> None:
        self._guard = threading.Lock()
        self._listener: Listener | None = None
        self._outbox: dict[asyncio.AbstractEventLoop, set[str]] = {}
        """Topics that other processes hear of before the loop's next turn is over."""
        self._roll = Roll(self._place.lock)
        self._peers = Peers(meeting_place(self._place.path), self._roll) if self._sockets else None

    def listened(self) -> bool:
        """Whether anyone listens, here or in another process."""
        return bool(self._bells) or (self._peers is not None and self._peers.there())

    def ring(self, topics: Iterable[str]) -> None:
        """Wake whoever listens to one of the topics, here and elsewhere."""
        topics = list(topics)
        self.ring_here(topics)
        if not topics or self._peers is None:
            return
        loop = asyncio._get_running_loop()  # noqa: SLF001 - the cheap way to ask
        if loop is None:
            self._nudge(topics)
        elif (waiting := self._outbox.get(loop)) is not None:
            waiting.update(topics)
        else:
            # A hundred callers whose jobs were committed together are heard of in one nudge.
            self._outbox[loop] = set(topics)
            loop.call_soon(self._empty_outbox, loop)

    def _empty_outbox(self, loop: asyncio.AbstractEventLoop) -> None:
        self._nudge(self._outbox.pop(loop, ()))

    def _nudge(self, topics: Collection[str]) -> None:
        if self._peers is not None:
            listener = self._listener
            self._peers.nudge(topics, None if listener is None else listener.ear)

    def ring_here(self, topics: Iterable[str]) -> None:
        """Wake listeners of this process only."""
        super().ring(topics)

    def listen(self, topics: Iterable[str]) -> LocalBell:
        """A bell for these topics; from now on other processes are heard too."""
        bell = super().listen(topics)
        letters = "".join({topic[0] for topic in bell.topics})
        with self._guard:
            if self._listener is None:
                self._listener = Listener(self, self._place, self._new_ear(letters))
                self._listener.start()
            elif self._listener.ear is not None:
                self._listener.ear.wants(letters)
        return bell

    def dismiss(self, listener: Listener) -> bool:
        """Whether the listener may go, because nobody listens any more."""
        with self._guard:
            if self.listeners or self._listener is not listener:
                return False
            self._listener = None
            return True

    def close(self) -> None:
        """Let go of sockets and threads."""
        with self._guard:
            listener, self._listener = self._listener, None
        if listener is not None:
            listener.stop()
        if self._peers is not None:
            self._peers.close()
        self._roll.close()

    def _new_ear(self, letters: str) -> Ear | None:
        if not self._sockets:
            return None
        try:
            return Ear(meeting_place(self._place.path), letters, self._roll)
        except OSError as error:
            _log.info("the doorbell of %s falls back to polling: %s", self._place.path, error)
            return None

    # --- forks ---------------------------------------------------------------------------------

    def before_fork(self) -> None:
        """Close the connection that looks for changes; nobody may open another."""
        self._guard.acquire()
        if self._listener is not None:
            self._listener.watch.pause()

    def after_fork_in_parent(self) -> None:
        """Go on."""
        if self._listener is not None:
            self._listener.watch.resume()
        self._guard.release()

    def after_fork_in_child(self) -> None:
        """Nobody listens here yet; the parent's socket and bells are the parent's."""
        if self._listener is not None:
            self._listener.abandon()
        LocalDoorbell.__init__(self)
        self._start_anew()
