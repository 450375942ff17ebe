"""Peers: what their adapters say about themselves, and environments of their own to run them in.

An adapter is a file in peers/ named STORE_NAME. It starts with inline script metadata: its
dependencies with exact versions, and under `tool.bench` what the table says about it. Environments
are made once under .peers/, one per set of dependencies.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.contestant import Place
from benchmarks.party import Failed, Party

PEERS = Path(__file__).parent / "peers"
HOMES = Path(__file__).parent / ".peers"
NOWHERE = {
    "redis": "redis://127.0.0.1:1/0",
    "postgres": "postgresql://postgres@127.0.0.1:1/postgres",
    "mariadb": "mysql://root@127.0.0.1:1/bench",
}
METADATA = re.compile(r"(?ms)^(?P<mark>#|//) /// script$\n(?P<text>.*?)^(?P=mark) ///$")


@dataclass(frozen=True)
class Peer:
    """One adapter, as it describes itself."""

    file: Path
    store: str
    name: str
    settings: str
    """The documented fastest setting for production that is used here."""
    loses: str
    """What is lost when a worker is killed with kill -9."""
    safe: bool
    """Whether nothing is: every job is run again without anybody's help."""
    jobs: int
    """How many to drain: a few seconds' worth."""
    dependencies: tuple[str, ...]
    only: tuple[str, ...] = ()
    """The workloads that this setting is for; all, if none is named."""

    @property
    def key(self) -> str:
        """How it is named on the command line."""
        return self.file.stem

    @property
    def home(self) -> Path:
        """The folder of its environment; adapters with the same dependencies share it."""
        words = json.dumps([self.file.suffix, *self.dependencies])
        first = re.match(r"[\w-]+", self.dependencies[0])
        assert first is not None
        return HOMES / f"{first[0]}-{hashlib.sha256(words.encode()).hexdigest()[:8]}"

    def told(self) -> dict[str, Any]:
        """The same for the results."""
        return {**asdict(self), "file": self.file.name}

    def party(self) -> Party:
        """How its processes are started, once its environment is there."""
        if self.file.suffix == ".cjs":
            folder = {"NODE_PATH": str(self.home / "node_modules")}
            return Party(self.name, self.store, ["node", str(self.file)], folder)
        python = str(self.home / "bin" / "python")
        return Party(self.name, self.store, [python, "-m", f"benchmarks.peers.{self.key}"])


def peers() -> list[Peer]:
    """All adapters, by file name."""
    files = sorted(path for path in PEERS.iterdir() if path.suffix in {".py", ".cjs"})
    return [describe(path) for path in files if "_" in path.stem.strip("_")]


def describe(path: Path) -> Peer:
    """What an adapter's first lines say."""
    found = METADATA.search(path.read_text())
    if found is None:
        raise ValueError(f"{path} has no script metadata")
    lines = (line[len(found["mark"]) :] for line in found["text"].splitlines())
    told = tomllib.loads("\n".join(line.removeprefix(" ") for line in lines))
    bench: dict[str, Any] = told["tool"]["bench"]
    only = tuple(bench.pop("only", ()))
    store = path.stem.partition("_")[0]
    return Peer(path, store, dependencies=tuple(told["dependencies"]), only=only, **bench)


def make(peer: Peer) -> None:
    """Make its environment, unless it is there."""
    ready = peer.home / ".ready"
    if ready.exists():
        return
    print(f"making an environment for {peer.name}: {', '.join(peer.dependencies)}", flush=True)
    peer.home.mkdir(parents=True, exist_ok=True)
    if peer.file.suffix == ".cjs":
        _run("npm", "install", "--no-audit", "--no-fund", "--prefix", peer.home, *peer.dependencies)
    else:
        venv.create(peer.home, with_pip=True, symlinks=True)
        python = peer.home / "bin" / "python"
        _run(python, "-m", "pip", "install", "--quiet", *peer.dependencies)
    ready.touch()


def offers(peer: Peer) -> set[str]:
    """What its adapter can do, as it says itself; its store is not needed for that."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        place = Place(folder, NOWHERE.get(peer.store, f"sqlite:///{folder / 'jobs.db'}"))
        return set(peer.party().ask(place, "offers")["offers"])


def _run(*command: str | Path) -> None:
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"{' '.join(words)}: {(done.stderr + done.stdout).strip()[-1_500:]}")


if __name__ == "__main__":
    for each in peers():
        if not sys.argv[1:] or each.key in sys.argv[1:]:
            make(each)
