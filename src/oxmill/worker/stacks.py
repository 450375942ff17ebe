"""Where code is at this moment, for the log."""

from __future__ import annotations

import asyncio
import sys
import traceback
from types import FrameType
from typing import Any


def stack_of_thread(ident: int | None) -> str:
    """What a thread is doing; empty if it has ended."""
    frame = None if ident is None else sys._current_frames().get(ident)  # noqa: SLF001 - no other way
    return "" if frame is None else "".join(traceback.format_stack(frame))


def stack_of_task(task: asyncio.Task[Any] | None) -> str:
    """What a coroutine waits for, from the outermost await to the innermost.

    `Task.get_stack` shows the outermost frame of a waiting task only.
    """
    waiting: Any = None if task is None else task.get_coro()
    frames: list[FrameType] = []
    while waiting is not None:
        frame = _frame(waiting)
        if frame is not None:
            frames.append(frame)
        waiting = _awaited(waiting)
    summary = traceback.StackSummary.extract((frame, frame.f_lineno) for frame in frames)
    return "".join(summary.format())


def _frame(waiting: Any) -> FrameType | None:
    for name in ("cr_frame", "gi_frame", "ag_frame"):
        frame = getattr(waiting, name, None)
        if isinstance(frame, FrameType):
            return frame
    return None


def _awaited(waiting: Any) -> Any:
    for name in ("cr_await", "gi_yieldfrom", "ag_await"):
        inner = getattr(waiting, name, None)
        if inner is not None:
            return inner
    return None
