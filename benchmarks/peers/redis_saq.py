"""SAQ on Redis."""
# /// script
# dependencies = ["saq[redis]==0.26.4", "typing_extensions==4.16.0", "redis==7.4.1", "hiredis==3.5.0", "uvloop==0.23.0"]
#
# [tool.bench]
# name = "SAQ"
# settings = "concurrency 100, results not kept, uvloop"
# loses = "running jobs: swept as aborted, not run again (retries=1 by default)"
# safe = false
# jobs = 4000
# ///

import uvloop
from saq import Queue, Worker

from benchmarks.contestant import TEXT, Place
from benchmarks.marks import FirstStart, stamp
from benchmarks.peers.peer import Peer, main

PLACE = Place.here()
STARTED = FirstStart(PLACE.folder)


async def noop(ctx, *, text):
    STARTED()


async def stamped(ctx, *, sent):
    stamp(PLACE.folder, sent)


class Saq(Peer):
    async def open(self):
        self._queue = Queue.from_url(PLACE.url)
        await self._queue.connect()

    async def close(self):
        await self._queue.disconnect()

    async def aenqueue(self):
        await self._queue.enqueue("noop", text=TEXT, ttl=-1)

    async def aleft(self):
        return await self._queue.count("incomplete")

    async def asend(self, sent):
        await self._queue.enqueue("stamped", sent=sent, ttl=-1)

    def work(self):
        uvloop.run(self._work())

    async def _work(self):
        queue = Queue.from_url(PLACE.url)
        await queue.connect()
        await Worker(queue, [noop, stamped], concurrency=100).start()


if __name__ == "__main__":
    main(Saq)
