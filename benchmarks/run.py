"""Runs workloads, interleaved, and writes what it found.

    python -m benchmarks.run                 all workloads, three runs each
    python -m benchmarks.run W3 --runs 5     one of them

Every figure is the median of interleaved runs (ours, raw, ours, raw, …), so that a noisy machine
hits all contestants alike. Results go to benchmarks/results/ as JSON and Markdown.
"""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from benchmarks import workloads
from benchmarks.machine import describe
from benchmarks.workload import Bound, Entry, Ratio, Workload

RESULTS = Path(__file__).parent / "results"
Figures = dict[str, dict[str, list[float]]]


def load() -> list[Workload]:
    """All workloads, by file name."""
    names = sorted(module.name for module in pkgutil.iter_modules(workloads.__path__))
    return [importlib.import_module(f"benchmarks.workloads.{name}").WORKLOAD for name in names]


def once(entry: Entry, jobs: int) -> dict[str, float]:
    """One measurement in a fresh folder and fresh processes."""
    count = entry.jobs or jobs
    with tempfile.TemporaryDirectory(prefix="oxmill-bench-") as folder:
        if entry.fill is not None:
            _process(entry.contestant, entry.fill, folder, entry.backlog or count)
        found = _process(entry.contestant, entry.does, folder, count)
    return {name: value for name, value in found.items() if isinstance(value, int | float)}


def _process(contestant: str, does: str, folder: str, jobs: int) -> dict[str, float]:
    command = [
        sys.executable,
        "-m",
        f"benchmarks.contestants.{contestant}",
        does,
        folder,
        str(jobs),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}{done.stdout}")
    return json.loads(done.stdout.splitlines()[-1])


def measure(workload: Workload, runs: int) -> Figures:
    """Interleaved runs of all entries."""
    figures: Figures = {name: {} for name in workload.entries}
    for run in range(1, runs + 1):
        for name, entry in workload.entries.items():
            found = once(entry, workload.jobs)
            for metric, value in found.items():
                figures[name].setdefault(metric, []).append(value)
            shown = "  ".join(f"{metric} {value:,.4g}" for metric, value in found.items())
            print(f"{workload.id} run {run}/{runs}  {name:20} {shown}", flush=True)
    return figures


def judge(workload: Workload, figures: Figures) -> list[dict[str, object]]:
    """Ratios and bounds of one workload. A ratio is taken run by run; its median counts."""
    rows: list[dict[str, object]] = []
    for ratio in workload.ratios:
        pairs = zip(
            figures[ratio.over][ratio.metric], figures[ratio.under][ratio.metric], strict=True
        )
        rows.append(_row(workload, ratio, median(over / under for over, under in pairs)))
    return rows + [
        _row(workload, bound, median(figures[bound.entry][bound.metric]))
        for bound in workload.bounds
    ]


def _row(workload: Workload, asked: Ratio | Bound, value: float) -> dict[str, object]:
    wanted, met = "report", True
    if asked.at_least is not None:
        wanted, met = f">= {asked.at_least:g}", value >= asked.at_least
    elif asked.at_most is not None:
        wanted, met = f"<= {asked.at_most:g}", value <= asked.at_most
    return {
        "workload": workload.id,
        "title": asked.title,
        "value": value,
        "wanted": wanted,
        "met": met,
    }


def table(rows: list[dict[str, object]], all_figures: dict[str, Figures]) -> str:
    """The results for people."""
    lines = ["| measure | found | wanted | met |", "|---|--:|--:|---|"]
    lines += [
        f"| {row['title']} | {row['value']:,.3g} | {row['wanted']} | {'yes' if row['met'] else 'NO'} |"
        for row in rows
    ]
    lines += ["", "| workload | entry | figures (median) |", "|---|---|---|"]
    for workload, figures in all_figures.items():
        for name, metrics in figures.items():
            shown = ", ".join(
                f"{metric} {median(values):,.4g}" for metric, values in metrics.items()
            )
            lines.append(f"| {workload} | {name} | {shown} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="*", help="workloads, such as W3; all by default")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    chosen = [w for w in load() if not options.only or w.id in options.only]
    machine = describe()
    all_figures: dict[str, Figures] = {}
    rows: list[dict[str, object]] = []
    for workload in chosen:
        figures = measure(workload, options.runs)
        all_figures[workload.id] = figures
        rows += judge(workload, figures)
    text = table(rows, all_figures)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "latest.json").write_text(
        json.dumps({"machine": machine, "rows": rows, "figures": all_figures}, indent=1)
    )
    settings = "\n".join(f"- {name}: {value}" for name, value in machine.items())
    (RESULTS / "latest.md").write_text(
        f"# Benchmarks\n\n{settings}\n- durability: WAL, synchronous=FULL on both sides\n\n{text}\n"
    )
    print(f"\n{text}\n\nwritten to {RESULTS}/latest.md and latest.json")
    if not all(row["met"] for row in rows):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
