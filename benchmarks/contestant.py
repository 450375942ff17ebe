"""What takes part in a benchmark: a name, its settings, and one function per workload it can do.

Every measurement runs in a process of its own, so that no contestant inherits another's memory,
threads or caches: `python -m benchmarks.contestants.NAME WORKLOAD FOLDER JOBS` prints one JSON line.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PAYLOAD = b'{"text":"' + b"x" * 89 + b'"}'
assert len(PAYLOAD) == 100

Measured = dict[str, float]
Function = Callable[[Path, int], Measured]


@dataclass(frozen=True)
class Contestant:
    """A name, settings with durability, and what it can do."""

    name: str
    settings: str
    fill: Callable[[Path, int], None]
    """Makes a backlog, outside the clock."""
    workloads: Mapping[str, Function]


def main(contestant: Contestant, arguments: Sequence[str]) -> None:
    """Do one workload and print what was measured."""
    workload, folder, jobs = arguments[0], Path(arguments[1]), int(arguments[2])
    if workload == "fill":
        contestant.fill(folder, jobs)
        measured: Measured = {}
    else:
        measured = contestant.workloads[workload](folder, jobs)
    print(json.dumps({"contestant": contestant.name, "settings": contestant.settings, **measured}))
