"""The ceiling: our own statements through plain PyMySQL, and no library around them.

Same schema, same texts, same batches and round trips as the driver's; the loop does nothing that the
store does not need.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import pymysql
from pymysql.constants import CLIENT

from benchmarks.contestant import PAYLOAD, Contestant, Measured, Place, main
from benchmarks.marks import check_stored
from oxmill.drivers.mysql.address import parse
from oxmill.drivers.mysql.arriving import Arriving, texts_of_one
from oxmill.drivers.mysql.claiming import FIRST, Taking
from oxmill.drivers.mysql.link import SETTINGS, Link
from oxmill.drivers.mysql.literals import SERVER_TIME
from oxmill.drivers.mysql.migrating import migrate
from oxmill.drivers.mysql.settling import Completing, Habit
from oxmill.drivers.mysql.statements import statement
from oxmill.model.claim import Claim
from oxmill.model.job import NewJob
from oxmill.model.settlement import Outcome, Settle, Settlement
from oxmill.model.token import Token
from oxmill.queue.ids import IdSource

BATCH, BULK = 100, 1_000
BEGIN, COMMIT = b"START TRANSACTION", b"COMMIT"
LEFT = "SELECT COUNT(*) FROM oxmill_jobs WHERE state IN ('waiting', 'running')"
LEASE = 60_000_000


class Raw:
    """A connection to a schema that is there."""

    def __init__(self, url: str) -> None:
        place = parse(url)
        link = Link(place)
        migrate(link, place)
        link.leave()
        flags = CLIENT.MULTI_STATEMENTS | CLIENT.FOUND_ROWS
        self.connection = pymysql.connect(**place.options, charset="utf8mb4", client_flag=flags)
        self.connection.autocommit(True)
        self.cursor = self.connection.cursor()
        self.run(*SETTINGS)
        self.begins = statement("shortcut_begins", {"now": SERVER_TIME})
        self.ids = IdSource()

    def run(self, *texts: bytes) -> list[Any]:
        """Statements in one round trip; the rows of each."""
        self.cursor.execute(b";".join(texts))
        found = [self.cursor.fetchall()]
        while self.cursor.nextset():
            found.append(self.cursor.fetchall())
        return found

    def jobs(self, number: int, keep: int | None) -> tuple[NewJob, ...]:
        """New jobs."""
        return tuple(
            NewJob(id=self.ids(), queue="default", task="noop", payload=PAYLOAD, keep=keep)
            for _ in range(number)
        )

    def packet(self, jobs: tuple[NewJob, ...]) -> list[bytes]:
        """What stores them."""
        return [BEGIN, self.begins, *Arriving(jobs).statements(), COMMIT]

    def packet_of_one(self) -> list[bytes]:
        """What stores one new job, which is a little less."""
        (job,) = self.jobs(1, 0)
        _, texts = texts_of_one(job, SERVER_TIME)
        return [BEGIN, *texts, COMMIT]

    def left(self) -> int:
        """How many jobs wait or run."""
        self.cursor.execute(LEFT)
        ((left,),) = self.cursor.fetchall()
        return int(left)


def enqueue_one(place: Place, jobs: int) -> Measured:
    raw = Raw(place.url)
    packets = [raw.packet_of_one() for _ in range(jobs + 1)]
    raw.run(*packets.pop())
    start = time.perf_counter()
    for packet in packets:
        raw.run(*packet)
    rate = jobs / (time.perf_counter() - start)
    check_stored(raw.left(), jobs + 1)
    return {"rate": rate}


def enqueue_bulk(place: Place, jobs: int, keep: int | None = 0) -> Measured:
    raw = Raw(place.url)
    before = raw.left()
    start = time.perf_counter()
    for first in range(0, jobs, BULK):
        raw.run(*raw.packet(raw.jobs(min(BULK, jobs - first), keep)))
    rate = jobs / (time.perf_counter() - start)
    check_stored(raw.left() - before, jobs)
    return {"rate": rate}


def drain(place: Place, jobs: int, *, kept: bool = False) -> Measured:
    """Settle the last batch and claim the next in one round trip, until nothing is left."""
    raw = Raw(place.url)
    habit = Habit(gone=not kept)
    held: list[Any] = []
    nonce = 0
    start = time.perf_counter()
    while True:
        nonce += 1
        claim = Claim(queues=("default",), limit=BATCH, lease=LEASE, worker="raw", nonce=nonce)
        settle: list[bytes] = []
        if held:
            items = tuple(
                Settlement(
                    id=row[1].decode(), token=Token(row[5] + 1, nonce - 1), outcome=Outcome.COMPLETE
                )
                for row in held
            )
            settle = Completing(Settle(items=items).items, habit).statements()
        found = raw.run(BEGIN, raw.begins, *settle, *Taking(claim).statements(), COMMIT)
        held = found[2 + len(settle) + FIRST]
        if not held:
            break
    took = time.perf_counter() - start
    # A settlement with a wrong token would change nothing, and fast.
    check_stored(raw.left(), 0)
    return {"rate": jobs / took}


CONTESTANT = Contestant(
    name="raw PyMySQL",
    settings=f"our statements, one connection, PyMySQL {pymysql.__version__}",
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
