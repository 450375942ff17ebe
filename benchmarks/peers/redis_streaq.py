"""streaQ on Redis."""
# /// script
# dependencies = ["streaq==7.2.0", "uvloop==0.23.0"]
#
# [tool.bench]
# name = "streaQ"
# settings = "concurrency 100, 200 prefetched, uvloop, results not kept"
# loses = "nothing: claimed again after the idle timeout (60 s)"
# safe = true
# jobs = 3000
# ///

import asyncio

from streaq import Worker

from benchmarks.contestant import TEXT, Place
from benchmarks.marks import FirstStart, stamp
from benchmarks.peers.peer import Peer, main

PLACE = Place.here()
STARTED = FirstStart(PLACE.folder)
WORKER = Worker(
    redis_url=PLACE.url, concurrency=100, prefetch=200, anyio_kwargs={"use_uvloop": True}
)


@WORKER.task(name="noop", ttl=0, silent=True)
async def noop(text: str) -> None:
    STARTED()


@WORKER.task(name="stamped", ttl=0, silent=True)
async def stamped(sent: float) -> None:
    stamp(PLACE.folder, sent)


class Streaq(Peer):
    async def open(self):
        ready, self._done = asyncio.Event(), asyncio.Event()
        self._holder = asyncio.create_task(self._hold(ready))
        await ready.wait()

    async def _hold(self, ready):
        """Its context has to be left by the task that entered it."""
        async with WORKER:
            ready.set()
            await self._done.wait()

    async def close(self):
        self._done.set()
        await self._holder

    async def aenqueue(self):
        await noop.enqueue(TEXT)

    async def aenqueue_many(self, jobs):
        for first in range(0, jobs, 1_000):
            count = min(1_000, jobs - first)
            await WORKER.enqueue_many([noop.enqueue(TEXT) for _ in range(count)])

    async def aleft(self):
        return await WORKER.queue_size()

    async def asend(self, sent):
        await stamped.enqueue(sent)

    def work(self):
        WORKER.run_sync()


if __name__ == "__main__":
    main(Streaq)
