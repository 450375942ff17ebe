"""Made-up stories run the same on Redis and on the reference."""

from itertools import count

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from private_redis import WHEELS, shared_server

from oxmill.drivers.memory.driver import open_memory
from oxmill.drivers.redis.driver import open_redis
from oxmill.testing.face import Face
from oxmill.testing.machine import machine_for

STORIES = settings(
    max_examples=40,
    stateful_step_count=40,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
    print_blob=False,
)


KINDS = [
    (None, Face.BLOCKING, "all"),
    (None, Face.BLOCKING, "gates"),
    (None, Face.ASYNC, "flows"),
    *zip(WHEELS, Face, ("flows", "all"), strict=True),
]


@pytest.mark.parametrize(("server", "face", "stories"), KINDS)
def test_stories_run_the_same_on_redis(server, face, stories, tmp_path):
    number = count()

    def subject(clock):
        namespace = f"{tmp_path.name}-{next(number)}"
        return open_redis(shared_server(server).url, namespace=namespace, clock=clock)

    def reference(clock):
        return open_memory(clock=clock)

    machine = machine_for(subject, reference, face, stories)
    run_state_machine_as_test(machine, settings=STORIES)
