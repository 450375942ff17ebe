"""Dramatiq on Redis."""
# /// script
# dependencies = ["dramatiq[redis]==2.2.1", "redis==8.1.0", "hiredis==3.5.0"]
#
# [tool.bench]
# name = "Dramatiq"
# settings = "1 process, 8 threads, prefetch 1000, default middleware"
# loses = "nothing: run again when the worker's heartbeat has been missing for a minute"
# safe = true
# jobs = 8000
# ///

import os
import sys

import dramatiq
from dramatiq.brokers.redis import RedisBroker

from benchmarks.contestant import TEXT, Place
from benchmarks.marks import FirstStart, stamp
from benchmarks.peers.peer import Peer, main

PLACE = Place.here()
STARTED = FirstStart(PLACE.folder)
BROKER = RedisBroker(url=PLACE.url)
dramatiq.set_broker(BROKER)


@dramatiq.actor(queue_name="bench")
def noop(text):
    STARTED()


@dramatiq.actor(queue_name="bench")
def stamped(sent):
    stamp(PLACE.folder, sent)


class Dramatiq(Peer):
    def enqueue(self):
        noop.send(TEXT)

    def left(self):
        # Prefetched and running messages stay in the hash until they are acknowledged.
        return BROKER.client.hlen("dramatiq:bench.msgs")

    def send(self, sent):
        stamped.send(sent)

    def work(self):
        os.environ["dramatiq_queue_prefetch"] = "1000"  # noqa: SIM112 - its own spelling
        command = [sys.executable, "-m", "dramatiq", "benchmarks.peers.redis_dramatiq"]
        os.execv(sys.executable, [*command, "-p", "1", "-t", "8"])


if __name__ == "__main__":
    main(Dramatiq)
