"""Random flows run to their end in memory, also where one step does very little."""

import pytest
from hypothesis import HealthCheck, given, settings

from oxmill.drivers.memory.driver import open_memory
from oxmill.model.bounds import Bounds
from oxmill.testing.clock import VirtualClock
from oxmill.testing.face import Face, Hand
from oxmill.testing.flow_stories import stories, tell


@pytest.mark.parametrize("bound", [500, 1])
@settings(
    max_examples=300,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
@given(story=stories())
def test_every_flow_ends_as_its_joins_say(story, bound):
    clock = VirtualClock()
    hand = Hand(open_memory(clock=clock, bounds=Bounds(cleanup_jobs=bound)), Face.BLOCKING)

    tell(hand.do, clock, story)
