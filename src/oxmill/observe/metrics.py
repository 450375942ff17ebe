"""Counters and histograms of one process: plain numbers, cheap enough for every run."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

BOUNDS: Final = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0, 600.0)
"""Upper bounds of the buckets, in seconds; one more bucket takes the rest."""


class Histogram:
    """How often values fell into each bucket, their number and their sum."""

    __slots__ = ("buckets", "count", "total")

    def __init__(self) -> None:
        self.buckets = [0] * (len(BOUNDS) + 1)
        self.count = 0
        self.total = 0.0

    def add(self, value: float) -> None:
        """Count one value."""
        self.buckets[bisect_left(BOUNDS, value)] += 1
        self.count += 1
        self.total += value


class Metrics:
    """What one worker has done since it started.

    Each number is written by one thread and read from anywhere: a reader may see a run counted
    whose time is not yet added, never anything worse.
    """

    __slots__ = ("claims", "empty_claims", "leases_lost", "runs", "settled", "store")

    def __init__(self) -> None:
        self.runs: dict[tuple[str, str, str], Histogram] = {}
        """(queue, task, outcome) → seconds that runs took."""
        self.store: dict[str, Histogram] = {}
        """Operation → seconds that the store took for a batch."""
        self.claims = 0
        self.empty_claims = 0
        self.settled = 0
        self.leases_lost = 0

    def ran(self, key: tuple[str, str, str], seconds: float) -> None:
        """Count a run by (queue, task, outcome)."""
        histogram = self.runs.get(key)
        if histogram is None:
            histogram = self.runs[key] = Histogram()
        histogram.add(seconds)

    def stored(self, operation: str, seconds: float) -> None:
        """Count one call of the store."""
        histogram = self.store.get(operation)
        if histogram is None:
            histogram = self.store[operation] = Histogram()
        histogram.add(seconds)

    def outcomes(self) -> Iterator[tuple[str, int]]:
        """How many runs ended in which outcome, over all queues and tasks."""
        sums: dict[str, int] = {}
        for (_, _, outcome), histogram in tuple(self.runs.items()):
            sums[outcome] = sums.get(outcome, 0) + histogram.count
        return iter(sums.items())
