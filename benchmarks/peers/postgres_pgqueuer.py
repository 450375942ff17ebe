"""PgQueuer on PostgreSQL, in batches of 100."""
# /// script
# dependencies = ["pgqueuer[asyncpg]==1.6.0", "asyncpg==0.32.0", "uvloop==0.23.0"]
#
# [tool.bench]
# name = "PgQueuer, batch 100"
# settings = "asyncpg, uvloop, batch_size 100"
# loses = "nothing: run again when the heartbeat has been missing for 30 s"
# safe = true
# jobs = 20000
# ///

import json

import asyncpg
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.queries import Queries

from benchmarks.contestant import PAYLOAD, Place
from benchmarks.marks import FirstStart, stamp
from benchmarks.peers.peer import Peer, main

PLACE = Place.here()
STARTED = FirstStart(PLACE.folder)


class PgQueuerPeer(Peer):
    batch = 100

    async def open(self):
        self._connection = await asyncpg.connect(PLACE.url)
        self._queries = Queries(AsyncpgDriver(self._connection))
        if await self._connection.fetchval("SELECT to_regclass('pgqueuer')") is None:
            await self._queries.install()

    async def close(self):
        await self._connection.close()

    async def aenqueue(self):
        await self._queries.enqueue("noop", PAYLOAD)

    async def aenqueue_many(self, jobs):
        for first in range(0, jobs, 1_000):
            count = min(1_000, jobs - first)
            await self._queries.enqueue(["noop"] * count, [PAYLOAD] * count, [0] * count)

    async def aleft(self):
        # Ended jobs are moved to a log; what waits or runs is in this table.
        return await self._connection.fetchval("SELECT count(*) FROM pgqueuer")

    async def asend(self, sent):
        await self._queries.enqueue("stamped", json.dumps(sent).encode())

    def work(self):
        uvloop.run(self._work())

    async def _work(self):
        await self.open()
        queuer = PgQueuer.from_asyncpg_connection(self._connection)

        @queuer.entrypoint("noop")
        async def noop(job):
            STARTED()

        @queuer.entrypoint("stamped")
        async def stamped(job):
            stamp(PLACE.folder, json.loads(job.payload))

        await queuer.run(batch_size=self.batch)


if __name__ == "__main__":
    main(PgQueuerPeer)
