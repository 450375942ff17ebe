"""What is measured beside other queues, by the same clocks for all, and what is promised there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from benchmarks.environments import Peer
from benchmarks.workload import Entry, Ratio, Workload

OURS = 60_000
"""How many jobs of ours are drained: a few seconds' worth, as for the peers."""
OVER = {
    "redis": {"Dramatiq": 8, "BullMQ on Node": 3},
    "postgres": {"PgQueuer, batch 1000": 1.5, "graphile-worker": 1},
    "mariadb": {"oxen-queue": 10},
}
"""How many times as fast as this peer one worker of ours is to be."""
WITHIN = {"mariadb": {"oxen-queue, asks every 30 ms": 1}}
"""How many times as long as beside this peer a job may wait for its start."""


def rivalries(store: str, peers: Sequence[Peer], able: Mapping[str, set[str]]) -> list[Workload]:
    """The workloads of one store, ours first and then every peer that offers them."""

    def here(name: str) -> list[Peer]:
        return [peer for peer in peers if not peer.only or name in peer.only]

    def each(name: str, title: str, does: str, jobs: int) -> Workload:
        offered = [peer.name for peer in here(name) if does in able[peer.name]]
        return Workload(name, title, jobs, {who: Entry(who, does) for who in ("ours", *offered)})

    return [
        each("W1 sync", "enqueue one at a time, blocking", "enqueue_one", 1_000),
        each("W1 async", "enqueue one at a time, async", "enqueue_async", 1_000),
        each("W1c", "100 async callers at once", "enqueue_concurrent", 4_000),
        each("W2", "bulk enqueue", "enqueue_bulk", 20_000),
        _drain("W3", store, here("W3"), 1),
        _drain("W4", store, here("W4"), 2),
        _latency(store, here("W5")),
        _all("W7", "idle worker", "idle", here("W7"), 0),
        _all("W8", "bytes per waiting job", "bytes", here("W8"), 2_000),
    ]


def _safe(peers: Sequence[Peer]) -> tuple[str, ...]:
    return tuple(peer.name for peer in peers if peer.safe)


def _all(name: str, title: str, does: str, peers: Sequence[Peer], jobs: int) -> Workload:
    names = ("ours", *(peer.name for peer in peers))
    return Workload(name, title, jobs, {who: Entry(who, does) for who in names})


def _drain(name: str, store: str, peers: Sequence[Peer], workers: int) -> Workload:
    entries = {"ours": Entry("ours", "race", jobs=OURS, workers=workers)}
    for peer in peers:
        entries[peer.name] = Entry(peer.name, "race", jobs=peer.jobs, workers=workers)
    ratios = [
        Ratio(
            f"{name}, over the best peer that loses nothing",
            "ours",
            _safe(peers),
            at_least={"sqlite": 12} if workers == 1 else None,
        )
    ]
    for rival, times in OVER.get(store, {}).items():
        ratios.append(
            Ratio(f"{name}, over {rival}", "ours", rival, at_least=times if workers == 1 else None)
        )
    title = "drain with one worker process" if workers == 1 else "drain with two"
    return Workload(name, title, OURS, entries, tuple(ratios))


def _latency(store: str, peers: Sequence[Peer]) -> Workload:
    ratios = [
        Ratio(
            "W5 p50, over the best peer that loses nothing",
            "ours",
            _safe(peers),
            metric="p50_ms",
            at_most={"sqlite": 1, "redis": 1, "postgres": 1.2},
        )
    ]
    for rival, times in WITHIN.get(store, {}).items():
        ratios.append(Ratio(f"W5 p50, over {rival}", "ours", rival, metric="p50_ms", at_most=times))
    plain = _all("W5", "latency on an idle queue", "latency", peers, 100)
    return replace(plain, ratios=tuple(ratios))
