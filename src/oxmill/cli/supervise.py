"""Keeps worker processes running: several at once, or one that starts again on every change."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from oxmill.cli.exits import Exit
from oxmill.cli.output import say
from oxmill.worker.exits import ExitCode

SUPERVISED = "OXMILL_SUPERVISED"
"""Tells a worker that it has a supervisor: it stops when that one is gone."""

LOOK_SECONDS = 0.2
FIRST_DELAY, LONGEST_DELAY = 1.0, 30.0
"""How long to wait before a child that died is started again; doubles while it keeps dying."""
STOP_SECONDS = 10.0
"""How long a child may take to end before a reload kills it."""
STEADY_SECONDS = 60.0
"""A child that ran this long was healthy: the next wait starts small again."""

_UNUSABLE = frozenset({Exit.USAGE, Exit.STORE})


def oxmill(*words: str) -> list[str]:
    """A command line of ours, for a process of its own."""
    return [sys.executable, "-m", "oxmill.cli", *words]


class Child:
    """One place for a process, which may be filled again and again."""

    def __init__(self, argv: Sequence[str]) -> None:
        self._argv = list(argv)
        self._process: subprocess.Popen[bytes] | None = None
        self._started = 0.0
        self._delay = FIRST_DELAY
        self.due: float | None = 0.0
        """When to start it; `None` while it runs, and once it is not to run again."""

    @property
    def alive(self) -> bool:
        """Whether the process runs or is going to."""
        return self._process is not None or self.due is not None

    def start_if_due(self) -> None:
        """Start the process once its time has come."""
        if self.due is None or time.monotonic() < self.due:
            return
        # A session of its own: Ctrl-C reaches the supervisor alone, which passes it on once. (A
        # second signal would tell the worker to drop everything.)
        self._process = subprocess.Popen(  # noqa: S603 (our own command line)
            self._argv,
            start_new_session=True,
            env={**os.environ, SUPERVISED: "1"},
        )
        self._started = time.monotonic()
        self.due = None

    def ended(self) -> int | None:
        """The exit code, once, when the process has ended."""
        if self._process is None or (code := self._process.poll()) is None:
            return None
        self._process = None
        return code

    def start_again(self, *, at_once: bool) -> None:
        """Fill the place again: at once, or later and later while it keeps dying."""
        if at_once or time.monotonic() - self._started > STEADY_SECONDS:
            self._delay = FIRST_DELAY
        self.due = time.monotonic() + (0 if at_once else self._delay)
        self._delay = min(self._delay * 2, LONGEST_DELAY)

    def stop(self) -> None:
        """Ask the process to end, if it runs, and start no other. Asked twice, it hurries."""
        self.due = None
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()

    def kill(self) -> None:
        """End the process whatever it does; its jobs run again when their leases lapse."""
        if self._process is not None:
            self._process.kill()


class Supervisor:
    """Runs children until all are done or a signal comes; what dies is started again."""

    def __init__(self, argv: Sequence[str], number: int, *, drains: bool = False) -> None:
        self._children = [Child(argv) for _ in range(number)]
        # What will not get better by trying; and a drain does not wait for a store.
        self._hopeless = (Exit.USAGE, Exit.STORE) if drains else (Exit.USAGE,)
        self._stopping = False

    def run(self) -> int:
        """Until all children have ended for good; the worst of their exit codes."""
        worst = 0
        with passing_on(self._stop):
            while any(child.alive for child in self._children):
                for child in self._children:
                    child.start_if_due()
                    if (code := child.ended()) is not None:
                        worst = max(worst, self._after(child, code))
                time.sleep(LOOK_SECONDS)
        return worst

    def _after(self, child: Child, code: int) -> int:
        if self._stopping or code == ExitCode.OK:  # drained, or told to stop
            return abs(code)
        if code in self._hopeless:
            self._stop()
            return code
        if code != ExitCode.RECYCLE:
            say(f"a worker process ended with code {code}; starting another", tone="warn")
        child.start_again(at_once=code == ExitCode.RECYCLE)
        return 0

    def _stop(self) -> None:
        self._stopping = True
        for child in self._children:
            child.stop()


class Reloader:
    """Runs one child, and starts it again whenever `changed` says so."""

    def __init__(self, argv: Sequence[str], changed: Callable[[], bool]) -> None:
        self._child = Child(argv)
        self._changed = changed
        self._reloaded = False
        self._stopping = False

    def run(self) -> int:
        """Until a signal comes, or the first start shows that it cannot work like this."""
        with passing_on(self._stop):
            while self._child.alive or not self._stopping:
                self._child.start_if_due()
                code = self._child.ended()
                # Told to run what is not there, or on a store that cannot be used.
                if code is not None and code in _UNUSABLE and not self._reloaded:
                    return code
                if code is not None and not self._stopping:
                    say(f"the worker ended with code {code}; waiting for a change", tone="warn")
                if self._changed() and not self._stopping:
                    self._reload()
                time.sleep(LOOK_SECONDS)
        return 0

    def _reload(self) -> None:
        say("a file changed: starting again", tone="dim")
        self._reloaded = True
        self._child.stop()
        end = time.monotonic() + STOP_SECONDS
        while self._child.alive and self._child.ended() is None:
            if time.monotonic() > end:
                self._child.kill()
            time.sleep(LOOK_SECONDS / 10)
        if not self._stopping:
            self._child.start_again(at_once=True)

    def _stop(self) -> None:
        self._stopping = True
        self._child.stop()


@contextmanager
def passing_on(handle: Callable[[], None]) -> Iterator[None]:
    """Call `handle` on SIGTERM and SIGINT meanwhile."""

    def received(_number: int, _frame: FrameType | None) -> None:
        handle()

    before = {number: signal.signal(number, received) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
