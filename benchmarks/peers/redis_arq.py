"""arq on Redis."""
# /// script
# dependencies = ["arq==0.28.0", "hiredis==3.5.0", "uvloop==0.23.0"]
#
# [tool.bench]
# name = "arq"
# settings = "max_jobs 100, results not kept, polls every 0.5 s (default), uvloop"
# loses = "nothing: run again after the job's timeout (300 s)"
# safe = true
# jobs = 3000
# ///

import uvloop
from arq import Worker, create_pool
from arq.connections import RedisSettings

from benchmarks.contestant import TEXT, Place
from benchmarks.marks import FirstStart, stamp
from benchmarks.peers.peer import Peer, main

PLACE = Place.here()
STARTED = FirstStart(PLACE.folder)
SETTINGS = RedisSettings.from_dsn(PLACE.url)


async def noop(ctx, text):
    STARTED()


async def stamped(ctx, sent):
    stamp(PLACE.folder, sent)


class Arq(Peer):
    async def open(self):
        self._pool = await create_pool(SETTINGS)

    async def close(self):
        await self._pool.aclose()

    async def aenqueue(self):
        await self._pool.enqueue_job("noop", TEXT)

    async def aleft(self):
        # A job leaves the sorted set when it has been finished.
        return await self._pool.zcard("arq:queue")

    async def asend(self, sent):
        await self._pool.enqueue_job("stamped", sent)

    def work(self):
        uvloop.install()
        import asyncio

        asyncio.set_event_loop(asyncio.new_event_loop())
        worker = Worker(
            [noop, stamped],
            redis_settings=SETTINGS,
            max_jobs=100,
            keep_result=0,
            log_results=False,
        )
        worker.run()


if __name__ == "__main__":
    main(Arq)
