"""Made-up stories run the same on MariaDB and on the reference."""

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from private_mysql import shared_server

from oxmill.drivers.memory.driver import open_memory
from oxmill.drivers.mysql.driver import open_mysql
from oxmill.testing.face import Face
from oxmill.testing.machine import machine_for

STORIES = settings(
    max_examples=25,
    stateful_step_count=40,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
    print_blob=False,
)


FEWER = settings(STORIES, max_examples=STORIES.max_examples // 2)
"""The same stories through the other face, which shares all but the way of a plan: half of them show it."""


@pytest.mark.parametrize(("face", "told"), [(Face.BLOCKING, STORIES), (Face.ASYNC, FEWER)])
def test_stories_run_the_same_on_mysql(face, told):
    def subject(clock):
        return open_mysql(shared_server().emptied(), clock=clock)

    def reference(clock):
        return open_memory(clock=clock)

    machine = machine_for(subject, reference, face)
    run_state_machine_as_test(machine, settings=told)
