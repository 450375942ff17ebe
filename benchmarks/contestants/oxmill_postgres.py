"""Oxmill on PostgreSQL, with its default settings."""

import sys
import time

import psycopg

from benchmarks.contestant import TEXT, Measured, Place, main
from benchmarks.ours import Ours, contestant, turn
from oxmill.model.settlement import Settlement

PIECE, PIECES = 5.0, 6
"""Seconds between two looks at the backlog, and how many of them there are under the snapshot."""


def claim_settle_aged(place: Place, backlog: int) -> Measured:
    """Turns of 100 through the driver alone, then the same while a snapshot grows old; the last piece counts."""
    ours = Ours(place)
    free, held = _turns(ours, (), backlog)
    last = 0.0
    with psycopg.connect(place.url) as other:
        other.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        other.execute("SELECT 1 FROM oxmill.jobs LIMIT 1")
        for _ in range(PIECES):
            last, held = _turns(ours, held, backlog)
    ours.app.close()
    return {"rate": last, "share": last / free}


def _turns(
    ours: Ours, ends: tuple[Settlement, ...], backlog: int
) -> tuple[float, tuple[Settlement, ...]]:
    """Jobs per second of one piece, and what is to be settled next. What others took from the backlog is put back
    off the clock, so that it lasts on a fast machine, too."""
    ours.app.load(ours.noop.bind(TEXT) for _ in range(backlog - ours.left()))
    done, start = 0, time.perf_counter()
    while time.perf_counter() - start < PIECE:
        ends = turn(ours, ends, 100, "bench")
        done += len(ends)
    return done / (time.perf_counter() - start), ends


CONTESTANT = contestant(
    "Oxmill on PostgreSQL",
    "default settings; every commit is synced",
    claim_settle_aged=claim_settle_aged,
)

if __name__ == "__main__":
    main(CONTESTANT, sys.argv[1:])
