"""Interleaved runs: ours, raw, peer, ours, raw, peer, … so that a noisy machine hits all alike.

A measurement during which the host took away too much of the processors is made again, whoever it is of and
whatever it found; if none is calm enough, the calmest counts. How much was taken is told with the figures.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Mapping
from functools import partial

from benchmarks.contestant import Measured
from benchmarks.measuring import STOLEN, once
from benchmarks.party import Failed, Party
from benchmarks.report import Run
from benchmarks.workload import Entry, Workload

LEAST = 100
CALM, TRIES = 0.05, 2
"""Which part of the processors' time may be missing, and how often to hope for it."""


def stop_when_told() -> None:
    """Let a SIGTERM unwind the stack, so that servers and workers end with this process."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))


def measure(
    workload: Workload,
    store: str,
    parties: Mapping[str, Party],
    runs: int,
    scale: float = 1,
) -> Run:
    """All entries that have a party, run after run. What fails once is told and not tried again."""
    run = Run(workload, store)
    for number in range(1, runs + 1):
        for name, entry in workload.entries.items():
            party = parties.get(name)
            if party is None or name in run.errors:
                continue
            start = f"{workload.id} {store} {number}/{runs}  {name:22}"
            try:
                jobs = _asked(workload, entry, scale)
                found = calmly(partial(once, party, entry, jobs))
            except Failed as failure:
                run.errors[name] = str(failure)
                print(f"{start} FAILED {str(failure).splitlines()[-1]}", flush=True)
                continue
            run.add(name, found)
            print(f"{start} {shown(found)}", flush=True)
    return run


def calmly(measurement: Callable[[], Measured]) -> Measured:
    """The first measurement that was left in peace, or else the one that was disturbed least."""
    tried = [measurement()]
    while tried[-1][STOLEN] > CALM and len(tried) < TRIES:
        tried.append(measurement())
    return min(tried, key=lambda found: found[STOLEN])


def shown(found: Measured) -> str:
    """Figures in one line."""
    return "  ".join(f"{metric} {value:,.4g}" for metric, value in found.items())


def _asked(workload: Workload, entry: Entry, scale: float) -> int:
    """A round number of jobs, so that batches and callers get equal parts."""
    return max(LEAST, int((entry.jobs or workload.jobs) * scale) // LEAST * LEAST)
