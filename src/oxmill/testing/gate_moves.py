"""What may happen in a story about limits, groups and rules."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import MultipleResults, multiple, precondition, rule

from oxmill.model.info import ListQueues
from oxmill.model.job import NewJob
from oxmill.model.rule import PutRules, Rule, RuleKey, RuleKind, Scope
from oxmill.model.settings import SECOND, PutSettings, QueueSettings
from oxmill.model.settlement import Outcome, Settle, Settlement
from oxmill.model.value import Micros
from oxmill.store.capabilities import Capability
from oxmill.testing.moves import (
    ORDINARY,
    QUEUES,
    Content,
    Enqueueing,
    Lease,
    Plain,
    Settling,
    contents,
    jobs,
    leases,
    queue_names,
    seconds,
)

RATES = ("1/s", "1/2s burst 2", "2/3s burst 1")
LIMITS: tuple[tuple[str, Any], ...] = (
    ("concurrency", 1),
    ("concurrency", 3),
    ("rate", RATES[0]),
    ("rate", RATES[1]),
    ("group_concurrency", 1),
    ("group_concurrency", 2),
    ("group_rate", RATES[0]),
    ("group_rate", RATES[2]),
    ("group_weights", {"g": 2}),
    ("group_weights", {"g": 3, "h": 2}),
    ("ordered_groups", True),
    ("ordered_groups", True),
    ("ageing", SECOND),
    ("ageing", 2 * SECOND),
)
COVERED: tuple[Content, ...] = (
    {},
    {"group": "g"},
    {"group": "g"},
    {"group": "g", "priority": 1},
    {"group": "h", "task": "u"},
    {"group": "h", "fields": {"user": 1}},
    {"task": "u", "priority": 2},
    {"fields": {"user": 1, "x": -5}},
    {"fields": {"user": (2, 1, 1), "x": (0,)}},
)
scopes = st.sampled_from(
    (
        (Scope.TASK, "t"),
        (Scope.TASK, "u"),
        (Scope.GROUP, "g"),
        (Scope.GROUP, "h"),
        (Scope.FIELD, "user=1"),
        (Scope.FIELD, "x=-5"),
        (Scope.QUEUE, QUEUES[0]),
    )
)
keys = st.builds(
    lambda kind, on: RuleKey(kind=kind, scope=on[0], target=on[1]),
    st.sampled_from(RuleKind),
    scopes,
)


class Gating(Enqueueing, Settling):
    """Limits, groups and rules come, go and are run into."""

    @precondition(lambda self: self.able(Capability.GROUPS))
    @rule(
        target=jobs,
        batch=st.lists(contents(st.none()), min_size=2, max_size=5),
        groups=st.lists(st.sampled_from(("g", "h", "i", None)), min_size=5, max_size=5),
        queue=queue_names,
    )
    def enqueue_groups(
        self, batch: list[Content], groups: list[str | None], queue: str
    ) -> MultipleResults[NewJob]:
        """Jobs of several groups in one queue."""
        grouped = [
            content | {"group": group, "queue": queue}
            for content, group in zip(batch, groups, strict=False)
        ]
        return self.taken_in(grouped)

    @precondition(lambda self: self.able(Capability.LIMITS))
    @rule(queue=queue_names, limits=st.lists(st.sampled_from(LIMITS), max_size=3))
    def limit(self, queue: str, limits: list[tuple[str, Any]]) -> None:
        """Other limits for a queue, or none."""
        self.lenient = True
        self.ask(PutSettings(queue=queue, settings=QueueSettings(**dict(limits)), author="ann"))

    @precondition(lambda self: self.able(Capability.SCOPED_RULES))
    @rule(
        key=keys,
        lasts=st.none() | seconds(1, 2),
        rate=st.sampled_from(RATES),
        reason=st.sampled_from(("", "why")),
        lift=st.booleans(),
    )
    def cover(
        self, key: RuleKey, lasts: Micros | None, rate: str, reason: str, *, lift: bool
    ) -> None:
        """Lift a rule on a task, group, field or queue, or set one, perhaps for a while."""
        self.lenient = True
        made = Rule(
            kind=key.kind,
            scope=key.scope,
            target=key.target,
            author="ann",
            reason=reason,
            rate=rate if key.kind is RuleKind.THROTTLE else None,
            expires_at=None if lasts is None else self.clock.now + lasts,
        )
        change = PutRules(lift=(key,)) if lift else PutRules(set=(made,))
        self.ask(msgspec.structs.replace(change, operator=True))

    @precondition(lambda self: self.able(Capability.LIMITS))
    @rule(held=leases, scope=st.sampled_from((Scope.GROUP, Scope.QUEUE)), delay=seconds(0, 1, 2))
    def rate_limited(self, held: Lease, scope: Scope, delay: Micros) -> None:
        """A holder is asked to wait: the newest of a job, beside one that may be stale."""
        self.lenient = True
        for token in (held[1], self.newest[held[0]]):
            item = Settlement(
                id=held[0], token=token, outcome=Outcome.RELEASE, closes=scope, delay=delay
            )
            self.ask(Settle(items=(item,)))

    @precondition(lambda self: self.able(Capability.LIMITS))
    @rule(target=leases, lease=seconds(1, 5), limit=st.integers(1, 3), count=st.integers(2, 4))
    def claim_often(self, lease: Micros, limit: int, count: int) -> MultipleResults[Lease]:
        """Several claims one after the other, and a look at the gates between them."""
        held = [self.granted(self.ask(self.claim_of(QUEUES, limit, lease))) for _ in range(count)]
        self.ask(ListQueues(groups=("g", "h")))
        return multiple(*(lease for each in held for lease in each.values))

    @precondition(lambda self: self.able(Capability.SCOPED_RULES | Capability.LIMITS))
    @rule(
        target=leases,
        limits=st.lists(st.sampled_from(LIMITS), max_size=2),
        key=keys,
        batch=st.lists(st.sampled_from(COVERED), min_size=3, max_size=6),
        lift=st.booleans(),
    )
    def run_into(
        self, limits: list[tuple[str, Any]], key: RuleKey, batch: list[Content], *, lift: bool
    ) -> MultipleResults[Lease]:
        """New limits and a new rule, jobs that come under them, and claims that meet them."""
        self.limit(QUEUES[0], limits)
        self.cover(key, 2 * SECOND, RATES[1], "", lift=False)
        self.taken_in([ORDINARY | {"queue": QUEUES[0]} | traits for traits in batch])
        held = []
        for limit in (1, 1, 2, 3):
            held.append(self.granted(self.ask(self.claim_of(QUEUES, limit, 5 * SECOND))))
            self.clock.advance(SECOND // 2)
        if lift:
            self.cover(key, None, RATES[0], "", lift=True)
        held.append(self.granted(self.ask(self.claim_of(QUEUES, 3, 5 * SECOND))))
        return multiple(*(lease for each in held for lease in each.values))


class Gated(Gating, Plain):
    """Everything that may happen without flows."""
