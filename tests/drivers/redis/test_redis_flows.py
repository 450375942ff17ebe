"""Flows on real servers: who comes at the same time, full memory, shards, and what a flow costs."""

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest
from private_redis import WHEELS, program_of
from redis_load import SECOND, claim, do, enqueue, job, settle

from oxmill.drivers.redis.driver import open_redis
from oxmill.errors import BadInput, StoreFull
from oxmill.model.claim import Claim
from oxmill.model.flow import FlowStatus, FlowStep, Join, JoinPolicy, ListFlows, NewFlow, OnFailure
from oxmill.model.info import Prune, Sweep
from oxmill.model.job import Enqueue
from oxmill.model.query import Cancel, Filter, Find, Get, Purge, Redrive
from oxmill.model.settings import DAY
from oxmill.model.settlement import Outcome, Ruling, Settle, Settlement
from oxmill.model.state import State
from oxmill.model.unique import UniqueKey
from oxmill.testing.clock import VirtualClock

ROUNDS = 15
NONCES = count(1)


@pytest.fixture
def driver(redis_server, tmp_path):
    driver = open_redis(redis_server.url, namespace=tmp_path.name)
    yield driver
    driver.close()


def start(driver, flow, *jobs, **options):
    members = tuple(job(name, flow=flow, **traits) for name, traits in jobs)
    return do(driver, Enqueue(jobs=members, flow=NewFlow(id=flow, name="f"), **options))


def complete(driver, lease, **step):
    return settle(driver, lease, flow=FlowStep(**step) if step else None)


def take(driver, limit=1):
    return claim(driver, limit, nonce=next(NONCES))


def state_of(driver, name):
    return do(driver, Get(ids=(name,)))[0].state


def at_once(*calls):
    """All of them, from threads that begin together."""
    barrier = threading.Barrier(len(calls))

    def run(call):
        barrier.wait(10)
        try:
            return call()
        except BadInput as refusal:
            return refusal

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def test_the_last_children_end_at_the_same_time(driver):
    """The join fires once, whoever is last, and whatever else happens to its jobs."""
    for number in range(ROUNDS):
        start(driver, f"f{number}", (f"p{number}", {}))
        (parent,) = take(driver)
        children = tuple(job(f"c{number}-{each}") for each in range(3))
        complete(driver, parent, spawn=children, resume="go")
        leases = take(driver, 3)

        answers = at_once(*(lambda lease=lease: settle(driver, lease) for lease in leases))

        assert sorted(answer.gained for answer in answers) == [(), (), ("q",)]
        (again,) = take(driver, 9)
        assert (again.resume, again.joined) == ("go", tuple(each.id for each in children))
        assert complete(driver, again).state is State.SUCCEEDED
    found = do(driver, ListFlows(status=FlowStatus.SUCCEEDED)).items
    assert len(found) == ROUNDS
    assert all(each.counts == {State.SUCCEEDED: 4} for each in found)


def test_a_flow_tells_how_many_of_its_jobs_are_in_each_state(driver):
    """Those that wait, run or have succeeded are not counted as they move, but when somebody asks."""
    ended = [("good", {}), ("bad", {})]
    others = [("waits", {}), ("held", {"after": ("waits",)}), ("later", {"delay": SECOND * 60})]
    elsewhere = [("there", {"queue": "r"})]
    start(driver, "f", *ended, ("runs", {}), *others, ("stopped", {}), *elsewhere)
    start(driver, "f", ("staged", {}), ("too", {"queue": "r"}), stage="s")
    start(driver, "other", ("another", {"queue": "r"}))
    enqueue(driver, "plain", queue="r")
    good, bad, _ = take(driver, 3)
    settle(driver, good)
    settle(driver, bad, Outcome.FAIL)
    do(driver, Cancel(filter=Filter(ids=("stopped",))))
    terms = {"lease": SECOND, "worker": "w", "nonce": next(NONCES)}
    assert len(do(driver, Claim(queues=("r",), limit=9, **terms)).jobs) == 3

    counts = do(driver, ListFlows(ids=("f",))).items[0].counts

    assert counts == {
        State.HELD: 3,
        State.SCHEDULED: 1,
        State.WAITING: 1,
        State.RUNNING: 2,
        State.SUCCEEDED: 1,
        State.FAILED: 1,
        State.CANCELLED: 1,
    }


def test_a_join_fires_or_is_cancelled(driver):
    for number in range(ROUNDS):
        names = (f"a{number}", f"b{number}")
        start(driver, f"f{number}", (names[0], {}), (names[1], {"after": (names[0],)}))
        (lease,) = take(driver)

        settled, _ = at_once(
            lambda lease=lease: settle(driver, lease),
            lambda names=names: do(driver, Cancel(filter=Filter(ids=names[1:]))),
        )

        assert settled.ruling is Ruling.WON
        assert state_of(driver, names[1]) is State.CANCELLED
        assert take(driver) == ()


def test_a_stage_is_published_or_dropped_as_a_whole(redis_server, tmp_path):
    clock = VirtualClock()
    driver = open_redis(redis_server.url, namespace=tmp_path.name, clock=clock)
    for number in range(ROUNDS):
        flow, names = f"f{number}", (f"a{number}", f"b{number}")
        start(driver, flow, *((name, {}) for name in names), stage=flow)
        clock.advance(DAY)

        published, _ = at_once(
            lambda flow=flow: do(driver, Enqueue(jobs=(), publish=flow)),
            lambda: do(driver, Prune()),
        )

        states = {each.state for each in do(driver, Get(ids=names))}
        assert states == (set() if isinstance(published, BadInput) else {State.WAITING})
        for lease in take(driver, 9):
            settle(driver, lease)
    driver.close()


@pytest.mark.parametrize("name", [None, *WHEELS])
def test_over_the_memory_limit_flows_go_on_and_none_begins(own, name):
    """What a completion makes is part of it: a job that is done must never run again for want of
    memory. New flows and stages are refused as a whole."""
    server = own("--maxmemory-policy", "noeviction", program=program_of(name))
    driver = open_redis(server.url)
    start(driver, "f", ("a", {}), ("b", {}), ("c", {"after": ("a", "b")}))
    one, two = take(driver, 2)
    with server.client() as client:
        client.config_set("maxmemory", client.info("memory")["used_memory"] // 2)

    with pytest.raises(StoreFull):
        start(driver, "g", ("x", {}))
    with pytest.raises(StoreFull):
        start(driver, "f", ("y", {}), stage="s")
    assert complete(driver, one, merge={"k": b"v" * 2_000}, then=(job("d"),)).ruling is Ruling.WON
    assert complete(driver, two, spawn=(job("e"),), resume="go").ruling is Ruling.WON
    for lease in take(driver, 9):
        complete(driver, lease)
    (resumed,) = take(driver, 9)
    assert (resumed.id, resumed.joined) == ("b", ("e",))
    complete(driver, resumed)
    assert [lease.id for lease in take(driver, 9)] == ["c"]
    assert do(driver, ListFlows(ids=("g",))).items == ()
    assert not do(driver, Sweep()).more
    driver.close()


def test_a_flow_lives_in_one_shard(redis_server, tmp_path):
    driver = open_redis(redis_server.url, namespace=tmp_path.name, shards=4)
    for number in range(12):
        flow = f"f{number}"
        start(driver, flow, (f"{flow}.a", {}), (f"{flow}.b", {"after": (f"{flow}.a",)}))
    for _ in range(2):
        for lease in take(driver, 20):
            complete(driver, lease, merge={lease.id: b"1"})

    seen, cursor = [], None
    while True:
        page = do(driver, ListFlows(limit=5, after=cursor))
        seen += page.items
        cursor = page.next
        if cursor is None:
            break

    assert sorted(each.id for each in seen) == sorted(f"f{number}" for number in range(12))
    assert {each.status for each in seen} == {FlowStatus.SUCCEEDED}
    assert all(len(each.state) == 2 for each in seen)
    found = do(driver, Find(filter=Filter(flow="f7"))).jobs
    assert [each.id for each in found] == ["f7.b", "f7.a"]
    driver.close()


def test_children_are_staged_where_their_parent_is(redis_server, tmp_path):
    """A job with a key lives with its key; the flow that it becomes lives there too."""
    driver = open_redis(redis_server.url, namespace=tmp_path.name, shards=4)
    for number in range(8):
        parent = f"p{number}"
        enqueue(driver, parent, unique=UniqueKey(key=f"key-{number}"))
        (lease,) = take(driver)
        start(driver, parent, (f"c{number}", {"parent": parent}), stage=f"s{number}")
        complete(driver, lease, publish=f"s{number}", resume="go")

        (child,) = take(driver)
        complete(driver, child)
        (again,) = take(driver)

        assert (again.id, again.joined) == (parent, (f"c{number}",))
        complete(driver, again)
    driver.close()


def test_nothing_is_left_of_flows_that_are_gone(redis_server, tmp_path):
    """Every key, index, edge, stage and count goes with its flow."""
    clock = VirtualClock()
    driver = open_redis(redis_server.url, namespace=tmp_path.name, clock=clock)
    start(driver, "f", ("a", {}), ("b", {"after": ("a", "none")}), ("c", {"after": ("b",)}))
    start(driver, "g", ("p", {}), ("x", {"join": ANY, "after": ("p",)}))
    start(driver, "h", ("s1", {}), ("s2", {"after": ("s1",)}), stage="never")
    start(driver, "i", ("t1", {"parent": "p"}), stage="once", publish="once")
    for lease in take(driver, 9):
        step = {"spawn": (job("k1"), job("k2")), "resume": "go"} if lease.id == "p" else {}
        complete(driver, lease, merge={"k": b"v"}, **step)
    (lease, *_) = take(driver, 9)
    settle(driver, lease, Outcome.FAIL)
    do(driver, Redrive(filter=Filter(flow="f")))
    do(driver, Purge(filter=Filter(ids=("a",))))
    do(driver, Cancel(filter=Filter()))
    clock.advance(40 * DAY)
    while do(driver, Sweep()).more or do(driver, Prune()).more:
        pass
    clock.advance(40 * DAY)
    while do(driver, Prune()).more:
        pass

    with redis_server.client() as client:
        keys = {key.decode() for key in client.keys("{" + tmp_path.name + ":*")}
        tallies = client.hkeys("{" + tmp_path.name + ":0}:tallies")
    rest = {key.partition("}:")[2] for key in keys}
    assert rest <= {"", "tallies", "queues", "events", "moments", "grants"}
    assert not [field for field in tallies if field.startswith(b"flow:")]
    driver.close()


ANY = Join(policy=JoinPolicy.ANY, on_failure=OnFailure.COLLECT)


def test_a_large_fan_in_is_linear(driver):
    """Each batch of children that end costs the same, however many there are and were."""
    start(driver, "f", ("p", {}))
    (parent,) = take(driver)
    names = [f"c{number}" for number in range(2_000)]
    for first in range(0, len(names), 50):
        some = ((name, {"parent": "p"}) for name in names[first : first + 50])
        start(driver, "f", *some, stage="s")
    complete(driver, parent, publish="s", resume="go")
    while do(driver, Sweep()).more:
        pass

    for _ in range(0, len(names), 100):
        leases = take(driver, 100)
        items = tuple(
            Settlement(id=lease.id, token=lease.token, outcome=Outcome.COMPLETE) for lease in leases
        )
        assert len(do(driver, Settle(items=items))) == 100

    (again,) = take(driver, 9)
    assert again.joined == tuple(names)


def test_a_lease_that_lapsed_before_its_children_ended_goes_on(driver):
    """A parent waits without a lease: nothing lapses, however long its children take."""
    start(driver, "f", ("p", {}))
    (parent,) = claim(driver, nonce=next(NONCES), lease=SECOND // 10)
    complete(driver, parent, spawn=(job("c"),), resume="go")
    (child,) = take(driver)
    swept = do(driver, Sweep())

    assert swept.lapsed == 0
    complete(driver, child)
    assert [lease.id for lease in take(driver)] == ["p"]
