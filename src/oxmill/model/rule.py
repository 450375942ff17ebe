"""Rules: pause, block, throttle."""

from __future__ import annotations

from enum import StrEnum

from oxmill.model.value import Micros, Value


class RuleKind(StrEnum):
    """What a rule does, and who may lift it."""

    PAUSE = "pause"
    """Set and lifted by anyone who uses the queue."""
    BLOCK = "block"
    """Set and lifted by operators only."""
    THROTTLE = "throttle"


class Scope(StrEnum):
    """What a rule is about."""

    QUEUE = "queue"
    TASK = "task"
    GROUP = "group"
    FIELD = "field"
    """The target is `name=value`."""


class RuleKey(Value, frozen=True):
    """Names one rule: there is at most one of a kind on a target."""

    kind: RuleKind
    target: str
    scope: Scope = Scope.QUEUE

    @property
    def title(self) -> str:
        """What it is about, as events and people name it: `mail`, `task:send`, `group:acme`."""
        return self.target if self.scope is Scope.QUEUE else f"{self.scope}:{self.target}"


class Rule(Value, frozen=True):
    """A closed gate: no claim after it is set returns a job it covers."""

    kind: RuleKind
    target: str
    scope: Scope = Scope.QUEUE
    reason: str = ""
    author: str = ""
    expires_at: Micros | None = None
    rate: str | None = None
    """For a throttle, such as `10/s`; as in a queue's settings."""
    set_at: Micros = 0
    """Written by the store."""

    @property
    def key(self) -> RuleKey:
        """What tells this rule from others."""
        return RuleKey(kind=self.kind, target=self.target, scope=self.scope)

    @property
    def summary(self) -> str:
        """What its event says: the rate of a throttle, and the reason."""
        return ": ".join(part for part in (self.rate, self.reason) if part)


class PutRules(Value, frozen=True):
    """Set some rules and lift others, in one step. Setting one twice is the same as once."""

    set: tuple[Rule, ...] = ()
    lift: tuple[RuleKey, ...] = ()
    author: str = ""
    operator: bool = False
    """Whether the caller may set and lift blocks."""


class RulesPut(Value, frozen=True):
    """How many rules changed."""

    changed: int
    queues: tuple[str, ...] = ()
    """Queues that may have opened."""
