"""What takes part in a benchmark: a name, its settings, and one function per thing it can do.

Every measurement runs in processes of its own, so that no contestant inherits another's memory,
threads or caches: `python -m benchmarks.contestants.NAME WHAT JOBS`, with the store's URL and a
folder for this one measurement in the environment. What it found is its last line, as JSON.

Only the standard library is used here: peers import this from environments of their own.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TEXT = "x" * 89
PAYLOAD = b'{"text":"' + TEXT.encode() + b'"}'
assert len(PAYLOAD) == 100

Measured = dict[str, float]


@dataclass(frozen=True)
class Place:
    """Where one measurement happens: a fresh store and a fresh folder."""

    folder: Path
    url: str

    @classmethod
    def here(cls) -> Place:
        """The place that the runner made for this process."""
        return cls(Path(os.environ["BENCH_FOLDER"]), os.environ["BENCH_URL"])

    def environment(self) -> dict[str, str]:
        """The same for a process to come."""
        return {"BENCH_FOLDER": str(self.folder), "BENCH_URL": self.url}


Function = Callable[[Place, int], Measured | None]


@dataclass(frozen=True)
class Contestant:
    """A name, settings, and what it can do; its store is told by the name of its file."""

    name: str
    settings: str
    does: Mapping[str, Function]


def main(contestant: Contestant, arguments: Sequence[str]) -> None:
    """Do one thing and print what was measured."""
    what, jobs = arguments[0], int(arguments[1])
    if what == "about":
        print(json.dumps({"name": contestant.name, "settings": contestant.settings}))
        return
    if what not in contestant.does:
        raise SystemExit(f"{contestant.name} does not do {what}")
    print(json.dumps(contestant.does[what](Place.here(), jobs) or {}))
    sys.stdout.flush()
