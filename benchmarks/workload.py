"""What is measured, who takes part, and which ratios are promised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Entry:
    """One contestant doing one workload on a fresh folder."""

    contestant: str
    """Module under benchmarks.contestants."""
    does: str
    fill: str | None = None
    """The function that makes the backlog, outside the clock."""
    backlog: int = 0
    jobs: int | None = None
    """Instead of the workload's number."""


@dataclass(frozen=True)
class Ratio:
    """`over` divided by `under`, with the bound that it has to keep."""

    title: str
    over: str
    under: str
    metric: str = "rate"
    at_least: float | None = None
    at_most: float | None = None


@dataclass(frozen=True)
class Bound:
    """A figure of one entry with the bound that it has to keep."""

    title: str
    entry: str
    metric: str
    at_least: float | None = None
    at_most: float | None = None


@dataclass(frozen=True)
class Workload:
    """One question, answered by the median of interleaved runs."""

    id: str
    title: str
    jobs: int
    entries: Mapping[str, Entry]
    ratios: tuple[Ratio, ...] = ()
    bounds: tuple[Bound, ...] = field(default=())
