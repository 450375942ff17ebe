"""Celery on Redis with late acknowledgement, so that a killed worker's jobs come back."""
# /// script
# dependencies = ["celery[redis]==5.7.0", "hiredis==3.5.0"]
#
# [tool.bench]
# name = "Celery, acks_late"
# settings = "prefork, 2 children, prefetch 64, no results, acks_late, reject_on_worker_lost"
# loses = "nothing: redelivered after the visibility timeout (1 hour by default)"
# safe = true
# jobs = 3000
# ///

from benchmarks.peers.peer import main
from benchmarks.peers.redis_celery import APP, CeleryPeer

APP.conf.update(task_acks_late=True, task_reject_on_worker_lost=True)

if __name__ == "__main__":
    main(CeleryPeer)
