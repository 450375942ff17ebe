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
from typing import Any

import msgspec
from hypothesis.stateful import RuleBasedStateMachine, invariant

from oxmill.errors import OxmillError
from oxmill.model.info import Swept
from oxmill.model.query import Page, Steered
from oxmill.model.rule import RulesPut
from oxmill.model.value import Value
from oxmill.store.driver import Driver
from oxmill.store.plan import Plan
from oxmill.store.roles.installing import Migrate
from oxmill.testing.clock import VirtualClock
from oxmill.testing.draining import drain
from oxmill.testing.dump import differences, dump
from oxmill.testing.face import Face, Hand
from oxmill.testing.laws import breaches
from oxmill.testing.operations import plan_for

Open = Callable[[VirtualClock], Driver]
"""Opens an empty store that goes by this clock."""


class Disagreement(AssertionError):
    """The driver under test and the reference gave different answers, or a law is broken."""


class Lockstep(RuleBasedStateMachine):
    """Two stores that are asked the same. The moves of each role are added by subclasses."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = VirtualClock()
        subject, reference, face = self.open()
        self.subject = Hand(subject, face)
        self.reference = Hand(reference, Face.BLOCKING)
        self.sound = True
        self.nonce = 0
        self.ask(Migrate())

    def open(self) -> tuple[Driver, Driver, Face]:
        """Open the driver under test and the reference."""
        raise NotImplementedError

    def ask(self, request: Value) -> Any:
        """Ask both; they must agree. Gives the reference's answer."""
        return self.compare(request, lambda hand: plan_for(hand.driver, request))

    def compare(self, title: object, make: Callable[[Hand], Plan[Any]]) -> Any:
        """Perform a plan on both; they must agree."""
        expected, shown = _outcome(self.reference, make)
        _, found = _outcome(self.subject, make)
        if type(title) is not Migrate and shown != found:
            self.fail([f"{title!r}", f"expected {shown!r}", f"found    {found!r}"])
        return expected

    def fresh_nonce(self) -> int:
        """A nonce that no claim has used yet."""
        self.nonce += 1
        return self.nonce

    def fail(self, lines: list[str]) -> None:
        """Stop the story here."""
        self.sound = False
        raise Disagreement("\n".join(lines))

    @invariant()
    def stores_are_equal(self) -> None:
        """Everything that can be seen is the same, and no law is broken."""
        expected, found = dump(self.reference.do), dump(self.subject.do)
        if lines := differences(expected, found) or breaches(found):
            self.fail(["the store is not as it should be (expected != found):", *lines])

    def teardown(self) -> None:
        """At the end of a story all that is left gets done."""
        try:
            if self.sound and (stuck := drain(self.subject.do, self.clock)):
                self.fail(["never got done:", *stuck])
        finally:
            self.subject.close()
            self.reference.close()


def _outcome(hand: Hand, make: Callable[[Hand], Plan[Any]]) -> tuple[Any, Any]:
    """The answer, and the answer as it is compared."""
    try:
        answer = hand.perform(make(hand))
    except OxmillError as refusal:
        return None, type(refusal)
    return answer, comparable(answer)


def comparable(answer: Any) -> Any:
    """An answer without what each driver may choose for itself: cursors, the order of sets."""
    match answer:
        case Page():
            return answer.jobs, answer.next is None
        case Steered() | RulesPut():
            return msgspec.structs.replace(answer, queues=tuple(sorted(answer.queues)))
        case Swept():
            return msgspec.structs.replace(
                answer, queues=tuple(sorted(answer.queues)), ended=tuple(sorted(answer.ended))
            )
        case _:
            return answer


def machine_for(
    make_subject: Open, make_reference: Open, face: Face = Face.BLOCKING
) -> type[RuleBasedStateMachine]:
    """The state machine of a driver, to be run by `run_state_machine_as_test`."""
    # The moves need what is above.
    from oxmill.testing.moves import Moves  # noqa: PLC0415

    class Machine(Moves):
        def open(self) -> tuple[Driver, Driver, Face]:
            return make_subject(self.clock), make_reference(self.clock), face

    return Machine
