"""The proofs are proved: every planted bug is found, and a driver without one passes."""

import asyncio

import gate_mutants  # plants more of them
import pytest
from flow_mutants import MUTANTS
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from oxmill.drivers.memory.driver import open_memory
from oxmill.testing.clock import VirtualClock
from oxmill.testing.conformance.world import World
from oxmill.testing.face import Face
from oxmill.testing.lockstep import Disagreement
from oxmill.testing.machine import machine_for

# Bugs are found within the first few dozen stories; the rest is margin for stories that change
# when the machine does. Nothing is shrunk: it is enough to know that it was found.
STORIES = settings(
    max_examples=200,
    stateful_step_count=40,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
    print_blob=False,
    report_multiple_bugs=False,
)
assert gate_mutants
BY_TEST = [name for name, mutant in MUTANTS.items() if mutant.found_by]
BY_STORY = [name for name, mutant in MUTANTS.items() if not mutant.found_by]


def tell(test, driver, clock):
    """Run one conformance test on one driver."""
    try:
        asyncio.run(test(World(driver, Face.BLOCKING, clock)))
    finally:
        driver.close()


@pytest.mark.parametrize("name", BY_STORY)
def test_the_machine_finds_that(name):
    mutant = MUTANTS[name]
    machine = machine_for(
        mutant.open, lambda clock: open_memory(clock=clock), stories=mutant.stories
    )

    with pytest.raises(Disagreement):
        run_state_machine_as_test(machine, settings=STORIES)


@pytest.mark.parametrize("name", BY_TEST)
def test_a_conformance_test_finds_that(name):
    clock = VirtualClock()

    # A world that two have changed at once may also break down under a third, before anybody compares.
    with pytest.raises((AssertionError, KeyError)):
        tell(MUTANTS[name].found_by, MUTANTS[name].open(clock), clock)


@pytest.mark.parametrize("name", BY_TEST)
def test_that_conformance_test_passes_without_the_bug(name):
    clock = VirtualClock()

    tell(MUTANTS[name].found_by, open_memory(clock=clock), clock)


def test_there_are_enough_of_them():
    assert len(MUTANTS) >= 80
