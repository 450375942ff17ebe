"""BullMQ's Python port on Redis."""
# /// script
# dependencies = ["bullmq==3.4.4", "redis==8.1.0", "hiredis==3.5.0", "uvloop==0.23.0"]
#
# [tool.bench]
# name = "BullMQ (Python)"
# settings = "concurrency 50, removeOnComplete, uvloop"
# loses = "nothing: stalled jobs are run again after their lock (30 s)"
# safe = true
# jobs = 4000
# ///

import asyncio

import uvloop
from bullmq import Queue, Worker

from benchmarks.contestant import TEXT, Place
from benchmarks.marks import FirstStart, stamp
from benchmarks.peers.peer import Peer, main

PLACE = Place.here()
STARTED = FirstStart(PLACE.folder)
OPTIONS = {"removeOnComplete": True}


async def process(job, token):
    if job.name == "stamped":
        stamp(PLACE.folder, job.data["sent"])
    STARTED()


class BullMq(Peer):
    async def open(self):
        self._queue = Queue("bench", {"connection": PLACE.url})

    async def close(self):
        await self._queue.close()

    async def aenqueue(self):
        await self._queue.add("noop", {"text": TEXT}, OPTIONS)

    async def aenqueue_many(self, jobs):
        for first in range(0, jobs, 1_000):
            count = min(1_000, jobs - first)
            made = [{"name": "noop", "data": {"text": TEXT}, "opts": OPTIONS} for _ in range(count)]
            await self._queue.addBulk(made)

    async def aleft(self):
        counts = await self._queue.getJobCounts("wait", "active", "prioritized", "delayed")
        return sum(counts.values())

    async def asend(self, sent):
        await self._queue.add("stamped", {"sent": sent}, OPTIONS)

    def work(self):
        uvloop.run(self._work())

    async def _work(self):
        worker = Worker("bench", process, {"connection": PLACE.url, "concurrency": 50})
        await asyncio.Event().wait()
        await worker.close()


if __name__ == "__main__":
    main(BullMq)
