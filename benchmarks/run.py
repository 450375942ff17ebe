"""Runs workloads, interleaved, and writes what it found.

    python -m benchmarks.run                        all workloads on all stores, three runs each
    python -m benchmarks.run W3 --store redis       one of them on one store
    python -m benchmarks.run --runs 5 --scale 0.1   more runs, a tenth of the jobs

Every figure is the median of interleaved runs (ours, raw, ours, raw, …), so that a noisy machine
hits all alike. Results go to benchmarks/results/ as JSON and Markdown.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil

from benchmarks import workloads
from benchmarks.interleave import measure, stop_when_told
from benchmarks.machine import describe
from benchmarks.party import CONTESTANTS, PREFIXES, Party, contestant
from benchmarks.report import Run, write
from benchmarks.workload import Workload

STORES = ("sqlite", "redis", "postgres", "mariadb")


def load() -> list[Workload]:
    """All workloads, by file name."""
    names = sorted(module.name for module in pkgutil.iter_modules(workloads.__path__))
    return [importlib.import_module(f"benchmarks.workloads.{name}").WORKLOAD for name in names]


def parties(workload: Workload, store: str) -> dict[str, Party]:
    """Who of ours takes part on this store."""
    found = {name: contestant(entry.who, store) for name, entry in workload.entries.items()}
    return {name: party for name, party in found.items() if party is not None}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="*", help="workloads, such as W3; all by default")
    parser.add_argument("--store", action="append", choices=STORES, help="all by default")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1, help="factor on the number of jobs")
    parser.add_argument("--note", help="a remark for the results, such as: loaded")
    options = parser.parse_args()
    stop_when_told()
    chosen = [w for w in load() if not options.only or w.id in options.only]
    stores = options.store or [s for s in STORES if (CONTESTANTS / f"oxmill_{s}.py").exists()]
    found = (contestant(who, store) for store in stores for who in PREFIXES)
    told = [party.about() for party in found if party is not None]
    about = {"machine": describe(stores, options), "parties": told}
    done: list[Run] = []
    for store in stores:
        for workload in (w for w in chosen if w.stores is None or store in w.stores):
            taking = parties(workload, store)
            done.append(measure(workload, store, taking, options.runs, options.scale))
            write("latest", about, done)  # after each, so that an end halfway loses nothing
    if not all(row.met for run in done for row in run.rows()):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
