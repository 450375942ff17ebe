"""What is measured, who takes part, and which ratios are promised, for any store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Wanted = float | Mapping[str, float] | None
"""One bound for all stores, or one for each that has one."""


@dataclass(frozen=True)
class Entry:
    """One party doing one thing on a fresh store."""

    who: str
    """`ours`, `raw`, `bare`, or a peer."""
    does: str
    """What it does: a function of its file, or one of the measurements in measuring.py."""
    fill: str | None = None
    """The function that makes the backlog, outside the clock."""
    backlog: int = 0
    jobs: int | None = None
    """Instead of the workload's number."""
    workers: int = 1
    """Worker processes, where they are processes of their own."""


@dataclass(frozen=True)
class Ratio:
    """`over` divided by `under`, with the bound that it has to keep."""

    title: str
    over: str
    under: str | tuple[str, ...]
    """One entry, or the best of several."""
    metric: str = "rate"
    at_least: Wanted = None
    at_most: Wanted = None


@dataclass(frozen=True)
class Bound:
    """A figure of one entry with the bound that it has to keep."""

    title: str
    entry: str
    metric: str
    at_least: Wanted = None
    at_most: Wanted = None


@dataclass(frozen=True)
class Workload:
    """One question, answered by the median of interleaved runs."""

    id: str
    title: str
    jobs: int
    entries: Mapping[str, Entry]
    ratios: tuple[Ratio, ...] = ()
    bounds: tuple[Bound, ...] = ()
    stores: tuple[str, ...] | None = None
    """Where it makes sense; `None` is everywhere."""


def wanted(bound: Wanted, store: str) -> float | None:
    """The bound for one store."""
    return bound.get(store) if isinstance(bound, Mapping) else bound
