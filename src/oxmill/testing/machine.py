"""A state machine that drives any driver beside the reference, in lockstep.

Hypothesis makes up stories: batches, claims, settlements with fresh and stale tokens, steering,
schedules, and time that passes. Each request goes to both stores under one virtual clock. After each
step every answer and a full dump must be equal and no law broken; at the end of a story all work
must get done.

    Machine = machine_for(open_my_driver, open_reference)
    run_state_machine_as_test(Machine, settings=settings(max_examples=100))
"""

from __future__ import annotations

from collections.abc import Callable

from hypothesis.stateful import RuleBasedStateMachine

from oxmill.store.driver import Driver
from oxmill.testing.clock import VirtualClock
from oxmill.testing.face import Face
from oxmill.testing.gate_moves import Moves

Open = Callable[[VirtualClock], Driver]
"""Opens an empty store that goes by this clock."""


def machine_for(
    make_subject: Open, make_reference: Open, face: Face = Face.BLOCKING
) -> type[RuleBasedStateMachine]:
    """The state machine of a driver, to be run by `run_state_machine_as_test`."""

    class Machine(Moves):
        def open(self) -> tuple[Driver, Driver, Face]:
            return make_subject(self.clock), make_reference(self.clock), face

    return Machine
