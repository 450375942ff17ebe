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
from typing import Any, Final

from hypothesis.stateful import RuleBasedStateMachine

from oxmill.store.driver import Driver
from oxmill.testing.clock import VirtualClock
from oxmill.testing.face import Face
from oxmill.testing.flow_moves import Flowing
from oxmill.testing.gate_moves import Gated, Gating
from oxmill.testing.lockstep import Lockstep
from oxmill.testing.moves import Plain

Open = Callable[[VirtualClock], Driver]
"""Opens an empty store that goes by this clock."""


class Flown(Flowing, Plain):
    """Everything that may happen without limits and groups."""


class Everything(Flowing, Gating, Plain):
    """Everything that may happen."""


STORIES: Final[dict[str, type[Lockstep]]] = {
    "plain": Plain,
    "gates": Gated,
    "flows": Flown,
    "all": Everything,
}
"""What stories may be about. The narrower, the sooner a bug of that kind is met."""


def machine_for(
    make_subject: Open, make_reference: Open, face: Face = Face.BLOCKING, stories: str = "all"
) -> type[RuleBasedStateMachine]:
    """The state machine of a driver, to be run by `run_state_machine_as_test`."""
    moves: Any = STORIES[stories]

    class Machine(moves):  # type: ignore[misc]
        def open(self) -> tuple[Driver, Driver, Face]:
            return make_subject(self.clock), make_reference(self.clock), face

    return Machine
