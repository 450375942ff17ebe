"""Interleaved runs: ours, raw, peer, ours, raw, peer, … so that a noisy machine hits all alike."""

from __future__ import annotations

import signal
import sys
from collections.abc import Mapping

from benchmarks.contestant import Measured
from benchmarks.measuring import once
from benchmarks.party import Failed, Party
from benchmarks.report import Run
from benchmarks.workload import Entry, Workload

LEAST = 100


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
                found = once(party, entry, _asked(workload, entry, scale))
            except Failed as failure:
                run.errors[name] = str(failure)
                print(f"{start} FAILED {str(failure).splitlines()[-1]}", flush=True)
                continue
            run.add(name, found)
            print(f"{start} {shown(found)}", flush=True)
    return run


def shown(found: Measured) -> str:
    """Figures in one line."""
    return "  ".join(f"{metric} {value:,.4g}" for metric, value in found.items())


def _asked(workload: Workload, entry: Entry, scale: float) -> int:
    """A round number of jobs, so that batches and callers get equal parts."""
    return max(LEAST, int((entry.jobs or workload.jobs) * scale) // LEAST * LEAST)
