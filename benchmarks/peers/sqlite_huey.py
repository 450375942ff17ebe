"""huey on a SQLite file."""
# /// script
# dependencies = ["huey==3.5.4"]
#
# [tool.bench]
# name = "huey"
# settings = "SqliteHuey, WAL, fsync=True (synchronous=FULL), one worker thread, polls from 0.1 s"
# loses = "the running job: it is taken out of the store before it runs"
# safe = false
# jobs = 5000
# ///

from huey import SqliteHuey

from benchmarks.contestant import TEXT, Place
from benchmarks.marks import FirstStart, stamp
from benchmarks.peers.peer import Peer, main

PLACE = Place.here()
STARTED = FirstStart(PLACE.folder)
HUEY = SqliteHuey("bench", filename=PLACE.url.removeprefix("sqlite:///"), fsync=True)


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
        HUEY.create_consumer(workers=1, periodic=False).run()


if __name__ == "__main__":
    main(Huey)
