"""Every driver keeps the whole contract, through each face, with and without its doorbell."""

from oxmill.drivers.memory.driver import open_memory
from oxmill.testing.conformance.suite import all_tests, worlds


def memory(opening):
    return open_memory(clock=opening.clock, doorbell=opening.doorbell)


world = worlds({"memory": memory})
globals().update(all_tests())
