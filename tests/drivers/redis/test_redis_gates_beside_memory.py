"""Whatever is done to groups, limits and rules, Redis gives out what the reference in memory gives."""

from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_redis_beside_memory import SECOND, Pair

from oxmill.model.claim import Claim, ClaimIds
from oxmill.model.info import ListQueues, Prune, Sweep
from oxmill.model.job import Enqueue, NewJob
from oxmill.model.query import Cancel, Edit, Filter, Get, Purge, Redrive
from oxmill.model.rule import PutRules, Rule, RuleKey, RuleKind, Scope
from oxmill.model.settings import PutSettings, QueueSettings
from oxmill.model.settlement import Outcome, Settle, Settlement
from oxmill.model.state import State
from oxmill.model.unique import OnConflict, UniqueKey

IDS = [f"{number:032x}" if number % 2 else f"job-{number}" for number in range(14)]
GROUPS = ["a", "b", "c d:ö"]
QUEUES = ["one", "two"]
TASKS = ["send", "fetch"]
ids, queues = st.sampled_from(IDS), st.sampled_from(QUEUES)
groups = st.sampled_from([None, *GROUPS])
grouped_jobs = st.builds(
    NewJob,
    id=ids,
    queue=queues,
    task=st.sampled_from(TASKS),
    payload=st.just(b"{}"),
    priority=st.sampled_from([0, 0, 0, 1]),
    group=groups,
    keep=st.sampled_from([None, 0]),
)
other_jobs = st.builds(
    NewJob,
    id=ids,
    queue=queues,
    task=st.sampled_from(TASKS),
    payload=st.just(b"{}"),
    priority=st.integers(-1, 1),
    delay=st.sampled_from([0, 2 * SECOND]),
    expires_in=st.sampled_from([None, None, 3 * SECOND]),
    group=groups,
    fields=st.sampled_from([{}, {"user": 7}, {"user": "7", "x": "y=z"}]),
    crash_limit=st.integers(1, 2),
    unique=st.sampled_from([None, None, UniqueKey(key="k", on_conflict=OnConflict.REPLACE)]),
)
rates = st.sampled_from([None, "1/s", "3/2s burst 2", "100/s"])
few = st.sampled_from([None, 1, 2])
limits = st.one_of(
    st.builds(QueueSettings, concurrency=few, group_concurrency=few),
    st.builds(QueueSettings, rate=rates, group_rate=rates, concurrency=few),
    st.builds(QueueSettings, ordered_groups=st.just(True), group_rate=rates),
    st.builds(
        QueueSettings,
        group_concurrency=few,
        group_weights=st.sampled_from([{"a": 2}, {"b": 3}]),
        ageing=st.sampled_from([None, 2 * SECOND]),
    ),
)
rule_keys = st.one_of(
    st.builds(RuleKey, kind=st.sampled_from(RuleKind), target=queues),
    st.builds(
        RuleKey,
        kind=st.sampled_from(RuleKind),
        target=st.sampled_from(TASKS),
        scope=st.just(Scope.TASK),
    ),
    st.builds(
        RuleKey,
        kind=st.sampled_from(RuleKind),
        target=st.sampled_from(GROUPS),
        scope=st.just(Scope.GROUP),
    ),
    st.builds(
        RuleKey,
        kind=st.sampled_from(RuleKind),
        target=st.sampled_from(["user=7", "x=y=z"]),
        scope=st.just(Scope.FIELD),
    ),
)
filters = st.builds(
    Filter,
    ids=st.lists(ids, max_size=2).map(tuple),
    states=st.sampled_from([(), (State.WAITING,), (State.RUNNING,)]),
    group=st.sampled_from([None, "a"]),
)

OPERATIONS = st.one_of(
    st.builds(Enqueue, jobs=st.lists(grouped_jobs, min_size=1, max_size=6).map(tuple)),
    st.tuples(
        st.just("batch"), queues, st.lists(st.tuples(ids, st.sampled_from(GROUPS)), max_size=6)
    ),
    st.builds(Enqueue, jobs=st.lists(other_jobs, min_size=1, max_size=3).map(tuple)),
    st.builds(
        Claim,
        queues=st.sampled_from([("one",), ("one",), ("two", "one"), ("one", "two")]),
        limit=st.integers(1, 4),
        lease=st.sampled_from([2 * SECOND, 10 * SECOND]),
        worker=st.just("w"),
        nonce=st.just(0),
    ),
    st.builds(
        ClaimIds,
        ids=st.lists(ids, max_size=3).map(tuple),
        lease=st.just(5 * SECOND),
        worker=st.just("v"),
        nonce=st.just(0),
    ),
    st.tuples(
        st.just("settle"),
        st.integers(0, 5),
        st.sampled_from(Outcome),
        st.sampled_from([0, SECOND, 3 * SECOND]),
        st.just(b"null"),
        st.none(),
    ),
    st.tuples(st.just("complete"), st.integers(1, 4)),
    st.tuples(st.just("close"), st.integers(0, 5), st.sampled_from([Scope.GROUP, Scope.QUEUE])),
    st.tuples(st.just("renew"), st.integers(0, 5), st.none()),
    st.builds(PutSettings, queue=queues, settings=limits),
    st.tuples(st.just("rule"), rule_keys, st.sampled_from([None, SECOND, 3 * SECOND]), rates),
    st.tuples(st.just("lift"), rule_keys),
    st.builds(Cancel, filter=filters, limit=st.integers(1, 3)),
    st.builds(Redrive, filter=filters, limit=st.integers(1, 3)),
    st.builds(
        Edit,
        filter=filters,
        priority=st.none() | st.integers(-1, 1),
        queue=st.none() | queues,
        due_in=st.sampled_from([None, 0, SECOND]),
        limit=st.integers(1, 3),
    ),
    st.builds(Purge, filter=filters, limit=st.integers(1, 2)),
    st.builds(Sweep, limit=st.sampled_from([2, 500])),
    st.builds(Prune, limit=st.just(500)),
    st.tuples(st.just("pass"), st.sampled_from([1, 1, 2, 5, 61])),
)


class Gated(Pair):
    """The reference and Redis, told the same about gates."""

    def tell(self, operation):
        match operation:
            case ("batch", queue, some):
                jobs = [
                    NewJob(id=each, queue=queue, task="send", payload=b"{}", group=group)
                    for each, group in dict(some).items()
                ]
                self.do(Enqueue(jobs=tuple(jobs)))
            case ("complete", count):
                items = [
                    Settlement(id=lease.id, token=lease.token, outcome=Outcome.COMPLETE)
                    for lease in {lease.id: lease for lease in self.leases[-count:]}.values()
                ]
                self.do(Settle(items=tuple(items)))
            case ("close", index, scope) if self.leases:
                lease = self.leases[-1 - index % len(self.leases)]
                item = Settlement(
                    id=lease.id,
                    token=lease.token,
                    outcome=Outcome.RELEASE,
                    delay=2 * SECOND,
                    closes=scope,
                )
                self.do(Settle(items=(item,)))
            case ("rule", key, lasts, rate):
                throttle = key.kind is RuleKind.THROTTLE
                rule = Rule(
                    kind=key.kind,
                    target=key.target,
                    scope=key.scope,
                    expires_at=None if lasts is None else self.clock() + lasts,
                    rate=(rate or "1/s") if throttle else None,
                )
                self.do(PutRules(set=(rule,), operator=True))
            case ("lift", key):
                self.do(PutRules(lift=(key,), operator=True))
            case ("close", *_):
                pass
            case _:
                super().tell(operation)

    def compare(self):
        self.do(Get(ids=tuple(IDS)))
        self.do(ListQueues())


MOVED = [
    Enqueue(
        jobs=tuple(
            NewJob(id=i, queue="one", task="send", payload=b"{}", group="a") for i in IDS[:3]
        )
    ),
    Edit(filter=Filter(ids=(IDS[0],)), priority=-1, limit=1),
    Claim(queues=("one",), limit=4, lease=SECOND, worker="w", nonce=0),
]
"""Two lanes of one group, with the same turn: one job made both."""


@settings(max_examples=150, deadline=None)
@example(MOVED)
@given(st.lists(OPERATIONS, min_size=5, max_size=60))
def test_redis_gives_out_what_the_reference_gives(operations):
    pair = Gated()
    try:
        for operation in operations:
            pair.tell(operation)
            pair.compare()
    finally:
        pair.close()
