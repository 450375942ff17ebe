"""RQ on Redis."""
# /// script
# dependencies = ["rq==2.12.0", "redis==8.1.0", "hiredis==3.5.0"]
#
# [tool.bench]
# name = "RQ"
# settings = "SimpleWorker (no fork per job), results not kept"
# loses = "the running job: it ends up in the registry of failed ones and is not run again"
# safe = false
# jobs = 800
# ///

import redis
from rq import Queue, SimpleWorker

from benchmarks.contestant import TEXT, Place
from benchmarks.marks import FirstStart, stamp
from benchmarks.peers.peer import Peer, main

PLACE = Place.here()
STARTED = FirstStart(PLACE.folder)
HERE = "benchmarks.peers.redis_rq"


def noop(text):
    STARTED()


def stamped(sent):
    stamp(PLACE.folder, sent)


class Rq(Peer):
    def __init__(self, place):
        super().__init__(place)
        self._redis = redis.Redis.from_url(place.url)
        self._queue = Queue("bench", connection=self._redis)

    def enqueue(self):
        self._queue.enqueue(f"{HERE}.noop", TEXT, result_ttl=0)

    def enqueue_many(self, jobs):
        for first in range(0, jobs, 1_000):
            count = min(1_000, jobs - first)
            data = [Queue.prepare_data(f"{HERE}.noop", (TEXT,), result_ttl=0) for _ in range(count)]
            self._queue.enqueue_many(data)

    def left(self):
        return self._queue.count + self._queue.started_job_registry.count

    def send(self, sent):
        self._queue.enqueue(f"{HERE}.stamped", sent, result_ttl=0)

    def work(self):
        SimpleWorker([self._queue], connection=self._redis).work(logging_level="WARNING")


if __name__ == "__main__":
    main(Rq)
