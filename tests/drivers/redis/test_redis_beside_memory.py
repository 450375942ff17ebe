"""Whatever is done to both, Redis answers as the reference in memory does."""

from itertools import count

from hypothesis import given, settings
from hypothesis import strategies as st
from private_redis import shared_server

from oxmill.drivers.memory.driver import open_memory
from oxmill.drivers.redis.driver import open_redis
from oxmill.model.bounds import Bounds
from oxmill.model.claim import Claim, ClaimIds, Renew, Renewal
from oxmill.model.info import EventsAfter, ListQueues, Prune, Sweep
from oxmill.model.job import Enqueue, NewJob
from oxmill.model.query import Cancel, Edit, Filter, Find, Get, Purge, Redrive
from oxmill.model.rule import PutRules, Rule, RuleKey, RuleKind
from oxmill.model.settings import PutSettings, QueueSettings
from oxmill.model.settlement import Failure, Outcome, Settle, Settlement
from oxmill.model.state import State
from oxmill.model.unique import OnConflict, UniqueKey, Until
from oxmill.testing.clock import VirtualClock
from oxmill.testing.operations import plan_for

SECOND = 1_000_000
NAMES = count()
IDS = [f"{number:032x}" if number % 2 else f"job-{number}" for number in range(8)]
ids = st.sampled_from(IDS)
queues = st.sampled_from(["one", "two"])
spans = st.sampled_from([0, 1, 2, 5, 20]).map(lambda seconds: seconds * SECOND)
maybe = st.none() | spans
unique_keys = st.builds(
    UniqueKey,
    key=st.sampled_from(["k", "l"]),
    until=st.sampled_from(Until),
    within=maybe,
    on_conflict=st.sampled_from(OnConflict),
)
new_jobs = st.builds(
    NewJob,
    id=ids,
    queue=queues,
    task=st.sampled_from(["send", "fetch"]),
    payload=st.sampled_from([b"{}", b"\x00\xff" * 600]),
    priority=st.integers(-1, 1),
    delay=spans,
    expires_in=maybe,
    max_attempts=st.integers(1, 2),
    crash_limit=st.integers(1, 3),
    keep=st.sampled_from([None, None, 0, 5 * SECOND]),
    group=st.sampled_from([None, "acme"]),
    tags=st.sampled_from([(), ("red",)]),
    fields=st.sampled_from([{}, {}, {"user": 7}, {"user": "7", "x": 1}]),
    unique=st.none() | unique_keys,
)
plain_jobs = st.builds(
    NewJob, id=ids, queue=queues, task=st.just("send"), payload=st.just(b"{}"), keep=maybe
)
filters = st.builds(
    Filter,
    ids=st.lists(ids, max_size=2).map(tuple),
    queues=st.sampled_from([(), ("one",)]),
    tasks=st.sampled_from([(), ("send",)]),
    states=st.sampled_from([(), (), (State.WAITING, State.FAILED), (State.RUNNING,)]),
    group=st.sampled_from([None, None, "acme"]),
    tag=st.sampled_from([None, None, "red"]),
    fields=st.sampled_from([{}, {}, {"user": 7}]),
)
limits = st.integers(1, 4)


OPERATIONS = st.one_of(
    st.builds(Enqueue, jobs=st.lists(plain_jobs, min_size=1, max_size=3).map(tuple)),
    st.builds(Enqueue, jobs=st.lists(new_jobs | plain_jobs, min_size=1, max_size=3).map(tuple)),
    st.builds(
        Claim,
        queues=st.sampled_from([("one",), ("two", "one"), ("one", "two")]),
        limit=limits,
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
        spans,
        st.sampled_from([None, b"", b"\xff", b"null"]),
        st.sampled_from([None, Failure(type="E", message="m")]),
    ),
    st.tuples(st.just("renew"), st.integers(0, 5), st.sampled_from([None, b"p"])),
    st.builds(Cancel, filter=filters, limit=limits),
    st.builds(Redrive, filter=filters, limit=limits),
    st.builds(
        Edit,
        filter=filters,
        priority=st.none() | st.integers(-1, 1),
        queue=st.none() | queues,
        due_in=maybe,
        limit=limits,
    ),
    st.builds(Purge, filter=filters, limit=limits),
    st.builds(Sweep, limit=st.sampled_from([2, 500])),
    st.builds(Prune, limit=st.sampled_from([1, 500])),
    st.builds(
        PutRules,
        set=st.lists(
            st.builds(Rule, kind=st.just(RuleKind.PAUSE), target=queues, expires_at=st.none()),
            max_size=1,
        ).map(tuple),
        lift=st.lists(
            st.builds(RuleKey, kind=st.just(RuleKind.PAUSE), target=queues), max_size=1
        ).map(tuple),
    ),
    st.builds(
        PutSettings,
        queue=queues,
        settings=st.builds(QueueSettings, keep_succeeded=st.sampled_from([0, 5 * SECOND])),
    ),
    st.tuples(st.just("pass"), st.sampled_from([1, 3, 10, -4])),
)


class Pair:
    """The reference and Redis, told the same."""

    def __init__(self):
        self.clock = VirtualClock()
        bounds = Bounds(cleanup_jobs=3)
        self.stores = (
            open_memory(clock=self.clock, bounds=bounds),
            open_redis(
                shared_server().url,
                namespace=f"beside-{next(NAMES)}",
                clock=self.clock,
                doorbell=False,
                bounds=bounds,
            ),
        )
        self.nonces = count(1)
        self.leases = []

    def do(self, request):
        answers = [store.run(plan_for(store, request)) for store in self.stores]
        assert answers[1] == answers[0], request
        return answers[0]

    def tell(self, operation):
        match operation:
            case ("pass", seconds):
                self.clock.advance(seconds * SECOND)
            case ("settle", index, outcome, delay, result, error):
                if self.leases:
                    lease = self.leases[-1 - index % len(self.leases)]
                    item = Settlement(
                        id=lease.id,
                        token=lease.token,
                        outcome=outcome,
                        delay=delay,
                        result=result if outcome is Outcome.COMPLETE else None,
                        error=error,
                    )
                    self.do(Settle(items=(item,)))
            case ("renew", index, progress):
                if self.leases:
                    lease = self.leases[-1 - index % len(self.leases)]
                    item = Renewal(id=lease.id, token=lease.token, progress=progress)
                    self.do(Renew(items=(item,), lease=4 * SECOND))
            case Claim() | ClaimIds():
                fields = {name: getattr(operation, name) for name in operation.__struct_fields__}
                request = type(operation)(**(fields | {"nonce": next(self.nonces)}))
                self.leases += self.do(request).jobs
            case _:
                self.do(operation)

    def compare(self):
        self.do(Get(ids=tuple(IDS)))
        self.do(Find())
        self.do(ListQueues())
        self.do(EventsAfter())

    def close(self):
        for store in self.stores:
            store.close()


@settings(max_examples=150)
@given(st.lists(OPERATIONS, min_size=5, max_size=40))
def test_redis_answers_as_the_reference_does(operations):
    pair = Pair()
    try:
        for operation in operations:
            pair.tell(operation)
            pair.compare()
    finally:
        pair.close()


SIZES = st.sampled_from([0, 1, 127, 128, 255, 256, 1023, 65535, 65536, 2**32 - 1, 2**32, 2**45])


@settings(max_examples=150)
@given(
    st.lists(
        st.builds(
            NewJob,
            id=st.uuids().map(lambda each: each.hex),
            queue=st.sampled_from(["q", "q" * 31, "q" * 32, "ö" * 100]),
            task=st.sampled_from(["t", "t" * 200]),
            payload=st.binary(max_size=40),
            priority=st.sampled_from([0, 1, -1, -32, -33, 127, 128, -129, 10**6, -(10**6)]),
            delay=st.sampled_from([0, 0, 1, SECOND]),
            keep=st.none() | SIZES,
            max_attempts=st.sampled_from([20, 1, 1000]),
            crash_limit=st.sampled_from([3, 255]),
            unique=st.none()
            | st.builds(
                UniqueKey,
                key=st.uuids().map(str) | st.uuids().map(lambda each: str(each) * 20),
                until=st.sampled_from(Until),
                within=st.none() | SIZES,
            ),
        ),
        min_size=1,
        max_size=6,
        unique_by=lambda job: job.id,
    ),
    st.sampled_from([0, 1, 2**64 - 1]),
    st.sampled_from(["w", "w" * 31, "w" * 40]),
    st.lists(st.sampled_from([None, b"", b"null", b"r\x00"]), min_size=6, max_size=6),
)
def test_short_ways_read_as_the_reference_does(jobs, nonce, worker, results):
    """What is cut out of records and put into them, whatever sizes its neighbours have."""
    pair = Pair()
    ids = Get(ids=tuple(job.id for job in jobs))
    queues = tuple({job.queue for job in jobs})
    try:
        for queue in queues:  # a batch of one queue takes the short way
            pair.do(Enqueue(jobs=tuple(job for job in jobs if job.queue == queue)))
        pair.do(ids)
        pair.clock.advance(2 * SECOND)
        for turn in range(2):
            request = Claim(queues=queues, limit=9, lease=SECOND, worker=worker, nonce=nonce)
            leases = pair.do(request).jobs
            pair.do(ids)
            items = tuple(
                Settlement(id=lease.id, token=lease.token, outcome=Outcome.COMPLETE, result=result)
                if turn or number % 3
                else Settlement(id=lease.id, token=lease.token, outcome=Outcome.RELEASE)
                for number, (lease, result) in enumerate(zip(leases, results, strict=False))
            )
            pair.do(Settle(items=items[:1]))
            pair.do(Settle(items=items[1:]))
            pair.do(ids)
            pair.do(ListQueues())
    finally:
        pair.close()
