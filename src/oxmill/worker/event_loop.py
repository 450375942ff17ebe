"""Runs the worker's coroutine on a loop of its own, and leaves in bounded time."""

from __future__ import annotations

import asyncio
import importlib
import os
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import Any, Final, TypeVar

from oxmill.errors import BadConfig
from oxmill.worker.config import LoopKind

T = TypeVar("T")
LEAVE: Final = 2.0
"""Seconds for tasks that are still there to take their cancellation. A task that swallows it must
not keep the process alive."""


def new_loop(kind: LoopKind) -> asyncio.AbstractEventLoop:
    """A new event loop; `auto` takes uvloop where it is installed."""
    if kind == "asyncio" or (kind == "auto" and find_spec("uvloop") is None):
        return asyncio.new_event_loop()
    try:
        make: Callable[[], asyncio.AbstractEventLoop] = importlib.import_module(
            "uvloop"
        ).new_event_loop
    except ImportError:
        raise BadConfig(
            "uvloop is not installed; install oxmill[fast], or use loop='asyncio'"
        ) from None
    return make()


def run_on(loop: asyncio.AbstractEventLoop, main: Coroutine[Any, Any, T]) -> tuple[T, bool]:
    """Run to the end, then close the loop, whatever is left on it. The answer, and whether a thread
    of `asyncio.to_thread` is stuck, for which the interpreter would wait for ever."""
    name = f"oxmill-pool-{os.urandom(3).hex()}"
    pool = ThreadPoolExecutor(thread_name_prefix=name)
    try:
        asyncio.set_event_loop(loop)
        loop.set_default_executor(pool)
        answer = loop.run_until_complete(main)
    finally:
        try:
            loop.run_until_complete(_clear())
        finally:
            asyncio.set_event_loop(None)
            loop.close()
            pool.shutdown(wait=False, cancel_futures=True)
    return answer, _still_there(name)


def _still_there(name: str) -> bool:
    end = time.monotonic() + LEAVE
    while any(thread.name.startswith(name) for thread in threading.enumerate()):
        if time.monotonic() > end:
            return True
        time.sleep(0.01)
    return False


async def _clear() -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    if left:
        await asyncio.wait(left, timeout=LEAVE)
    await asyncio.get_running_loop().shutdown_asyncgens()
