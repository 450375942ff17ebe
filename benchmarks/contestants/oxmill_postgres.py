"""Oxmill on PostgreSQL, with its default settings."""

import sys
import time

import psycopg

from benchmarks.contestant import Measured, Place, main
from benchmarks.ours import Ours, contestant, turn
from oxmill.model.settlement import Settlement

FREE, HELD, LAST = 5.0, 30.0, 5.0
"""Seconds before the snapshot, under it, and of those the last ones, which count."""


def claim_settle_aged(place: Place, _: int) -> Measured:
    """Turns of 100 through the driver alone, then the same while a snapshot grows old."""
    ours = Ours(place)
    free, held = _turns(ours, (), FREE)
    with psycopg.connect(place.url) as other:
        other.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        other.execute("SELECT 1 FROM oxmill.jobs LIMIT 1")
        _, held = _turns(ours, held, HELD - LAST)
        last, held = _turns(ours, held, LAST)
    ours.app.close()
    return {"rate": last, "share": last / free}


def _turns(
    ours: Ours, ends: tuple[Settlement, ...], seconds: float
) -> tuple[float, tuple[Settlement, ...]]:
    """Jobs per second over so many seconds, and what is to be settled next."""
    done, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
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
