"""What an adapter of another queue tells, and the same clocks as ours around it.

An adapter is one file that starts with its requirements and what the table says about it, as
inline script metadata (see environments.py); it subclasses `Peer` with whatever its library offers,
blocking or async. Only the standard library and the adapter's own library are used.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable

from benchmarks.contestant import Measured, Place
from benchmarks.marks import FirstStart, check_stored, latencies, watch

CALLERS = 100


class Peer:
    """One library at one place. Methods that are not overridden are not offered."""

    enqueue: Callable[[], object]
    """Enqueue one no-op job."""
    aenqueue: Callable[[], Awaitable[object]]
    """The same, awaited."""
    enqueue_many: Callable[[int], object]
    """Enqueue that many with the library's bulk call."""
    aenqueue_many: Callable[[int], Awaitable[object]]
    left: Callable[[], int]
    """How many jobs wait or run, as the store says."""
    aleft: Callable[[], Awaitable[int]]
    send: Callable[[float], object]
    """Enqueue one stamped job."""
    asend: Callable[[float], Awaitable[object]]
    work: Callable[[], None]
    """A worker, until it is told to stop."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.started = FirstStart(place.folder)

    def prepare(self) -> None:
        """Make tables, if there are any to make; called before the first fill."""

    async def open(self) -> None:
        """Connect, on the event loop that the async methods will run on."""

    async def close(self) -> None:
        """Disconnect."""


def _one(peer: Peer, runner: asyncio.Runner, jobs: int) -> Measured:
    peer.enqueue()
    start = time.perf_counter()
    for _ in range(jobs):
        peer.enqueue()
    rate = jobs / (time.perf_counter() - start)
    check_stored(_left(peer, runner), jobs + 1)
    return {"rate": rate}


def _async(peer: Peer, runner: asyncio.Runner, jobs: int, callers: int = 1) -> Measured:
    async def caller(count: int) -> None:
        for _ in range(count):
            await peer.aenqueue()

    async def work() -> float:
        await peer.aenqueue()
        start = time.perf_counter()
        await asyncio.gather(*(caller(jobs // callers) for _ in range(callers)))
        return jobs / (time.perf_counter() - start)

    rate = runner.run(work())
    check_stored(_left(peer, runner), jobs + 1)
    return {"rate": rate}


def _concurrent(peer: Peer, runner: asyncio.Runner, jobs: int) -> Measured:
    return _async(peer, runner, jobs, CALLERS)


def _bulk(peer: Peer, runner: asyncio.Runner, jobs: int) -> Measured:
    start = time.perf_counter()
    _many(peer, runner, jobs)
    rate = jobs / (time.perf_counter() - start)
    check_stored(_left(peer, runner), jobs)
    return {"rate": rate}


def _many(peer: Peer, runner: asyncio.Runner, jobs: int) -> None:
    if hasattr(peer, "enqueue_many"):
        peer.enqueue_many(jobs)
    else:
        runner.run(peer.aenqueue_many(jobs))


def _fill(peer: Peer, runner: asyncio.Runner, jobs: int) -> None:
    if hasattr(peer, "enqueue_many") or hasattr(peer, "aenqueue_many"):
        _many(peer, runner, jobs)
    elif hasattr(peer, "enqueue"):
        for _ in range(jobs):
            peer.enqueue()
    else:
        runner.run(_fill_async(peer, jobs))


async def _fill_async(peer: Peer, jobs: int) -> None:
    for first in range(0, jobs, CALLERS):
        await asyncio.gather(*(peer.aenqueue() for _ in range(min(CALLERS, jobs - first))))


def _watch(peer: Peer, runner: asyncio.Runner, jobs: int) -> Measured:
    return watch(lambda: _left(peer, runner))


def _left(peer: Peer, runner: asyncio.Runner) -> int:
    return peer.left() if hasattr(peer, "left") else runner.run(peer.aleft())


def _latency(peer: Peer, runner: asyncio.Runner, jobs: int) -> Measured:
    if hasattr(peer, "send"):
        return latencies(peer.place, jobs, peer.send)
    return latencies(peer.place, jobs, lambda sent: runner.run(peer.asend(sent)))


ACTIONS = {
    "fill": (_fill, ()),
    "enqueue_one": (_one, ("enqueue",)),
    "enqueue_async": (_async, ("aenqueue",)),
    "enqueue_concurrent": (_concurrent, ("aenqueue",)),
    "enqueue_bulk": (_bulk, ("enqueue_many", "aenqueue_many")),
    "watch": (_watch, ("left", "aleft")),
    "latency": (_latency, ("send", "asend")),
}
"""What to do, and the methods of which one is needed for it."""


def offers(kind: type[Peer]) -> list[str]:
    """What an adapter can do."""
    return [
        name
        for name, (_, needs) in ACTIONS.items()
        if not needs or any(hasattr(kind, need) for need in needs)
    ]


def main(kind: type[Peer]) -> None:
    """Do one thing and print what was measured."""
    what, jobs = sys.argv[1], int(sys.argv[2])
    if what == "offers":
        print(json.dumps({"offers": offers(kind)}))
        return
    peer = kind(Place.here())
    if what == "work":
        peer.work()
        return
    act, _ = ACTIONS[what]
    with asyncio.Runner() as runner:
        peer.prepare()
        runner.run(peer.open())
        found = act(peer, runner, jobs) or {}
        runner.run(peer.close())
    print(json.dumps(found), flush=True)
