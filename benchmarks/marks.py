"""What runs of jobs leave behind for the clocks of the benchmarks.

The monotonic clock is the same for all processes of a machine, so a time taken in one may be
compared in another. Only the standard library is used here: peers import it.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.contestant import Measured, Place

LOOK, LONG_LOOK = 0.02, 0.5
"""Seconds between two looks at a store that is being drained: when the end is near, and at most."""
PAUSE = (0.02, 0.07)
"""Seconds between two stamped jobs: at random, or a worker that polls would fall into step."""
WARM = 10


class FirstStart:
    """Writes down when the first job of this process started; costs the others next to nothing."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._told = False
        os.register_at_fork(after_in_child=self._forget)

    def __call__(self) -> None:
        if not self._told:
            self._told = True
            (self._folder / f"started-{os.getpid()}").write_text(str(time.monotonic_ns()))

    def _forget(self) -> None:
        self._told = False


def first_start(folder: Path) -> float:
    """When the first job of all processes started."""
    return min(int(path.read_text()) for path in folder.glob("started-*")) / 1e9


def watch(left: Callable[[], int]) -> Measured:
    """When the store said that nothing waits and nothing runs, having said how much there was."""
    before, seen, pause = left(), time.monotonic(), LOOK
    print(f"ready {before}", flush=True)
    while before:
        time.sleep(pause)
        found, now = left(), time.monotonic()
        # Rarely while much is left: a look takes of the processors that workers need.
        ahead = (now - seen) * found / (before - found) / 4 if before > found else 0
        pause = min(max(LOOK, ahead), LONG_LOOK)
        before, seen = found, now
    # The moment of the answer: between question and answer a short race may begin and end.
    return {"empty_at": seen}


def check_stored(found: int, wanted: int) -> None:
    """A rate counts only if the store has what was sent; asked after the clock has stopped."""
    if found != wanted:
        raise SystemExit(f"the store holds {found} of {wanted} jobs")


def stamp(folder: Path, sent: float) -> None:
    """Say how long ago a job was sent: called first thing in its run."""
    took = time.monotonic() - sent
    pipe = os.open(folder / "stamps", os.O_WRONLY)
    os.write(pipe, f"{json.dumps(took)}\n".encode())
    os.close(pipe)


def latencies(place: Place, jobs: int, send: Callable[[float], object]) -> Measured:
    """Send one stamped job after the other to an idle worker in another process."""
    from statistics import median, quantiles  # the worker's memory is measured

    path = place.folder / "stamps"
    os.mkfifo(path)
    seconds: list[float] = []
    # Opened for both, so that there is no end of file between two jobs.
    with os.fdopen(os.open(path, os.O_RDWR), "r") as pipe:
        for index in range(jobs + WARM):
            send(time.monotonic())
            took = float(pipe.readline())
            if index >= WARM:
                seconds.append(took)
            time.sleep(random.uniform(*PAUSE))
    return {"p50_ms": median(seconds) * 1e3, "p99_ms": quantiles(seconds, n=100)[98] * 1e3}
