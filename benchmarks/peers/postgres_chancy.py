"""Chancy on PostgreSQL."""
# /// script
# dependencies = ["chancy==0.26.0", "psycopg[binary,pool]==3.3.8", "uvloop==0.23.0"]
#
# [tool.bench]
# name = "Chancy"
# settings = "AsyncExecutor, concurrency 100, eager_polling, polls every second, uvloop"
# loses = "nothing: the recovery plugin runs them again (on by default)"
# safe = true
# jobs = 8000
# ///

import logging

import psycopg
import uvloop
from chancy import Chancy, Job, Queue, Worker

from benchmarks.contestant import TEXT, Place
from benchmarks.marks import FirstStart, stamp
from benchmarks.peers.peer import Peer, main

PLACE = Place.here()
STARTED = FirstStart(PLACE.folder)
HERE = "benchmarks.peers.postgres_chancy"
QUIET = logging.getLogger("quiet")
QUIET.setLevel(logging.ERROR)


async def noop(*, text: str):
    STARTED()


async def stamped(*, sent: float):
    stamp(PLACE.folder, sent)


class ChancyPeer(Peer):
    async def open(self):
        self._chancy = Chancy(PLACE.url, log=QUIET)
        await self._chancy.__aenter__()
        await self._chancy.migrate()
        queue = Queue(
            "default",
            concurrency=100,
            executor=Chancy.Executor.Async,
            polling_interval=1,
            eager_polling=True,
        )
        await self._chancy.declare(queue, upsert=True)
        self._look = psycopg.connect(PLACE.url, autocommit=True)

    async def close(self):
        await self._chancy.__aexit__(None, None, None)

    async def aenqueue(self):
        await self._chancy.push(Job(func=f"{HERE}.noop", kwargs={"text": TEXT}))

    async def aenqueue_many(self, jobs):
        made = [Job(func=f"{HERE}.noop", kwargs={"text": TEXT}) for _ in range(jobs)]
        async for _ in self._chancy.push_many(made):
            pass

    def left(self):
        query = "SELECT count(*) FROM chancy_jobs WHERE state NOT IN ('succeeded', 'failed')"
        return self._look.execute(query).fetchone()[0]

    async def asend(self, sent):
        await self._chancy.push(Job(func=f"{HERE}.stamped", kwargs={"sent": sent}))

    def work(self):
        uvloop.run(self._work())

    async def _work(self):
        await self.open()
        async with Worker(self._chancy) as worker:
            await worker.wait_for_shutdown()


if __name__ == "__main__":
    main(ChancyPeer)
