"""The ceiling: our own schema and statements on plain `sqlite3`, and no library around them.

Same durability, same batches, same SQL text as the driver's, read from its files; the loop does
nothing that the store does not need.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import time

from benchmarks.contestant import PAYLOAD, Contestant, Measured, Place, main
from benchmarks.contestants.bare_sqlite import ids
from benchmarks.servers.sqlite import file_of
from oxmill.drivers.sqlite.binding import PLAIN
from oxmill.drivers.sqlite.migrating import pending_sql
from oxmill.drivers.sqlite.statements import positional_text, statement_text

INSERT = positional_text("insert_job", PLAIN)
COUNTS = positional_text("add_counts")
HORIZON = statement_text("horizon")
LINE = statement_text("line_of_one")
GRANT = statement_text("grant")
STANDINGS = statement_text("standings_by_id")
DELETE = statement_text("delete_jobs")
COMPLETE = statement_text("complete_jobs")
BLOB = bytearray(PAYLOAD)
DAY = 86_400_000_000
LEFT = "SELECT count(*) FROM jobs WHERE state IN ('waiting', 'running')"


def connect(place: Place) -> sqlite3.Connection:
    connection = sqlite3.connect(file_of(place.url), isolation_level=None, cached_statements=256)
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=OFF"):
        connection.execute(f"PRAGMA {pragma}")
    if not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
        connection.executescript(pending_sql())
    return connection


def _row(seq: int, job_id: str, now: int, keep: int | None) -> tuple[object, ...]:
    # Bound as the driver binds it: `None` and bytes are slow.
    where = ("default", "noop", "waiting", 0, now)
    return (seq, job_id, seq, now, *where, 20, 3, keep, BLOB)


def _enqueue(connection: sqlite3.Connection, made: list[str], first: int, keep: int | None) -> None:
    now = time.time_ns() // 1_000
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("PRAGMA data_version").fetchone()
    if len(made) == 1:
        connection.execute(INSERT, _row(first, made[0], now, keep))
    else:
        rows = [_row(seq, job_id, now, keep) for seq, job_id in enumerate(made, first)]
        connection.executemany(INSERT, rows)
    count = len(made)
    connection.executemany(COUNTS, [("", "seq", count, 0), ("default", "waiting", count, 0)])
    connection.execute("COMMIT")


def enqueue_one(place: Place, jobs: int) -> Measured:
    connection, names = connect(place), ids(jobs)
    start = time.perf_counter()
    for seq, name in enumerate(names, 1):
        _enqueue(connection, [name], seq, 0)
    return {"rate": jobs / (time.perf_counter() - start)}


def enqueue_bulk(place: Place, jobs: int, keep: int | None = 0) -> Measured:
    connection = connect(place)
    start = time.perf_counter()
    for first in range(1, jobs + 1, 1_000):
        _enqueue(connection, ids(min(1_000, jobs - first + 1)), first, keep)
    return {"rate": jobs / (time.perf_counter() - start)}


def drain(place: Place, jobs: int, *, kept: bool = False) -> Measured:
    connection = connect(place)
    held: list[tuple[object, ...]] = []
    count = nonce = 0
    start = time.perf_counter()
    while True:
        nonce, now = nonce + 1, time.time_ns() // 1_000
        connection.execute("BEGIN IMMEDIATE")
        if held:
            asked = {"ids": json.dumps([row[1] for row in held])}
            standing = connection.execute(STANDINGS, asked).fetchall()
            seqs = json.dumps([row[0] for row in standing])
            if kept:
                connection.execute(COMPLETE, {"seqs": seqs, "now": now, "prune_at": now + DAY})
            else:
                connection.execute(DELETE, {"seqs": seqs})
        connection.execute(HORIZON, {"queues": '["default"]', "now": now}).fetchall()
        rows = connection.execute(LINE, {"queue": "default", "now": now, "most": 100}).fetchall()
        granted = {
            "seqs": json.dumps([row[0] for row in rows]),
            "nonce": nonce,
            "worker": "raw",
            "now": now,
            "lease": 60_000_000,
            "until": now + 60_000_000,
        }
        connection.execute(GRANT, granted)
        changes = (("waiting", -len(rows), 0), ("running", len(rows) - len(held), 0))
        counts = [("default", *change) for change in (*changes, ("succeeded", 0, len(held)))]
        connection.executemany(COUNTS, counts)
        connection.execute("COMMIT")
        count += len(held)
        if not rows and not held:
            break
        held = rows
    took = time.perf_counter() - start
    (left,) = connection.execute(LEFT).fetchone()
    if count != jobs or left:
        raise SystemExit(f"drained {count} of {jobs}, and {left} are left")
    return {"rate": jobs / took}


CONTESTANT = Contestant(
    name="raw sqlite3",
    settings=f"our statements, WAL, synchronous=FULL, SQLite {sqlite3.sqlite_version}",
    does={
        "fill": enqueue_bulk,
        "enqueue_one": enqueue_one,
        "enqueue_bulk": enqueue_bulk,
        "drain": drain,
        "drain_kept": lambda place, jobs: drain(place, jobs, kept=True),
    },
)

if __name__ == "__main__":
    main(CONTESTANT, sys.argv[1:])
