"""Single measurements, each on a fresh store: one function per way to hold a clock."""

from __future__ import annotations

import importlib
import json
import os
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType

from benchmarks.contestant import Measured, Place
from benchmarks.marks import first_start
from benchmarks.party import PATIENCE, Failed, Party
from benchmarks.processors import Look, cores, stolen
from benchmarks.workload import Entry

SETTLE_DOWN, IDLE = 3.0, 5.0
STOLEN = "stolen"
"""The figure that tells how far a measurement may be trusted: see processors.py."""


def server_of(store: str) -> ModuleType:
    """What knows how to start a store's server and what it holds."""
    return importlib.import_module(f"benchmarks.servers.{store}")


def once(party: Party, entry: Entry, jobs: int) -> Measured:
    """One measurement in a fresh folder, on a fresh server, in fresh processes."""
    server = server_of(party.store)
    with tempfile.TemporaryDirectory(prefix="oxmill-bench-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # a server may run as another user
        (folder / "store").mkdir()
        with server.serve(folder / "store") as url:
            place = Place(folder, url)
            if entry.does in WAYS:
                return clocked(lambda: WAYS[entry.does](party, entry, place, jobs))
            if entry.fill is not None:
                party.ask(place, entry.fill, entry.backlog or jobs)
                server.come_to_rest(url)
            return clocked(lambda: figures(party.ask(place, entry.does, jobs)))


def clocked(measurement: Callable[[], Measured]) -> Measured:
    """A measurement with what the host took meanwhile, unless it says so itself, more exactly."""
    before = Look.now()
    found = measurement()
    return {STOLEN: stolen(before, Look.now()), **found}


def figures(found: dict[str, object]) -> Measured:
    """The numbers of an answer."""
    return {name: float(value) for name, value in found.items() if isinstance(value, int | float)}


def race(party: Party, entry: Entry, place: Place, jobs: int) -> Measured:
    """Worker processes against a backlog: from the first start to an empty store."""
    party.ask(place, entry.fill or "fill", jobs)
    server_of(party.store).come_to_rest(place.url)
    with ExitStack() as stack:
        watch = stack.enter_context(party.process(place, "watch", jobs, log="watch"))
        said = watch.stdout.readline().strip()
        if said != f"ready {jobs}":
            raise Failed(f"asked for {jobs} waiting jobs, the watch says: {said or 'nothing'}")
        workers = [
            stack.enter_context(party.process(place, "work", log=f"worker {number}"))
            for number in range(entry.workers)
        ]
        deadline, looks = time.monotonic() + PATIENCE, list[Look]()
        while watch.poll() is None:
            if looks or any(place.folder.glob("started-*")):
                looks.append(Look.now())
            if any(worker.poll() is not None for worker in workers):
                raise Failed("a worker ended before its work")
            if time.monotonic() > deadline:
                raise Failed(f"not empty after {PATIENCE} s")
            time.sleep(0.1)
        empty_at = json.loads(watch.stdout.read().splitlines()[-1])["empty_at"]
    took = empty_at - first_start(place.folder)
    seen = (looks[0], looks[-1]) if looks else (Look.now(),) * 2
    return {"rate": jobs / took, "took_s": took, "cores": cores(*seen), STOLEN: stolen(*seen)}


def latency(party: Party, entry: Entry, place: Place, jobs: int) -> Measured:
    """From an enqueue to the start in another process that is idle."""
    party.ask(place, "fill", 0)  # makes the tables, before two processes would do so at once
    with party.process(place, "work", log="worker"):
        time.sleep(1)
        return figures(party.ask(place, "latency", jobs))


def idle(party: Party, entry: Entry, place: Place, jobs: int) -> Measured:
    """Memory and CPU of a worker with nothing to do, its children included."""
    party.ask(place, "fill", 0)
    with party.process(place, "work", log="worker") as worker:
        time.sleep(SETTLE_DOWN)
        before, start = _cpu(worker.pid), time.perf_counter()
        time.sleep(IDLE)
        used, took = _cpu(worker.pid) - before, time.perf_counter() - start
        if worker.poll() is not None:
            raise Failed("the worker ended")
        return {"cpu_percent": used / took * 100, "rss_mb": _memory(worker.pid) / 1e6}


def stored(party: Party, entry: Entry, place: Place, jobs: int) -> Measured:
    """Bytes that a waiting job takes in the store."""
    bytes_of = server_of(party.store).stored_bytes
    party.ask(place, "fill", 100)
    before = bytes_of(place.url)
    party.ask(place, "fill", jobs)
    return {"bytes": (bytes_of(place.url) - before) / jobs}


WAYS = {"race": race, "latency": latency, "idle": idle, "bytes": stored}


def _family(pid: int) -> list[int]:
    """A process and all its descendants."""
    found = [pid]
    for each in found:
        for task in Path(f"/proc/{each}/task").glob("*/children"):
            found += map(int, task.read_text().split())
    return found


def _cpu(pid: int) -> float:
    ticks = 0
    for each in _family(pid):
        fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _memory(pid: int) -> float:
    pages = (int(Path(f"/proc/{each}/statm").read_text().split()[1]) for each in _family(pid))
    return float(sum(pages) * os.sysconf("SC_PAGE_SIZE"))
