"""The main program of a child process: `python -m oxmill.worker.child`.

It imports the app once, then runs one job after the other as the worker sends them. It ends when
the worker goes away, even in the middle of a job.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import sys
import threading
from contextvars import copy_context
from functools import partial
from operator import attrgetter
from typing import IO, Any, Final

from oxmill.errors import BadConfig
from oxmill.queue.registry import Registry
from oxmill.rules.settle import failure_of
from oxmill.worker.execution import Execution
from oxmill.worker.lanes.lane import Arguments, Body
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
from oxmill.worker.runs import Run

CHECK_EVERY: Final = 0.5
"""Seconds between two looks after progress and after the worker."""


def main() -> int:
    """Serve one worker until it goes away."""
    inbox, outbox = _take_pipes()
    hello = receive(inbox)
    if not isinstance(hello, Hello):
        return 1
    _limit_memory(hello.memory)
    line = Line(outbox)
    try:
        sys.path[:] = hello.path
        registry = load_registry(hello.app)
    except BaseException as error:  # noqa: BLE001 - the worker reports it with the job
        line.tell(Broken(error=failure_of(error)))
        return 1
    line.tell(Ready())
    line.watch()
    with asyncio.Runner() as runner:
        execution = Execution(registry, HereLane())
        while isinstance(message := receive(inbox), Start):
            run = Run(message.job, renew_soon=line.look.set)
            run.inputs = message.inputs
            run.on_completing = partial(line.tell, Completing())
            line.run = run
            settlement = runner.run(execution.perform(run), context=copy_context())
            line.save()
            line.run = None
            if settlement is not None:
                line.tell(Ended.of(settlement))
    return 0


def load_registry(app: str) -> Registry:
    """The tasks of the app at `module:name`."""
    module, _, name = app.partition(":")
    found = attrgetter(name or "app")(importlib.import_module(module))
    registry = getattr(found, "registry", found)
    if not isinstance(registry, Registry):
        raise BadConfig(f"{app} is {type(found).__name__}, which has no tasks; name an App")
    return registry


class HereLane:
    """Runs one function at a time, right here: a child process has nothing else to do."""

    def of(self, _task: Body) -> HereLane:
        """The only lane there is."""
        return self

    async def call(self, _run: Run, task: Body, arguments: Arguments) -> Any:
        """Call the function, or await the coroutine. The worker watches the time."""
        args, kwargs = arguments
        value = task.fn(*args, **kwargs)
        return await value if task.is_async else value

    def stop(self, run: Run) -> None:
        """Never called: the worker kills the process."""

    def close(self) -> None:
        """Nothing to let go of."""


class Line:
    """The way back to the worker, shared by the job and a thread that sends its progress."""

    def __init__(self, outbox: IO[bytes]) -> None:
        self.run: Run | None = None
        self.look = threading.Event()
        self._outbox = outbox
        self._lock = threading.Lock()
        self._parent = os.getppid()

    def tell(self, message: Message) -> None:
        """Send one message."""
        with self._lock:
            send(self._outbox, message)

    def save(self) -> None:
        """Send progress that was not sent before."""
        run = self.run
        progress = None if run is None else run.unsaved()
        if run is not None and progress is not None:
            self.tell(Saved(progress=progress))
            run.mark_saved(progress)

    def watch(self) -> None:
        """Look after progress and the worker from now on, beside the job."""
        threading.Thread(target=self._watch, name="oxmill-child-watch", daemon=True).start()

    def _watch(self) -> None:
        while os.getppid() == self._parent:
            self.look.wait(CHECK_EVERY)
            self.look.clear()
            try:
                self.save()
            except (OSError, ValueError):  # the pipe is closed
                break
        # The worker is gone and its lease will lapse: to go on would be to run the job twice.
        os._exit(1)


def _take_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """The pipes to the worker. What the task prints must not get into them: it goes to stderr."""
    inbox, outbox = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return inbox, outbox


def _limit_memory(limit: int | None) -> None:
    if limit is None:
        return
    try:
        import resource  # noqa: PLC0415 - not there on Windows
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


if __name__ == "__main__":
    sys.exit(main())
