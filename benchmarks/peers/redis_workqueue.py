"""redis-work-queue, its Python client."""
# /// script
# dependencies = ["redis-work-queue==0.1.5", "redis==8.1.0", "hiredis==3.5.0"]
#
# [tool.bench]
# name = "redis-work-queue"
# settings = "lease and complete in a loop, no cleaning during the drain"
# loses = "nothing: the item is taken back by light_clean after its lease"
# safe = true
# jobs = 3000
# ///

import json

import redis
from redis_work_queue import Item, KeyPrefix, WorkQueue

from benchmarks.contestant import PAYLOAD
from benchmarks.marks import stamp
from benchmarks.peers.peer import Peer, main


class RedisWorkQueue(Peer):
    def __init__(self, place):
        super().__init__(place)
        self._redis = redis.Redis.from_url(place.url)
        self._queue = WorkQueue(KeyPrefix("bench"))

    def enqueue(self):
        self._queue.add_item(self._redis, Item(PAYLOAD))

    def enqueue_many(self, jobs):
        for first in range(0, jobs, 1_000):
            pipe = self._redis.pipeline()
            for _ in range(min(1_000, jobs - first)):
                self._queue.add_item_to_pipeline(pipe, Item(PAYLOAD))
            pipe.execute()

    def left(self):
        return self._queue.queue_len(self._redis) + self._queue.processing(self._redis)

    def send(self, sent):
        self._queue.add_item(self._redis, Item.from_json_data({"sent": sent}))

    def work(self):
        while True:
            item = self._queue.lease(self._redis, 60, block=True, timeout=1)
            if item is None:
                continue
            data = json.loads(item.data())
            if "sent" in data:
                stamp(self.place.folder, data["sent"])
            self.started()
            self._queue.complete(self._redis, item)


if __name__ == "__main__":
    main(RedisWorkQueue)
