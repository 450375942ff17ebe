"""Who takes part: how a contestant's processes are started."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from benchmarks.contestant import Place

ROOT = Path(__file__).parent.parent
CONTESTANTS = Path(__file__).parent / "contestants"
PREFIXES = {"ours": "oxmill", "raw": "raw", "bare": "bare"}
PATIENCE = 300


class Failed(Exception):
    """A process of a contestant did not do what it was asked to; what it said."""


@dataclass(frozen=True)
class Party:
    """One contestant on one store."""

    who: str
    store: str
    command: Sequence[str]
    variables: Mapping[str, str] = field(default_factory=dict)

    def about(self) -> dict[str, Any]:
        """Its name and settings, as it says itself."""
        with tempfile.TemporaryDirectory() as folder:
            return {"store": self.store, **self.ask(Place(Path(folder), ""), "about")}

    def ask(self, place: Place, what: str, jobs: int = 0) -> dict[str, Any]:
        """Do one thing in a process of its own; its last line."""
        command = [*self.command, what, str(jobs)]
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                check=False,
                timeout=PATIENCE,
                env=self._environment(place),
                cwd=place.folder,
            )
        except subprocess.TimeoutExpired:
            raise Failed(f"{what}: no end after {PATIENCE} s") from None
        if done.returncode or not done.stdout.strip():
            raise Failed(f"{what} ended with {done.returncode}: {_tail(done.stderr + done.stdout)}")
        return json.loads(done.stdout.splitlines()[-1])

    @contextmanager
    def process(self, place: Place, what: str, jobs: int = 0, *, log: str):
        """A process that goes on while the block runs, with its output line by line."""
        path = place.folder / f"{log}.log"
        with path.open("wb") as errors:
            process = self._start(place, [*self.command, what, str(jobs)], errors)
        try:
            yield process
        except Failed as failure:
            said = _tail(path.read_text(errors="replace"))
            raise Failed(f"{failure}\n{log}: {said}" if said else str(failure)) from None
        finally:
            _stop(process)

    def _start(self, place: Place, command: list[str], errors: IO[bytes]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command,
            stdout=subprocess.PIPE if command[-2] == "watch" else errors,
            stderr=errors,
            text=True,
            env=self._environment(place),
            cwd=place.folder,
            start_new_session=True,
        )

    def _environment(self, place: Place) -> dict[str, str]:
        inherited = dict(os.environ)
        # What is installed is compiled, and so are the peers: a process that compiles its sources at
        # each start keeps a megabyte or two of what that leaves behind.
        inherited.pop("PYTHONDONTWRITEBYTECODE", None)
        return {
            **inherited,
            "PYTHONPATH": str(ROOT),
            **self.variables,
            **place.environment(),
        }


def contestant(who: str, store: str) -> Party | None:
    """One of ours, found by the name of its file."""
    name = f"{PREFIXES[who]}_{store}"
    if not (CONTESTANTS / f"{name}.py").exists():
        return None
    return Party(who, store, [sys.executable, "-m", f"benchmarks.contestants.{name}"])


def _stop(process: subprocess.Popen[str]) -> None:
    """End the processes of this session of ours: asked first, then made to."""
    for signal in (15, 9):
        try:
            os.killpg(process.pid, signal)
            process.wait(10)
        except ProcessLookupError:
            break
        except subprocess.TimeoutExpired:
            continue
    process.wait(10)
    if process.stdout is not None:
        process.stdout.close()


def _tail(text: str) -> str:
    return text.strip()[-1_500:]
