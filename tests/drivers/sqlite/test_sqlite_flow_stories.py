"""Random flows run to their end in SQLite, also where one step does very little."""

from itertools import count

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.stateful import run_state_machine_as_test

from oxmill.drivers.memory.driver import open_memory
from oxmill.drivers.sqlite.driver import open_sqlite
from oxmill.model.bounds import Bounds
from oxmill.testing.clock import VirtualClock
from oxmill.testing.face import Face, Hand
from oxmill.testing.flow_stories import stories, tell
from oxmill.testing.machine import machine_for

USUAL = {
    "derandomize": True,
    "database": None,
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
}
NARROW = Bounds(cleanup_jobs=2)


@pytest.mark.parametrize("bound", [500, 1])
@settings(max_examples=40, phases=[Phase.generate], **USUAL)
@given(story=stories())
def test_every_flow_ends_as_its_joins_say(story, bound, tmp_path_factory):
    clock = VirtualClock()
    place = tmp_path_factory.mktemp("flows") / "store.db"
    bounds = Bounds(cleanup_jobs=bound)
    hand = Hand(open_sqlite(place, clock=clock, mode="volatile", bounds=bounds), Face.BLOCKING)
    try:
        tell(hand.do, clock, story)
    finally:
        hand.close()


def test_stories_in_which_little_is_done_at_once(tmp_path):
    number = count()

    def subject(clock):
        place = tmp_path / f"{next(number)}.db"
        return open_sqlite(place, clock=clock, mode="volatile", bounds=NARROW)

    machine = machine_for(subject, lambda clock: open_memory(clock=clock, bounds=NARROW))
    run_state_machine_as_test(
        machine, settings=settings(max_examples=25, stateful_step_count=40, **USUAL)
    )
