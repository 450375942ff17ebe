"""One child process, from the worker's side."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress

from oxmill.errors import OxmillError
from oxmill.model.settlement import Failure, Settlement
from oxmill.worker.messages import (
    Broken,
    Completing,
    Ended,
    Hello,
    Message,
    Ready,
    Saved,
    Start,
    receive,
    send,
)


class ChildCrashed(OxmillError):
    """A child process died in the middle of a run: killed, out of memory, or a fault in C code."""


class ChildBroken(OxmillError):
    """A child process could not import the app."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(
            f"a child process could not import the app: {failure.type}: {failure.message}"
        )
        self.add_note(failure.traceback)


class Child:
    """Runs one job at a time. All calls but `kill` block, and belong into a thread."""

    def __init__(self, hello: Hello) -> None:
        self.jobs = 0
        self._killed = False
        self._process = subprocess.Popen(
            [sys.executable, "-m", "oxmill.worker.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Ctrl-C in a terminal is for the worker, which knows what to do.
            process_group=0 if os.name == "posix" else None,
        )
        self._tell(hello)

    def wait_ready(self) -> None:
        """Wait until the app is imported."""
        match self._hear():
            case Ready():
                return
            case Broken(error=failure):
                self.close()
                raise ChildBroken(failure)
            case other:
                raise self._crashed(other)

    def perform(
        self,
        start: Start,
        on_progress: Callable[[bytes], None],
        on_completing: Callable[[], None],
    ) -> Settlement:
        """Run one job to its outcome; `ChildCrashed` if the process dies over it."""
        self.jobs += 1
        self._tell(start)
        while True:
            match self._hear():
                case Saved(progress=progress):
                    on_progress(progress)
                case Completing():
                    on_completing()
                case Ended() as ended:
                    return ended.settlement(start.job)
                case other:
                    raise self._crashed(other)

    def kill(self) -> None:
        """End the process at once, from whatever thread; `perform` then raises `ChildCrashed`."""
        self._killed = True
        self._process.kill()

    @property
    def usable(self) -> bool:
        """Whether it can take another job."""
        return not self._killed and self._process.poll() is None

    def close(self) -> None:
        """End the process and let go of its pipes."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):  # what was still unsent goes nowhere
                    pipe.close()

    def _tell(self, message: Message) -> None:
        assert self._process.stdin is not None  # noqa: S101 - opened above
        try:
            send(self._process.stdin, message)
        except OSError:
            raise self._crashed(None) from None

    def _hear(self) -> Message | None:
        assert self._process.stdout is not None  # noqa: S101 - opened above
        return receive(self._process.stdout)

    def _crashed(self, heard: Message | None) -> ChildCrashed:
        self.close()
        if heard is not None:
            return ChildCrashed(f"the child process sent {type(heard).__name__} out of turn")
        return ChildCrashed(f"the child process {_how(self._process.returncode)} during the run")


def _how(code: int) -> str:
    if code >= 0:
        return f"exited with code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"
