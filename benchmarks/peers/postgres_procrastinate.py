"""Procrastinate on PostgreSQL."""
# /// script
# dependencies = ["procrastinate==3.10.0", "psycopg[binary,pool]==3.3.8"]
#
# [tool.bench]
# name = "Procrastinate"
# settings = "concurrency 50, pool of 20, LISTEN/NOTIFY, ended jobs deleted when successful"
# loses = "running jobs stay 'doing' until a task of your own retries stalled ones"
# safe = false
# jobs = 1500
# ///

import procrastinate
import psycopg

from benchmarks.contestant import TEXT, Place
from benchmarks.marks import FirstStart, stamp
from benchmarks.peers.peer import Peer, main

PLACE = Place.here()
STARTED = FirstStart(PLACE.folder)
APP = procrastinate.App(
    connector=procrastinate.PsycopgConnector(conninfo=PLACE.url, min_size=4, max_size=20)
)


@APP.task(name="noop")
async def noop(text):
    STARTED()


@APP.task(name="stamped")
async def stamped(sent):
    stamp(PLACE.folder, sent)


class Procrastinate(Peer):
    def prepare(self):
        self._look = psycopg.connect(PLACE.url, autocommit=True)
        if self._look.execute("SELECT to_regclass('procrastinate_jobs')").fetchone()[0] is None:
            with procrastinate.App(
                connector=procrastinate.SyncPsycopgConnector(conninfo=PLACE.url)
            ).open() as app:
                app.schema_manager.apply_schema()

    async def open(self):
        await APP.open_async()

    async def close(self):
        await APP.close_async()

    async def aenqueue(self):
        await noop.defer_async(text=TEXT)

    async def aenqueue_many(self, jobs):
        for first in range(0, jobs, 1_000):
            count = min(1_000, jobs - first)
            await noop.batch_defer_async(*({"text": TEXT} for _ in range(count)))

    def left(self):
        query = "SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing')"
        return self._look.execute(query).fetchone()[0]

    async def asend(self, sent):
        await stamped.defer_async(sent=sent)

    def work(self):
        self.prepare()
        APP.run_worker(concurrency=50, delete_jobs="successful")


if __name__ == "__main__":
    main(Procrastinate)
