"""Runs ours beside other queues, interleaved, and writes what it found.

    python -m benchmarks.run_peers                       all peers of all stores, three runs each
    python -m benchmarks.run_peers --store redis W3      one store, one workload
    python -m benchmarks.run_peers --peer redis_celery   one peer, beside ours where there is one

Peers run in environments of their own, which are made first, on private servers like ours. A peer
that cannot be made to run is shown with its error. Results go to benchmarks/results/.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from benchmarks.beside import rivalries
from benchmarks.environments import Peer, make, offers, peers
from benchmarks.interleave import measure, stop_when_told
from benchmarks.machine import describe
from benchmarks.party import Failed, contestant
from benchmarks.report import Run, write
from benchmarks.run import STORES


def ready(peers: Sequence[Peer]) -> tuple[dict[str, set[str]], dict[str, str]]:
    """What the peers that have an environment offer, and what is wrong with the others."""
    able: dict[str, set[str]] = {}
    errors: dict[str, str] = {}
    for peer in peers:
        try:
            make(peer)
            able[peer.name] = offers(peer)
        except Failed as failure:
            errors[peer.name] = str(failure)
            print(f"{peer.name} cannot take part: {failure}", flush=True)
    return able, errors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="*", help="workloads, such as W3; all by default")
    parser.add_argument("--store", action="append", choices=STORES, help="all by default")
    parser.add_argument("--peer", action="append", help="file names in peers/; all by default")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1, help="factor on the number of jobs")
    parser.add_argument("--name", default="peers", help="of the files in results/")
    parser.add_argument("--note", help="a remark for the results, such as: loaded")
    options = parser.parse_args()
    stop_when_told()
    chosen = [peer for peer in peers() if not options.peer or peer.key in options.peer]
    stores = [store for store in options.store or STORES if any(p.store == store for p in chosen)]
    ours = {store: party for store in stores if (party := contestant("ours", store))}
    told = [party.about() for party in ours.values()] + [peer.told() for peer in chosen]
    about = {"machine": describe(stores, options), "parties": told}
    done: list[Run] = []
    for store in stores:
        here = [peer for peer in chosen if peer.store == store]
        able, errors = ready(here)
        parties = {peer.name: peer.party() for peer in here if peer.name in able}
        if store in ours:
            parties["ours"] = ours[store]
        for workload in rivalries(store, [peer for peer in here if peer.name in able], able):
            if options.only and workload.id not in options.only:
                continue
            run = measure(workload, store, parties, options.runs, options.scale)
            run.errors.update(errors)
            done.append(run)
            write(options.name, about, done)


if __name__ == "__main__":
    main()
