"""The ceiling: our own statements and functions through plain psycopg, and no library around them.

Same schema, same texts, same parameters and batches as the driver's; the loop does nothing that the
store does not need.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import psycopg

from benchmarks.contestant import PAYLOAD, Contestant, Measured, Place, main
from benchmarks.marks import check_stored
from oxmill.drivers.postgres.address import parse
from oxmill.drivers.postgres.arriving import batch_of, terms_of
from oxmill.drivers.postgres.connection import open_link
from oxmill.drivers.postgres.migrating import migrate
from oxmill.drivers.postgres.statements import statement
from oxmill.drivers.postgres.values import sendable
from oxmill.model.bounds import DEFAULT_BOUNDS
from oxmill.model.job import NewJob
from oxmill.queue.ids import IdSource

BATCH, BULK = 100, 1_000
DAY = 86_400_000_000
LEFT = "SELECT count(*) FROM oxmill.jobs WHERE state IN ('waiting', 'running')"


class Raw:
    """A connection to a schema that is there."""

    def __init__(self, url: str) -> None:
        self.connection = open_link(parse(url)).connection
        migrate(self.connection, "oxmill")
        self.cursor = psycopg.RawCursor(self.connection)
        self.ids = IdSource()

    def call(self, name: str, given: dict[str, Any]) -> list[tuple[Any, ...]]:
        """One statement of the driver's, on the server's own time."""
        text = statement("oxmill", name)
        values = [given.get(word) for word in text.names]
        self.cursor.execute(text.sql, sendable(values, text.types), prepare=False, binary=True)
        return self.cursor.fetchall()

    def job(self, keep: int | None) -> NewJob:
        """A new job."""
        return NewJob(id=self.ids(), queue="default", task="noop", payload=PAYLOAD, keep=keep)

    def left(self) -> int:
        """How many jobs wait or run."""
        ((left,),) = self.connection.execute(LEFT).fetchall()
        return int(left)


def enqueue_one(place: Place, jobs: int) -> Measured:
    raw = Raw(place.url)
    made = [terms_of(raw.job(0)) for _ in range(jobs)]
    raw.call("enqueue_one", terms_of(raw.job(0)))
    start = time.perf_counter()
    for given in made:
        raw.call("enqueue_one", given)
    rate = jobs / (time.perf_counter() - start)
    check_stored(raw.left(), jobs + 1)
    return {"rate": rate}


def enqueue_bulk(place: Place, jobs: int, keep: int | None = 0) -> Measured:
    raw = Raw(place.url)
    before = raw.left()
    start = time.perf_counter()
    for first in range(0, jobs, BULK):
        batch = [raw.job(keep) for _ in range(min(BULK, jobs - first))]
        raw.call("enqueue", batch_of(batch))
    rate = jobs / (time.perf_counter() - start)
    check_stored(raw.left() - before, jobs)
    return {"rate": rate}


def drain(place: Place, jobs: int, *, kept: bool = False) -> Measured:
    """Settle the last batch and claim the next in one round trip, until nothing is left."""
    raw = Raw(place.url)
    held: list[tuple[Any, ...]] = []
    count = nonce = 0
    start = time.perf_counter()
    while True:
        nonce += 1
        given = {
            "ids": [row[1] for row in held],
            "attempts": [row[5] + 1 for row in held],
            "nonces": [nonce - 1] * len(held),
            "results": [None] * len(held),
            "usual": DAY,
            "gone_first": not kept,
            "queues": ["default"],
            "most": BATCH,
            "lease": 60_000_000,
            "worker": "raw",
            "nonce": nonce,
            "bound": DEFAULT_BOUNDS.cleanup_jobs,
            "tending": True,
        }
        rows = raw.call("complete_and_claim", given)
        # What was settled has a queue and no job: kept, frees, and its items are told.
        settled = [row[16] for row in rows if row[0] is None and row[2] is not None]
        count += sum(len(told) - 2 for told in settled)
        claimed = [row for row in rows if row[0] is not None]
        if not claimed and not held:
            break
        held = claimed
    took = time.perf_counter() - start
    # A settlement with a wrong token would change nothing, and fast.
    check_stored(jobs - count + raw.left(), 0)
    return {"rate": jobs / took}


CONTESTANT = Contestant(
    name="raw psycopg",
    settings=f"our statements, one connection, psycopg {psycopg.__version__}",
    does={
        "fill": enqueue_bulk,
        "fill_kept": lambda place, jobs: enqueue_bulk(place, jobs, None),
        "enqueue_one": enqueue_one,
        "enqueue_bulk": enqueue_bulk,
        "drain": drain,
        "drain_kept": lambda place, jobs: drain(place, jobs, kept=True),
    },
)

if __name__ == "__main__":
    main(CONTESTANT, sys.argv[1:])
