"""Celery on Redis, as it is by default: a job is acknowledged before it runs."""
# /// script
# dependencies = ["celery[redis]==5.7.0", "hiredis==3.5.0"]
#
# [tool.bench]
# name = "Celery"
# settings = "prefork, 2 children, prefetch 64, no results, acknowledged early (default)"
# loses = "running jobs: they are acknowledged before they run"
# safe = false
# jobs = 3000
# ///

import redis
from celery import Celery

from benchmarks.contestant import TEXT, Place
from benchmarks.marks import FirstStart, stamp
from benchmarks.peers.peer import Peer, main

PLACE = Place.here()
STARTED = FirstStart(PLACE.folder)
APP = Celery("bench", broker=PLACE.url)
APP.conf.update(
    task_ignore_result=True,
    worker_prefetch_multiplier=64,
    broker_connection_retry_on_startup=True,
    worker_hijack_root_logger=False,
)


@APP.task(name="noop")
def noop(text):
    STARTED()


@APP.task(name="stamped")
def stamped(sent):
    stamp(PLACE.folder, sent)


class CeleryPeer(Peer):
    def __init__(self, place):
        super().__init__(place)
        self._redis = redis.Redis.from_url(place.url)

    def enqueue(self):
        noop.delay(TEXT)

    def left(self):
        return self._redis.llen("celery") + self._redis.hlen("unacked")

    def send(self, sent):
        stamped.delay(sent)

    def work(self):
        options = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
        APP.worker_main(["worker", "-P", "prefork", "-c", "2", "-l", "WARNING", *options])


if __name__ == "__main__":
    main(CeleryPeer)
