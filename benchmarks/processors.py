"""What the machine's processors did while a clock ran: at work, or taken away by the host.

A virtual machine shares its host. Where others on it want the processors too, ours stand still though there
is work (`steal` in /proc/stat): half of what looked like noise from minute to minute was that.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

STAT = Path("/proc/stat")


@dataclass(frozen=True, slots=True)
class Look:
    """The machine's own counters at one moment, in seconds of one processor."""

    at: float
    worked: float
    stolen: float

    @classmethod
    def now(cls) -> Self:
        user, nice, system, _, _, irq, softirq, steal = (
            int(ticks) / os.sysconf("SC_CLK_TCK")
            for ticks in STAT.read_text().split(maxsplit=9)[1:9]
        )
        return cls(time.monotonic(), user + nice + system + irq + softirq, steal)


def cores(first: Look, last: Look) -> float:
    """How many processors were at work, whoever used them: a second worker can only add what the first
    one and its server leave idle. 0 if there is nothing to compare."""
    return (last.worked - first.worked) / (last.at - first.at) if last.at > first.at else 0.0


def stolen(first: Look, last: Look) -> float:
    """Which part of the time that was asked for the host gave to others."""
    worked, taken = last.worked - first.worked, last.stolen - first.stolen
    return taken / (worked + taken) if taken > 0 else 0.0
