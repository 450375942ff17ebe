"""What was found, judged, as JSON for programs and as Markdown for people."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.contestant import Measured
from benchmarks.workload import Bound, Ratio, Workload, wanted

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Row:
    """One promise and what became of it."""

    store: str
    workload: str
    title: str
    value: float
    wanted: str
    met: bool
    runs: int


@dataclass
class Run:
    """Everything measured for one workload on one store."""

    workload: Workload
    store: str
    figures: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    """Entry, metric, one value per run."""
    errors: dict[str, str] = field(default_factory=dict)

    def add(self, entry: str, found: Measured) -> None:
        """One more measurement."""
        for metric, value in found.items():
            self.figures.setdefault(entry, {}).setdefault(metric, []).append(value)

    def rows(self) -> list[Row]:
        """Ratios and bounds. A ratio is taken run by run; its median counts."""
        rows: list[Row] = []
        for ratio in self.workload.ratios:
            over = self._values(ratio.over, ratio.metric)
            under = self._values(self._rival(ratio), ratio.metric)
            rows += self._row(ratio, [a / b for a, b in zip(over, under, strict=False)])
        for bound in self.workload.bounds:
            rows += self._row(bound, self._values(bound.entry, bound.metric))
        return rows

    def _rival(self, ratio: Ratio) -> str:
        """What a ratio is taken against: where several are named, the best of them."""
        if isinstance(ratio.under, str):
            return ratio.under
        there = [name for name in ratio.under if self._values(name, ratio.metric)]
        best = min if ratio.at_most is not None else max
        return best(there, key=lambda name: median(self._values(name, ratio.metric)), default="")

    def _values(self, entry: str, metric: str) -> list[float]:
        return self.figures.get(entry, {}).get(metric, [])

    def _row(self, asked: Ratio | Bound, values: list[float]) -> list[Row]:
        if not values:
            return []
        value, text, met = median(values), "report", True
        least, most = wanted(asked.at_least, self.store), wanted(asked.at_most, self.store)
        if least is not None:
            text, met = f"≥ {least:g}", value >= least
        elif most is not None:
            text, met = f"≤ {most:g}", value <= most
        return [Row(self.store, self.workload.id, asked.title, value, text, met, len(values))]


def table(done: Sequence[Run]) -> str:
    """The results for people."""
    lines = ["| store | measure | found | wanted | met | runs |", "|---|---|--:|--:|---|--:|"]
    for row in (row for run in done for row in run.rows()):
        met = "yes" if row.met else "**no**"
        met = "" if row.wanted == "report" else met
        lines.append(
            f"| {row.store} | {row.title} | {row.value:,.3g} | {row.wanted} | {met} | {row.runs} |"
        )
    lines += ["", "| store | workload | entry | median of runs | runs |", "|---|---|---|---|--:|"]
    for run in done:
        for name, metrics in run.figures.items():
            shown = ", ".join(f"{each} {median(values):,.4g}" for each, values in metrics.items())
            count = max(len(values) for values in metrics.values())
            lines.append(f"| {run.store} | {run.workload.id} | {name} | {shown} | {count} |")
        for name, error in run.errors.items():
            short = " ".join(error.split())[-300:].replace("|", "/")
            lines.append(f"| {run.store} | {run.workload.id} | {name} | failed: {short} | 0 |")
    return "\n".join(lines)


def write(name: str, about: Mapping[str, Any], done: Sequence[Run]) -> None:
    """JSON and Markdown under benchmarks/results/; `about` is the machine and who took part."""
    RESULTS.mkdir(exist_ok=True)
    runs = [
        {
            "store": run.store,
            "workload": run.workload.id,
            "title": run.workload.title,
            "figures": run.figures,
            "errors": run.errors,
            "rows": [asdict(row) for row in run.rows()],
        }
        for run in done
    ]
    told = {**about, "runs": runs}
    (RESULTS / f"{name}.json").write_text(json.dumps(told, indent=1))
    facts = [f"- {key}: {value}" for key, value in about["machine"].items()]
    facts += [f"- {each['name']}: {each['settings']}" for each in about["parties"]]
    head = "\n".join(facts)
    (RESULTS / f"{name}.md").write_text(f"# Benchmarks\n\n{head}\n\n{table(done)}\n")
