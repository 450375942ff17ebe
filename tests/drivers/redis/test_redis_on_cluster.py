"""A cluster of six nodes keeps the whole contract, with one shard and with several."""

import re

import pytest
from private_cluster import shared_cluster
from private_redis import client_binary, missing
from sharded_worlds import RELATING, SHARDS, opened

from oxmill.drivers.redis.keys import FIXED, NAMED
from oxmill.model.claim import Claim
from oxmill.model.flow import Join, NewFlow
from oxmill.model.info import Beat, Command, Order, Prune, Sweep, WorkerInfo
from oxmill.model.job import Enqueue, NewJob
from oxmill.model.rule import PutRules, Rule, RuleKind, Scope
from oxmill.model.schedule import PutSchedules, Schedule
from oxmill.model.settings import PutSettings, QueueSettings
from oxmill.model.settlement import Outcome, Settle, Settlement
from oxmill.model.unique import UniqueKey
from oxmill.store.capabilities import Capability
from oxmill.testing.conformance.suite import all_tests
from oxmill.testing.face import Face

SECOND = 1_000_000


def pytest_generate_tests(metafunc):
    """In one shard, and in several unless the test relates jobs of different shards."""
    if "world" not in metafunc.fixturenames:
        return
    kinds = {"one-shard": (1, Face.BLOCKING, True), "four-shards": (SHARDS, Face.ASYNC, False)}
    if metafunc.definition.originalname in RELATING:
        del kinds["four-shards"]
    metafunc.parametrize("world", kinds.values(), ids=kinds, indirect=True)


@pytest.fixture
def cluster():
    if client_binary() is None:
        missing("redis-cli")
    return shared_cluster()


@pytest.fixture
def world(request, namespace, cluster):
    shards, face, rings = request.param
    with opened(cluster.url, namespace, face, rings, shards=shards) as world:
        yield world


globals().update(all_tests())
assert globals().keys() >= RELATING


GATES = {
    b"lane",
    b"aside",
    b"gates",
    b"stalled",
    b"groups",
    b"lanes",
    b"parked",
    b"opens",
    b"meters",
    b"endings",
    b"covers",
}


async def meet_every_gate(world):
    """Lanes open, parked and held up, jobs set aside, rules of every scope, rates in use."""
    jobs = [
        NewJob(id=f"{q}-{g}-{n}", queue=q, task="slow" if n else "t", payload=b"", group=f"{{{g}")
        for q in ("g{1}", "o{1}")
        for g in "abc"
        for n in range(3)
    ]
    limits = QueueSettings(group_concurrency=2, group_rate="1/s burst 2", rate="1000/s")
    await world.do(PutSettings(queue="g{1}", settings=limits))
    await world.do(PutSettings(queue="o{1}", settings=QueueSettings(ordered_groups=True)))
    await world.do(Enqueue(jobs=tuple(jobs)))
    for number, queue in enumerate(("g{1}", "o{1}", "g{1}")):
        claim = Claim(queues=(queue,), limit=2, lease=600 * SECOND, worker="w", nonce=20 + number)
        for lease in (await world.do(claim)).jobs:
            item = Settlement(id=lease.id, token=lease.token, outcome=Outcome.COMPLETE)
            await world.do(Settle(items=(item,)))
    slow = Rule(kind=RuleKind.PAUSE, target="slow", scope=Scope.TASK)
    asked = Rule(kind=RuleKind.PAUSE, target="{c", scope=Scope.GROUP, expires_at=2**52)
    await world.do(PutRules(set=(slow, asked)))
    claim = Claim(queues=("g{1}", "o{1}"), limit=9, lease=600 * SECOND, worker="w", nonce=30)
    await world.do(claim)
    fresh = NewJob(id="fresh", queue="g{1}", task="t", payload=b"", group="{d", priority=1)
    await world.do(Enqueue(jobs=(fresh,)))


FLOWS = {
    *(b"flows", b"retired", b"stages", b"abandoned", b"downs", b"ripples", b"overdue"),
    *(b"members", b"state", b"shelf", b"staged", b"children", b"up"),
}


async def meet_every_key_of_flows(world):
    """A flow that goes on, with more to be told than one step tells; one that ended; and stages."""

    def node(name, flow, **options):
        return NewJob(id=name, queue="f{1}", task="t", payload=b"", flow=flow, **options)

    late = Join(deadline=900 * SECOND)
    on = NewFlow(id="on{1}", name="n{", state={"k": b"v"}, fields={"u{": 1})
    await world.do(Enqueue(jobs=(node("up", "on{1}"),), flow=on))
    for first in range(0, 120, 40):
        some = (node(f"n{n}", "on{1}", after=("up",)) for n in range(first, first + 40))
        await world.do(Enqueue(jobs=tuple(some), flow=on))
    held = node("held", "on{1}", after=("n1",), join=late)
    await world.do(Enqueue(jobs=(held,), flow=on))
    off = NewFlow(id="off{1}", name="n{")
    await world.do(Enqueue(jobs=(node("off", "off{1}"),), flow=off))
    staged = node("kid", "on{1}", parent="up")
    await world.do(Enqueue(jobs=(staged,), flow=on, stage="s{1}"))
    claim = Claim(queues=("f{1}",), limit=9, lease=600 * SECOND, worker="w", nonce=40)
    for lease in (await world.do(claim)).jobs:
        item = Settlement(id=lease.id, token=lease.token, outcome=Outcome.COMPLETE)
        await world.do(Settle(items=(item,)))


async def test_every_key_is_declared_and_lies_in_the_slot_of_its_shard(world, cluster, namespace):
    """A cluster refuses what leaves the slot; what stays in it must be in keys.py."""
    every = [
        NewJob(
            id=f"job-{number}",
            queue="q{1}",
            task="t",
            payload=b"x" * 2_000,
            unique=UniqueKey(key=f"{{key}}-{number}", within=SECOND),
            fields={"user{}": f"}}{number}"},
            delay=number % 2 * 60 * SECOND,
            expires_in=90 * SECOND,
        )
        for number in range(20)
    ]
    await world.do(Enqueue(jobs=tuple(every)))
    claim = Claim(queues=("q{1}",), limit=8, lease=SECOND, worker="w", nonce=1)
    for lease, outcome in zip((await world.do(claim)).jobs, Outcome, strict=False):
        item = Settlement(id=lease.id, token=lease.token, outcome=outcome, delay=SECOND)
        await world.do(Settle(items=(item,)))
    rule = Rule(kind=RuleKind.PAUSE, target="q{1}", reason="")
    await world.do(PutRules(set=(rule,)))
    await world.do(PutSettings(queue="q{1}", settings=QueueSettings()))
    await world.do(PutSchedules(put=(Schedule(name="s{1}", job=every[0], every=SECOND),)))
    worker = WorkerInfo(id="w{1}", host="h", pid=1, version="1", queues=("q{1}",), slots=1)
    await world.do(Beat(worker=worker, ttl=SECOND))
    await world.do(Order(workers=("w{1}",), command=Command.QUIET))
    if Capability.LIMITS in world.driver.capabilities:
        await meet_every_gate(world)
    await world.pass_time(2 * SECOND)
    await world.do(Sweep())
    await world.do(Prune())
    await meet_every_key_of_flows(world)

    tag = re.compile(rb"\{%b:\d+\}" % re.escape(namespace.encode()))
    own = {key: kind for key, kind in cluster.keys().items() if namespace.encode() in key}
    declared = {f":{key.name}".encode(): key.type for key in FIXED} | {b"": "hash"}
    by_name = {f":{key.name.partition(':')[0]}:".encode(): key.type for key in NAMED}

    assert len(own) > 20
    met = {tag.sub(b"", key, count=1).split(b":")[1] for key in own if b"}:" in key}
    assert met >= FLOWS
    if Capability.LIMITS in world.driver.capabilities:
        assert met >= GATES
    for key, kind in own.items():
        assert tag.match(key), key
        rest = tag.sub(b"", key, count=1)
        found = declared.get(rest) or by_name[re.match(rb":\w+:", rest)[0]]
        assert found == kind.decode(), key
