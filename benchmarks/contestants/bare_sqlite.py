"""The least that could be called a queue on plain `sqlite3`, with the same durability and batch.

One table with an id that must be unique, WAL, synchronous=FULL. A claim marks rows under a lease and
returns them; a completion deletes them; a busy loop does both in one transaction.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import time

from benchmarks.contestant import PAYLOAD, Contestant, Measured, Place, main
from benchmarks.servers.sqlite import file_of

SCHEMA = """
CREATE TABLE jobs (
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, queue TEXT NOT NULL, task TEXT NOT NULL,
  state TEXT NOT NULL, priority INTEGER NOT NULL, payload BLOB NOT NULL, lease_until INTEGER,
  token INTEGER, result BLOB
) STRICT;
CREATE INDEX jobs_claim ON jobs (queue, priority, seq) WHERE state = 'waiting';
"""
INSERT = (
    "INSERT INTO jobs (id, queue, task, state, priority, payload) "
    "VALUES (?, 'default', 'noop', 'waiting', 0, ?)"
)
CLAIM = """
UPDATE jobs SET state = 'running', lease_until = ?, token = ? WHERE seq IN (
  SELECT seq FROM jobs WHERE queue = 'default' AND state = 'waiting' ORDER BY priority, seq LIMIT ?
) RETURNING seq, id, payload
"""
DELETE = "DELETE FROM jobs WHERE seq = ? AND token = ?"
LEFT = "SELECT count(*) FROM jobs WHERE state IN ('waiting', 'running')"
KEEP = "UPDATE jobs SET state = 'succeeded', result = NULL WHERE seq = ? AND token = ?"


def connect(place: Place) -> sqlite3.Connection:
    connection = sqlite3.connect(file_of(place.url), isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA secure_delete=OFF")
    if not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
        connection.executescript(SCHEMA)
    return connection


def ids(count: int) -> list[str]:
    """Ordered in time like ours, so that the index grows at its end here too."""
    return [f"{time.time_ns():016x}{os.urandom(8).hex()}" for _ in range(count)]


def enqueue_one(place: Place, jobs: int) -> Measured:
    connection, names = connect(place), ids(jobs)
    start = time.perf_counter()
    for name in names:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(INSERT, (name, PAYLOAD))
        connection.execute("COMMIT")
    return {"rate": jobs / (time.perf_counter() - start)}


def enqueue_bulk(place: Place, jobs: int) -> Measured:
    connection = connect(place)
    start = time.perf_counter()
    for first in range(0, jobs, 1_000):
        made = ids(min(1_000, jobs - first))
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(INSERT, [(name, PAYLOAD) for name in made])
        connection.execute("COMMIT")
    return {"rate": jobs / (time.perf_counter() - start)}


def _drain(place: Place, jobs: int, ending: str, batch: int = 100) -> Measured:
    connection = connect(place)
    done: list[tuple[int, int]] = []
    count = token = 0
    start = time.perf_counter()
    while True:
        token += 1
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(ending, done)
        rows = connection.execute(
            CLAIM, (time.time_ns() // 1000 + 60_000_000, token, batch)
        ).fetchall()
        connection.execute("COMMIT")
        count += len(done)
        if not rows and not done:
            break
        done = [(seq, token) for seq, _, _ in rows]
    took = time.perf_counter() - start
    (left,) = connection.execute(LEFT).fetchone()
    if count != jobs or left:
        raise SystemExit(f"drained {count} of {jobs}, and {left} are left")
    return {"rate": jobs / took}


def drain(place: Place, jobs: int) -> Measured:
    return _drain(place, jobs, DELETE)


def drain_kept(place: Place, jobs: int) -> Measured:
    return _drain(place, jobs, KEEP)


CONTESTANT = Contestant(
    name="bare sqlite3",
    settings=f"WAL, synchronous=FULL, one connection, SQLite {sqlite3.sqlite_version}",
    does={
        "fill": enqueue_bulk,
        "enqueue_one": enqueue_one,
        "enqueue_bulk": enqueue_bulk,
        "drain": drain,
        "drain_kept": drain_kept,
    },
)

if __name__ == "__main__":
    main(CONTESTANT, sys.argv[1:])
