"""litequeue on a SQLite file."""
# /// script
# dependencies = ["litequeue==0.9"]
#
# [tool.bench]
# name = "litequeue"
# settings = "pop and done in a loop, WAL, synchronous=NORMAL (its own setting), polls every 10 ms when idle"
# loses = "running jobs stay locked until somebody retries them by hand; power loss may lose the newest"
# safe = false
# jobs = 5000
# ///

import json
import time

from litequeue import LiteQueue

from benchmarks.contestant import PAYLOAD
from benchmarks.marks import stamp
from benchmarks.peers.peer import Peer, main


class Litequeue(Peer):
    def __init__(self, place):
        super().__init__(place)
        self._queue = LiteQueue(place.url.removeprefix("sqlite:///"), timeout=30)

    def enqueue(self):
        self._queue.put(PAYLOAD.decode())

    def left(self):
        return self._queue.qsize()

    def send(self, sent):
        self._queue.put(json.dumps({"sent": sent}))

    def work(self):
        queue = self._queue
        while True:
            message = queue.pop()
            if message is None:
                time.sleep(0.01)
                continue
            data = json.loads(message.data)
            if "sent" in data:
                stamp(self.place.folder, data["sent"])
            self.started()
            queue.done(message.message_id)


if __name__ == "__main__":
    main(Litequeue)
