"""Which lane a task runs in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from oxmill.errors import BadConfig
from oxmill.observe.bus import Bus
from oxmill.worker.lanes.in_thread import ThreadLane
from oxmill.worker.lanes.lane import Body, Lane
from oxmill.worker.lanes.on_loop import LoopLane

if TYPE_CHECKING:
    from oxmill.worker.messages import Hello


class LaneChoice(Protocol):
    """Picks the lane of a task."""

    def of(self, task: Body, /) -> Lane:
        """The lane that this task runs in."""
        ...

    def close(self) -> None:
        """Let go of all lanes."""
        ...


class Lanes:
    """Coroutines on the loop, functions in threads, `pool="process"` in child processes."""

    def __init__(
        self,
        slots: int = 1,
        *,
        bus: Bus | None = None,
        hello: Hello | None = None,
        recycle: int = 1,
    ) -> None:
        self._loop = LoopLane()
        self._thread = ThreadLane(slots, bus or Bus())
        self._process = None if hello is None else _in_children(slots, hello, recycle)

    def of(self, task: Body) -> Lane:
        """The lane that this task runs in."""
        pool = task.options.pool
        if pool == "auto":
            return self._loop if task.is_async else self._thread
        if pool == "thread":
            return self._thread
        if self._process is None:
            raise BadConfig(
                f"task {task.name!r} wants a child process, but the worker was not told where the "
                f"app is; start it with `oxmill worker --app module:app`"
            )
        return self._process

    @property
    def stuck(self) -> int:
        """Threads that were left behind and still run."""
        return self._thread.stuck

    def close(self) -> None:
        """Let go of threads and processes, without waiting for what still runs."""
        self._thread.close()
        if self._process is not None:
            self._process.close()


def _in_children(slots: int, hello: Hello, recycle: int) -> Lane:
    from oxmill.worker.lanes.in_process import ProcessLane  # noqa: PLC0415 - few workers have children

    return ProcessLane(slots, hello, recycle)
