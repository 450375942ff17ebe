"""taskiq on Redis streams."""
# /// script
# dependencies = ["taskiq==0.13.0", "taskiq-redis==1.2.4", "redis==8.1.0", "hiredis==3.5.0", "orjson==3.13.0", "uvloop==0.23.0"]
#
# [tool.bench]
# name = "taskiq"
# settings = "RedisStreamBroker, 1 process, 100 async tasks, 100 prefetched, orjson, uvloop, no results"
# loses = "nothing: claimed again after being idle for 10 minutes"
# safe = true
# jobs = 6000
# ///

import os
import sys

import redis.asyncio
from taskiq.serializers import ORJSONSerializer
from taskiq_redis import RedisStreamBroker

from benchmarks.contestant import TEXT, Place
from benchmarks.marks import FirstStart, stamp
from benchmarks.peers.peer import Peer, main

PLACE = Place.here()
STARTED = FirstStart(PLACE.folder)
BROKER = RedisStreamBroker(PLACE.url, queue_name="bench", consumer_id="0").with_serializer(
    ORJSONSerializer()
)


@BROKER.task(task_name="noop")
async def noop(text: str) -> None:
    STARTED()


@BROKER.task(task_name="stamped")
async def stamped(sent: float) -> None:
    stamp(PLACE.folder, sent)


class Taskiq(Peer):
    async def open(self):
        await BROKER.startup()
        self._redis = redis.asyncio.Redis.from_url(PLACE.url)

    async def close(self):
        await BROKER.shutdown()
        await self._redis.aclose()

    async def aenqueue(self):
        await noop.kiq(TEXT)

    async def aleft(self):
        # Entries stay in the stream; what was not delivered yet, and what was not acknowledged.
        groups = await self._redis.xinfo_groups("bench")
        return sum(group["pending"] + (group["lag"] or 0) for group in groups)

    async def asend(self, sent):
        await stamped.kiq(sent)

    def work(self):
        options = ["--workers", "1", "--max-async-tasks", "100", "--max-prefetch", "100"]
        command = ["-m", "taskiq", "worker", "benchmarks.peers.redis_taskiq:BROKER", *options]
        os.execv(sys.executable, [sys.executable, *command, "--log-level", "WARNING"])


if __name__ == "__main__":
    main(Taskiq)
