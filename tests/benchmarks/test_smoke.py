"""Every contestant of ours does every thing once, with a few jobs: the benchmarks cannot rot.

Nothing is timed here; the peers are not run, but what they say about themselves is read.
"""

import os
import shutil
import subprocess
import sys

import pytest
from benchmarks.environments import METADATA, PEERS, peers
from benchmarks.measuring import once
from benchmarks.party import CONTESTANTS, ROOT, Failed, contestant
from benchmarks.run import STORES, load
from benchmarks.workload import Entry

NEEDS = {"redis": "redis-server", "postgres": "psql", "mariadb": "mariadbd"}
OURS = [
    (who, store)
    for store in STORES
    for who in ("ours", "raw", "bare")
    if contestant(who, store) is not None
]
JOBS = 100
FEW = {"latency": 3}
"""What waits between two jobs gets fewer of them."""


def entries(who, store):
    """What the workloads ask of a contestant, each thing once, on a small backlog. Backlogs are made in one
    way for all stores: the unusual ones are tried on the quickest."""
    asked = {}
    for workload in load():
        for entry in workload.entries.values():
            usual = store == "sqlite" or entry.fill in {None, "fill"}
            if entry.who == who and usual and not entry.does.endswith(("idle", "_held", "_aged")):
                asked[entry.does, entry.fill, entry.workers] = entry
    return asked


@pytest.mark.parametrize(("who", "store"), OURS, ids=lambda value: value)
def test_a_contestant_does_everything_once(who, store, monkeypatch):
    monkeypatch.setattr(os, "sync", lambda: None)  # it waits for all that other tests write
    if store in NEEDS and not shutil.which(NEEDS[store]):
        pytest.skip(f"there is no {NEEDS[store]} on the path")
    asked = entries(who, store)
    assert asked
    for (does, fill, workers), entry in asked.items():
        small = Entry(who, does, fill=fill, workers=workers, backlog=entry.backlog and 2 * JOBS)
        found = once(contestant(who, store), small, FEW.get(does, JOBS))
        assert found, does
        assert all(value >= 0 for value in found.values()), (does, found)


def test_what_a_contestant_says_on_its_way_down_is_told():
    with pytest.raises(Failed, match="does not do nonsense"):
        once(contestant("ours", "sqlite"), Entry("ours", "nonsense"), 1)


def test_a_contestant_that_cannot_be_watched_does_not_race():
    with pytest.raises(Failed, match="does not do watch"):
        once(contestant("bare", "sqlite"), Entry("bare", "race"), 10)


def test_every_contestant_belongs_to_a_store():
    names = {path.stem.partition("_")[2] for path in CONTESTANTS.glob("[!_]*.py")}
    assert names <= set(STORES)


def test_every_peer_names_its_versions_its_setting_and_what_it_loses():
    found = peers()
    assert {peer.store for peer in found} == set(STORES)
    for peer in found:
        exact = "@" if peer.file.suffix == ".cjs" else "=="
        assert all(exact in each.removeprefix("@") for each in peer.dependencies), peer.key
        assert peer.settings
        assert peer.loses
        assert peer.jobs >= 100
        assert peer.safe == peer.loses.startswith("nothing"), peer.key


def test_an_adapter_without_metadata_is_seen():
    assert METADATA.search((PEERS / "peer.py").read_text()) is None


def test_the_command_line_explains_itself():
    for module in ("benchmarks.run", "benchmarks.run_peers"):
        done = subprocess.run(
            [sys.executable, "-m", module, "--help"],
            capture_output=True,
            text=True,
            cwd=ROOT,
            check=True,
        )
        assert "median" in done.stdout or "interleaved" in done.stdout
