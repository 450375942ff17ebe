"""SIGTERM and SIGINT: drain; a second one: stop at once."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

STOP: Final = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def signals_to(handle: Callable[[str], None]) -> Iterator[None]:
    """Call `handle` with the signal's name, in the loop's thread. Only in the main thread: nothing
    else may set handlers. The ones before are put back in the end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in STOP}
    for number in STOP:
        name = signal.Signals(number).name
        try:
            loop.add_signal_handler(number, handle, name)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda *_, name=name: loop.call_soon_threadsafe(handle, name))
    try:
        yield
    finally:
        for number, handler in before.items():
            with suppress(NotImplementedError):
                loop.remove_signal_handler(number)
            signal.signal(number, handler or signal.SIG_DFL)
