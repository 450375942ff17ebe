"""Two stores asked the same, in lockstep: the driver under test and the reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from hypothesis.stateful import RuleBasedStateMachine, invariant

from oxmill.errors import OxmillError
from oxmill.model.claim import Claimed
from oxmill.model.flow import Flows
from oxmill.model.info import QueueInfo, Queues, Swept
from oxmill.model.job import Enqueued
from oxmill.model.news import NO_NEWS
from oxmill.model.query import Page, Steered
from oxmill.model.rule import RulesPut
from oxmill.model.settlement import Settled
from oxmill.model.value import Value
from oxmill.store.capabilities import Capability
from oxmill.store.driver import Driver
from oxmill.store.plan import Plan
from oxmill.store.roles.installing import Migrate
from oxmill.testing.clock import VirtualClock
from oxmill.testing.draining import drain
from oxmill.testing.dump import differences, dump
from oxmill.testing.face import Face, Hand
from oxmill.testing.laws import breaches
from oxmill.testing.operations import plan_for


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
        self.lenient = False
        """Whether a claim may say to come back a little too early: in stories about gates."""
        self.nonce = 0
        for hand in (self.subject, self.reference):
            hand.do(Migrate())

    def open(self) -> tuple[Driver, Driver, Face]:
        """Open the driver under test and the reference."""
        raise NotImplementedError

    def ask(self, request: Value) -> Any:
        """Ask both; they must agree. Gives the reference's answer."""
        return self.compare(request, lambda hand: plan_for(hand.driver, request))

    def compare(self, title: object, make: Callable[[Hand], Plan[Any]]) -> Any:
        """Perform a plan on both; they must agree."""
        self.sound = False  # until both have answered: a crash ends the story without an epilogue
        expected, shown = _outcome(self.reference, make)
        _, found = _outcome(self.subject, make)
        if shown != found and not (self.lenient and _only_earlier(shown, found)):
            self.fail([f"{title!r}", f"expected {shown!r}", f"found    {found!r}"])
        self.sound = True
        return expected

    def able(self, capability: Capability) -> bool:
        """Whether both can do this."""
        both = self.subject.driver.capabilities & self.reference.driver.capabilities
        return capability in both

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


def _only_earlier(expected: Any, found: Any) -> bool:
    """Whether answers differ only in that one says to come back a little too early.

    A store may remember when a closed place opens, and not learn that another of its gates was
    closed meanwhile for longer. It looks again then, which is harmless.
    """
    if isinstance(expected, tuple) and isinstance(found, tuple) and len(expected) == len(found):
        pairs = zip(expected, found, strict=True)
        return all(one == other or _only_earlier(one, other) for one, other in pairs)
    if not isinstance(expected, Claimed) or not isinstance(found, Claimed):
        return False
    same = msgspec.structs.replace(found, next_due=expected.next_due) == expected
    moments = (found.now, found.next_due, expected.next_due)
    return same and None not in moments and list(moments) == sorted(moments)  # type: ignore[type-var]


def comparable(answer: Any) -> Any:
    """An answer without what each driver may choose for itself: cursors, the order of sets, hints
    and numbers that need not be exact."""
    if isinstance(answer, tuple):
        return tuple(comparable(each) for each in answer)
    if isinstance(answer, Page):
        return answer.jobs, answer.next is None
    if isinstance(answer, Flows):
        return answer.items, answer.now, answer.next is None
    changes: dict[str, Any] = {}
    match answer:
        case Steered() | RulesPut():
            changes = {"queues": tuple(sorted(answer.queues))}
            if isinstance(answer, Steered):
                changes["news"] = NO_NEWS
        case Swept(queues=queues, ended=ended):
            changes = {
                "queues": tuple(sorted(queues)),
                "ended": tuple(sorted(ended)),
                "news": NO_NEWS,
            }
        case Settled() | Claimed():
            changes = {"gained": (), "news": NO_NEWS}
        case Enqueued():
            changes = {"news": NO_NEWS}
        case Queues():
            changes = {"items": tuple(map(_exact, answer.items))}
    return msgspec.structs.replace(answer, **changes) if changes else answer


def _exact(info: QueueInfo) -> QueueInfo:
    gates = tuple(msgspec.structs.replace(gate, waiting=None) for gate in info.gates)
    return msgspec.structs.replace(info, gates=gates, oldest_waiting=None)
