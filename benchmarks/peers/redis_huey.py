"""huey on Redis."""
# /// script
# dependencies = ["huey==3.5.4", "redis==8.1.0", "hiredis==3.5.0"]
#
# [tool.bench]
# name = "huey"
# settings = "RedisHuey, four worker threads, blocking pop"
# loses = "running jobs: they are taken out of the store before they run"
# safe = false
# jobs = 6000
# ///

from huey import RedisHuey

from benchmarks.contestant import TEXT, Place
from benchmarks.marks import FirstStart, stamp
from benchmarks.peers.peer import Peer, main

PLACE = Place.here()
STARTED = FirstStart(PLACE.folder)
HUEY = RedisHuey("bench", url=PLACE.url)


@HUEY.task()
def noop(text):
    STARTED()


@HUEY.task()
def stamped(sent):
    stamp(PLACE.folder, sent)


class Huey(Peer):
    def enqueue(self):
        noop(TEXT)

    def left(self):
        return HUEY.pending_count()

    def send(self, sent):
        stamped(sent)

    def work(self):
        HUEY.create_consumer(workers=4, periodic=False).run()


if __name__ == "__main__":
    main(Huey)
