"""Random flows run to their end in memory, also where one step does very little."""

import pytest
from flow_mutants import MUTANTS
from hypothesis import HealthCheck, Phase, given, settings

from oxmill.drivers.memory.driver import open_memory
from oxmill.model.bounds import Bounds
from oxmill.testing.clock import VirtualClock
from oxmill.testing.face import Face, Hand
from oxmill.testing.flow_stories import stories, tell

USUAL = {
    "derandomize": True,
    "database": None,
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
}
BUGS = (
    "a join never fires",
    "a join fails where it would fire",
    "a join ends its job where it would fire",
    "a join misses its last child",
    "a result is gone once it was told",
    "an edge that closes counts twice",
    "every end is a success",
    "a redriven job does not wait",
    "failed children stay failed",
    "the winners repeat is refused",
)


@pytest.mark.parametrize("bound", [500, 1])
@settings(max_examples=100, phases=[Phase.generate], **USUAL)
@given(story=stories())
def test_every_flow_ends_as_its_joins_say(story, bound):
    clock = VirtualClock()
    hand = Hand(open_memory(clock=clock, bounds=Bounds(cleanup_jobs=bound)), Face.BLOCKING)

    tell(hand.do, clock, story)


@pytest.mark.parametrize("bug", BUGS)
def test_the_stories_find_that(bug):
    @settings(max_examples=100, phases=[Phase.generate], report_multiple_bugs=False, **USUAL)
    @given(story=stories())
    def told(story):
        clock = VirtualClock()
        tell(Hand(MUTANTS[bug].open(clock), Face.BLOCKING).do, clock, story)

    with pytest.raises(AssertionError):
        told()
