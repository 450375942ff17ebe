"""persist-queue on a SQLite file."""
# /// script
# dependencies = ["persist-queue==1.1.0"]
#
# [tool.bench]
# name = "persist-queue"
# settings = "SQLiteAckQueue, WAL, auto_commit, get and ack in a loop, polls every 10 ms when idle"
# loses = "nothing with one worker: resumed at its restart; two workers may run a job twice"
# safe = true
# jobs = 4000
# ///

import sqlite3
import time
from pathlib import Path

from persistqueue import Empty, SQLiteAckQueue

from benchmarks.contestant import TEXT
from benchmarks.marks import stamp
from benchmarks.peers.peer import Peer, main


class PersistQueue(Peer):
    def __init__(self, place, *, resume=False):
        super().__init__(place)
        file = Path(place.url.removeprefix("sqlite:///"))
        self._look = sqlite3.connect(file, check_same_thread=False)
        self._queue = SQLiteAckQueue(
            str(file.parent), db_file_name=file.name, auto_resume=resume, multithreading=True
        )

    def enqueue(self):
        self._queue.put({"text": TEXT})

    def left(self):
        # Inited, ready and unacknowledged; its own counts leave out the first of them.
        query = "SELECT count(*) FROM ack_queue_default WHERE status < 5"
        return self._look.execute(query).fetchone()[0]

    def send(self, sent):
        self._queue.put({"sent": sent})

    def work(self):
        queue = PersistQueue(self.place, resume=True)._queue
        while True:
            try:
                item = queue.get(block=False, raw=True)
            except Empty:
                time.sleep(0.01)
                continue
            if "sent" in item["data"]:
                stamp(self.place.folder, item["data"]["sent"])
            self.started()
            queue.ack(id=item["pqid"])


if __name__ == "__main__":
    main(PersistQueue)
