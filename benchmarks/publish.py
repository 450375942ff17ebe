"""Writes docs/benchmarks/ from the newest results: tables as Markdown, charts as SVG.

    python -m benchmarks.publish

What was measured is in benchmarks/results/*.json; nothing is measured here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.charts import Mark, bars, ranges, shown
from benchmarks.measuring import STOLEN
from benchmarks.report import RESULTS

DOCS = Path(__file__).parent.parent / "docs" / "benchmarks"
STORES = {"sqlite": "SQLite", "redis": "Redis", "postgres": "PostgreSQL", "mariadb": "MariaDB"}
COLUMNS = (
    ("W1 sync", "rate", "W1 sync/s"),
    ("W1 async", "rate", "W1 async/s"),
    ("W1c", "rate", "W1c/s"),
    ("W2", "rate", "W2 bulk/s"),
    ("W3", "rate", "W3 drain/s"),
    ("W4", "rate", "W4 drain, two/s"),
    ("W5", "p50_ms", "W5 p50 ms"),
    ("W5", "p99_ms", "W5 p99 ms"),
    ("W7", "rss_mb", "W7 RSS MB"),
    ("W7", "cpu_percent", "W7 CPU %"),
    ("W8", "bytes", "W8 B/job"),
)
Told = dict[str, Any]


def main() -> None:
    DOCS.mkdir(exist_ok=True)
    for name, page in (("latest", _ours), ("peers", _peers)):
        path = RESULTS / f"{name}.json"
        if path.exists():
            for file, text in page(json.loads(path.read_text())).items():
                (DOCS / file).write_text(text)
                print(f"wrote docs/benchmarks/{file}")


def _ours(told: Told) -> dict[str, str]:
    """Ours beside the raw loops."""
    lines = ["# Oxmill beside the raw store", "", *_machine(told), "", *promises(told["runs"])]
    lines += ["", "| store | workload | entry | median | least | most | runs | taken by the host |"]
    lines += ["|---|---|---|--:|--:|--:|--:|--:|"]
    for run in told["runs"]:
        for entry, metrics in run["figures"].items():
            taken = f"{max(metrics.get(STOLEN, [0])):.0%}"
            for metric, values in metrics.items():
                if metric == STOLEN:
                    continue
                low, high = shown(min(values)), shown(max(values))
                middle = shown(median(values))
                lines.append(
                    f"| {STORES[run['store']]} | {run['workload']} | {entry}, {metric} "
                    f"| {middle} | {low} | {high} | {len(values)} | {taken} |"
                )
    return {"ours.md": "\n".join([*lines, *_errors(told["runs"])]) + "\n"}


def _peers(told: Told) -> dict[str, str]:
    """Ours beside other queues, with a chart of drains and one of latencies for every store."""
    files: dict[str, str] = {}
    lines = ["# Oxmill beside other queues", "", *_machine(told), "", *promises(told["runs"])]
    for store, title in STORES.items():
        runs = [run for run in told["runs"] if run["store"] == store]
        if not runs:
            continue
        about = {
            peer["name"]: peer
            for peer in told["parties"]
            if peer["store"] == store and "loses" in peer
        }
        lines += ["", f"## {title}", ""]
        for kind, chart in _charts(title, runs, about):
            files[f"{store}-{kind}.svg"] = chart
            lines.append(f"![{title}: {kind}]({store}-{kind}.svg)")
        lines += ["", *pivot(runs, about), "", *_settings(about), *_errors(runs)]
    return {"peers.md": "\n".join(lines) + "\n", **files}


def promises(runs: Iterable[Told]) -> list[str]:
    """What was wanted and what was found."""
    lines = ["| store | measure | found | wanted | met | runs |", "|---|---|--:|--:|---|--:|"]
    for row in (row for run in runs for row in run["rows"]):
        met = "" if row["wanted"] == "report" else "yes" if row["met"] else "**no**"
        found = f"{STORES[row['store']]} | {row['title']} | {row['value']:,.3g}"
        lines.append(f"| {found} | {row['wanted']} | {met} | {row['runs']} |")
    return lines


def pivot(runs: Iterable[Told], about: Mapping[str, Told]) -> list[str]:
    """One line per queue, one column per figure: medians."""
    found = {run["workload"]: run["figures"] for run in runs}
    columns = [each for each in COLUMNS if each[0] in found]
    lines = [
        "| queue | " + " | ".join(title for _, _, title in columns) + " | lost on kill -9 |",
        "|---|" + "--:|" * len(columns) + "---|",
    ]
    for name in ("ours", *about):
        cells = []
        for workload, metric, _ in columns:
            values = found[workload].get(name, {}).get(metric)
            cells.append(shown(median(values)) if values else "")
        if not any(cells):
            continue
        lost = about[name]["loses"] if name in about else "nothing: run again after its lease"
        lines.append(
            f"| {'**Oxmill**' if name == 'ours' else name} | {' | '.join(cells)} | {lost} |"
        )
    return lines


def _charts(title: str, runs: Iterable[Told], about: Mapping[str, Told]) -> list[tuple[str, str]]:
    charts: list[tuple[str, str]] = []
    note = "pale: loses running jobs when a worker is killed"
    for run in runs:
        if run["workload"] == "W3" and run["figures"]:
            text = f"no-op jobs per second, first start to empty store; {note}"
            marks = _marks(run, about, "rate")
            charts.append(("drain", bars(f"One worker process on {title}", text, marks, "/s")))
        if run["workload"] == "W5" and run["figures"]:
            text = f"enqueue to start in another, idle process: p50 to p99, in ms; {note}"
            marks = _marks(run, about, "p50_ms", "p99_ms")
            charts.append(("latency", ranges(f"Latency on {title}", text, marks, "ms")))
    return charts


def _marks(run: Told, about: Mapping[str, Told], metric: str, end: str = "") -> list[Mark]:
    marks = []
    for name, metrics in run["figures"].items():
        kind = "ours" if name == "ours" else "peer" if about[name]["safe"] else "loses"
        until = median(metrics[end]) if end else None
        label = "Oxmill" if name == "ours" else name
        marks.append(Mark(label, median(metrics[metric]), kind, until))
    return marks


def _machine(told: Told) -> list[str]:
    lines = [f"* {name}: {value}" for name, value in told["machine"].items()]
    ours = [each for each in told["parties"] if "loses" not in each]
    return lines + [f"* {each['name']}: {each['settings']}" for each in ours]


def _settings(about: Mapping[str, Told]) -> list[str]:
    lines = ["| queue | versions | setting |", "|---|---|---|"]
    for name, peer in about.items():
        versions = ", ".join(peer["dependencies"])
        lines.append(f"| {name} | {versions} | {peer['settings']} |")
    return lines


def _errors(runs: Iterable[Told]) -> list[str]:
    found = [
        f"* {STORES[run['store']]} {run['workload']}, {name}: {' '.join(error.split())[-400:]}"
        for run in runs
        for name, error in run["errors"].items()
    ]
    return ["", "Could not be measured:", "", *found] if found else []


if __name__ == "__main__":
    main()
