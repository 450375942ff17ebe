"""The reference agrees with itself through both faces, breaks no law, and gets everything done."""

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from oxmill.drivers.memory.driver import open_memory
from oxmill.model.bounds import Bounds
from oxmill.testing.face import Face
from oxmill.testing.machine import machine_for

STORIES = settings(
    max_examples=80,
    stateful_step_count=40,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
    print_blob=False,
)


def reference(clock):
    return open_memory(clock=clock)


def narrow(clock):
    return open_memory(clock=clock, bounds=Bounds(cleanup_jobs=2))


FEWER = settings(STORIES, max_examples=STORIES.max_examples // 2)
"""The same stories through the other face, which shares all but the way of a plan: half of them show it."""


@pytest.mark.parametrize(("face", "told"), [(Face.BLOCKING, STORIES), (Face.ASYNC, FEWER)])
def test_stories_run_the_same_in_memory(face, told):
    machine = machine_for(reference, reference, face)
    run_state_machine_as_test(machine, settings=told)


def test_stories_in_which_little_is_done_at_once():
    run_state_machine_as_test(machine_for(narrow, narrow), settings=STORIES)
