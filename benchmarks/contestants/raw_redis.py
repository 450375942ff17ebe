"""The ceiling: our own scripts through plain redis-py with hiredis, and no library around them.

Same keys, same script texts, same arguments and batches as the driver's; the loop does nothing that
the store does not need.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

import hiredis
import redis

from benchmarks.contestant import PAYLOAD, Contestant, Measured, Place, main
from benchmarks.marks import check_stored
from oxmill.drivers.redis.driver import REDIS_BOUNDS
from oxmill.drivers.redis.enqueueing import plain_args
from oxmill.drivers.redis.installing import VERSION
from oxmill.drivers.redis.keys import keys_of
from oxmill.drivers.redis.record import pack_id
from oxmill.drivers.redis.script import CLAIM, ENQUEUE, MIGRATE, SETTLE, Script
from oxmill.model.job import NewJob
from oxmill.queue.ids import IdSource

KEYS = keys_of("oxmill", 0)
BELL = "oxmill:bell:"
BATCH, BULK = 100, REDIS_BOUNDS.batch_jobs


class Raw:
    """A client that has loaded the scripts."""

    def __init__(self, url: str) -> None:
        self.client = redis.Redis.from_url(url)
        for script in (CLAIM, ENQUEUE, MIGRATE, SETTLE):
            self.client.script_load(script.text)
        self.call(MIGRATE, VERSION, "raw")

    def call(self, script: Script, *args: Any, at: Any = None) -> Any:
        """Run a script on the store's own time."""
        return (at or self.client).evalsha(script.sha, len(KEYS), *KEYS, b"", BELL, *args)

    def left(self) -> int:
        """How many jobs wait or run."""
        kinds = (f"{KEYS[0]}:{kind}:default" for kind in ("line", "leases"))
        return sum(self.client.zcard(key) for key in kinds)


class Records:
    """New jobs as the enqueue script takes them: a made one with the id exchanged."""

    def __init__(self, keep: int | None) -> None:
        self._ids = IdSource()
        job = NewJob(id=self._ids(), queue="default", task="noop", payload=PAYLOAD, keep=keep)
        args = plain_args([job])
        assert args is not None
        self._queue, self._priority, record, self._rest = args
        self._before, _, self._after = record.partition(pack_id(job.id))

    def args(self, count: int) -> list[Any]:
        """The arguments for this many new jobs."""
        args = ["plain", self._queue]
        for _ in range(count):
            record = self._before + pack_id(self._ids()) + self._after
            args += (self._priority, record, self._rest)
        return args


def enqueue_one(place: Place, jobs: int) -> Measured:
    raw, records = Raw(place.url), Records(keep=0)
    made = [records.args(1) for _ in range(jobs)]
    raw.call(ENQUEUE, *records.args(1))
    start = time.perf_counter()
    for args in made:
        raw.call(ENQUEUE, *args)
    rate = jobs / (time.perf_counter() - start)
    check_stored(raw.left(), jobs + 1)
    return {"rate": rate}


def enqueue_bulk(place: Place, jobs: int, keep: int | None = 0) -> Measured:
    raw, records = Raw(place.url), Records(keep)
    before = raw.left()
    start = time.perf_counter()
    for first in range(0, jobs, BULK):
        raw.call(ENQUEUE, *records.args(min(BULK, jobs - first)))
    rate = jobs / (time.perf_counter() - start)
    check_stored(raw.left() - before, jobs)
    return {"rate": rate}


def drain(place: Place, jobs: int) -> Measured:
    """Settle the last batch and claim the next in one round trip, until nothing is left."""
    raw, held = Raw(place.url), []
    count = nonce = 0
    start = time.perf_counter()
    while True:
        nonce += 1
        claim = (60_000_000, "raw", f"{nonce:x}", BATCH, REDIS_BOUNDS.cleanup_jobs, 0, "default")
        pipe = raw.client.pipeline(transaction=False)
        if held:
            raw.call(SETTLE, "plain", *_endings(held, nonce - 1), at=pipe)
        raw.call(CLAIM, *claim, at=pipe)
        count += len(held)
        claimed = pipe.execute()[-1][2:]
        if not claimed and not held:
            break
        held = claimed
    took = time.perf_counter() - start
    # A settlement with a wrong token would change nothing, and fast.
    check_stored(jobs - count + raw.left(), 0)
    return {"rate": jobs / took}


def _endings(held: Sequence[bytes], nonce: int) -> list[Any]:
    """Completions of first attempts: a record starts with its frame, then the id."""
    terms, args = f"1 {nonce:x} n", []
    for record in held:
        args += (record[7 : 7 + record[0]], terms)
    return args


CONTESTANT = Contestant(
    name="raw redis-py",
    settings=f"our scripts, one connection, redis-py {redis.__version__}, hiredis {hiredis.__version__}",
    does={
        "fill": enqueue_bulk,
        "fill_kept": lambda place, jobs: enqueue_bulk(place, jobs, None),
        "enqueue_one": enqueue_one,
        "enqueue_bulk": enqueue_bulk,
        "drain": drain,
        "drain_kept": drain,
    },
)

if __name__ == "__main__":
    main(CONTESTANT, sys.argv[1:])
