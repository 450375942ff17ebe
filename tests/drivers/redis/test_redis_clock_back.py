"""The server's clock is stepped back: a claim still says when to come again."""

import pytest

from oxmill.drivers.redis.driver import open_redis
from oxmill.model.claim import Claim
from oxmill.model.info import Sweep
from oxmill.model.job import Enqueue, NewJob
from oxmill.model.settings import PutSettings, QueueSettings
from oxmill.store.roles.installing import Migrate
from oxmill.testing.clock import VirtualClock
from oxmill.testing.operations import plan_for

SECOND = 1_000_000


@pytest.mark.parametrize("swept", [False, True])
def test_a_rate_that_is_used_up_again_counts_beside_a_limit(redis_server, tmp_path, swept):
    """The lane was parked for the limit alone; by the clock of now the rate keeps it too."""
    clock = VirtualClock()
    driver = open_redis(redis_server.url, namespace=tmp_path.name, clock=clock)

    def do(request):
        return driver.run(plan_for(driver, request))

    def claim(nonce):
        return do(Claim(queues=("q",), limit=5, lease=60 * SECOND, worker="w", nonce=nonce))

    do(Migrate())
    start = clock.now
    limits = QueueSettings(group_concurrency=1, group_rate="1/3s")
    do(PutSettings(queue="q", settings=limits))
    jobs = (NewJob(id=name, queue="q", task="t", payload=b"{}", group="g") for name in "ab")
    do(Enqueue(jobs=tuple(jobs)))
    claim(1)
    clock.advance(4 * SECOND)
    assert claim(2).next_due == start + 60 * SECOND

    clock.advance(-9 * SECOND)
    if swept:
        do(Sweep())

    assert claim(3).next_due == start + 3 * SECOND
    driver.close()
