"""With `replicas=` a write is told as done only if so many replicas have said that they have it."""

import time

import pytest
from private_redis import WHEELS, program_of
from redis.exceptions import AskError, MovedError, NoScriptError, ResponseError
from redis_load import do, job

from oxmill.drivers.redis import transport
from oxmill.drivers.redis.confirming import doubt_of
from oxmill.drivers.redis.driver import open_redis
from oxmill.drivers.redis.link import Packed, exchange
from oxmill.drivers.redis.script import GET
from oxmill.errors import OutcomeUnknown, StoreRefused
from oxmill.maintenance.vetting import Vetting
from oxmill.model.info import Level
from oxmill.model.job import Enqueue
from oxmill.model.query import Get
from oxmill.observe.bus import Bus
from oxmill.store.roles.installing import Check
from oxmill.testing.face import Face
from oxmill.testing.operations import plan_for


async def by(face, driver, request):
    plan = plan_for(driver, request)
    return driver.run(plan) if face is Face.BLOCKING else await driver.arun(plan)


def until(check):
    deadline = time.monotonic() + 20
    while not check():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def replicated(primary):
    with primary.client() as client:
        until(lambda: client.info("replication").get("slave0", {}).get("state") == "online")


def without_wait(server):
    with server.client() as client:
        words = ("on", ">secret", "~*", "&*", "+@all", "-wait")
        client.execute_command("ACL", "SETUSER", "mill", "reset", *words)
    return f"redis://mill:secret@127.0.0.1:{server.port}/0?replicas=1&timeout=2"


@pytest.mark.parametrize("face", Face, ids=str)
@pytest.mark.parametrize("name", [None, *WHEELS], ids=str)
async def test_a_write_that_cannot_be_waited_for_is_not_told_as_replicated(own, name, face):
    primary = own(program=program_of(name))
    own("--replicaof", "127.0.0.1", primary.port, program=program_of(name))
    replicated(primary)
    driver = open_redis(without_wait(primary))

    with pytest.raises(StoreRefused, match=r"has written, but .* Grant the user \+wait"):
        await by(face, driver, Enqueue(jobs=(job("a"),)))

    assert [each.id for each in await by(face, driver, Get(ids=("a",)))] == ["a"]
    driver.close()


@pytest.mark.parametrize("name", [None, *WHEELS], ids=str)
def test_the_doctor_names_the_right_to_wait(own, name):
    server = own(program=program_of(name))
    barred, plain = open_redis(without_wait(server)), open_redis(f"{server.url}?replicas=1")
    unconcerned = open_redis(without_wait(server).replace("replicas=1&", ""))

    def levels(driver):
        return {each.name: each.level for each in do(driver, Check())}

    assert levels(barred)["wait"] is Level.REFUSE
    assert "wait" not in levels(plain)
    assert "wait" not in levels(unconcerned)
    for driver in (barred, plain, unconcerned):
        driver.close()


@pytest.mark.parametrize("face", Face, ids=str)
async def test_too_few_replicas_are_told_in_plain_words(own, face):
    driver = open_redis(f"{own().url}?replicas=2&timeout=0.4")

    with pytest.raises(OutcomeUnknown, match="0 of 2 replicas confirmed it in time") as caught:
        await by(face, driver, Enqueue(jobs=tuple(job(f"job-{n}") for n in range(8))))

    assert "parts" not in str(caught.value)
    found = await by(face, driver, Get(ids=tuple(f"job-{n}" for n in range(8))))
    assert len(found) == 8
    driver.close()


def test_what_did_nothing_needs_no_confirmation():
    refusal, barred = ResponseError("READONLY no"), ResponseError("NOPERM no")

    assert doubt_of("x", [refusal, refusal], 1, 0) is None
    assert doubt_of("x", [refusal], 1, ResponseError("WAIT cannot be used")) is None
    assert doubt_of("x", [b"done"], 1, 1) is None
    assert isinstance(doubt_of("x", [refusal, b"done"], 1, 0), OutcomeUnknown)
    assert isinstance(doubt_of("x", [b"done"], 1, ResponseError("ERR odd")), OutcomeUnknown)
    assert isinstance(doubt_of("x", [b"done"], 1, barred), StoreRefused)


def test_what_is_sent_again_is_waited_for_again():
    """A server that has forgotten a script has done nothing that its answer to WAIT could speak of."""
    calls = [Packed(b"call", GET), Packed(b"plain"), Packed(b"wait", follows=True)]
    work = exchange(calls, {GET.sha})
    assert next(work) == [b"call", b"plain", b"wait"]

    load, *again = work.send([NoScriptError("no"), b"fact", 1])

    assert b"LOAD" in load
    assert again == [b"call", b"wait"]
    with pytest.raises(StopIteration) as end:
        work.send([GET.sha, b"done", 0])
    assert end.value.value == [b"done", b"fact", 0]


class Elsewhere:
    """Lanes of a cluster in which the slot has gone from one server to another."""

    def __init__(self, redirection, confirmed):
        self.redirection = redirection
        self.confirmed = confirmed
        self.sent = []

    def __call__(self, target, address, *_):
        return FakeLane(self, address)


class FakeLane:
    def __init__(self, world, address):
        self.world, self.address = world, address

    def ask(self, steps, *, writes):
        assert writes
        words = [getattr(step, "words", ("call",))[0] for step in steps]
        self.world.sent.append((self.address[0], words))
        here = self.address == ("new", 2)
        answers = {"WAIT": self.world.confirmed if here else 0, "ASKING": b"OK"}
        return [answers.get(word, [1, b"1"] if here else self.world.redirection) for word in words]

    def close(self):
        pass


class FakeLoopLane(FakeLane):
    async def ask(self, steps, *, writes):
        return super().ask(steps, writes=writes)


@pytest.mark.parametrize("face", Face, ids=str)
@pytest.mark.parametrize(
    ("redirection", "first"),
    [(AskError("1 new:2"), ["ASKING"]), (MovedError("1 new:2"), [])],
    ids=["ask", "moved"],
)
@pytest.mark.parametrize("confirmed", [0, 1])
async def test_a_write_that_follows_its_slot_is_waited_for(
    monkeypatch, face, redirection, first, confirmed
):
    world = Elsewhere(redirection, confirmed)
    monkeypatch.setattr(transport, "Lane", world)
    monkeypatch.setattr(
        transport, "LoopLane", lambda target, address, *_: FakeLoopLane(world, address)
    )
    driver = open_redis("redis+cluster://old:1?replicas=1&timeout=2")
    driver.transport._places.learn(0, ("old", 1))

    async def write():
        calls = [driver.transport._layout.hello(0, writes=True).call]
        if face is Face.BLOCKING:
            return driver.transport._perform(calls, writes=True)
        return await driver.transport._aperform(calls, writes=True)

    if confirmed:
        assert await write() == [[1, b"1"]]
    else:
        with pytest.raises(OutcomeUnknown, match="0 of 1 replicas"):
            await write()

    assert world.sent == [("old", ["call", "WAIT"]), ("new", [*first, "call", "WAIT"])]


async def test_a_replica_that_is_away_for_a_moment_does_not_end_workers(own, caplog):
    safe = ("--appendonly", "yes", "--appendfsync", "always")
    primary = own(*safe)
    replica = own("--replicaof", "127.0.0.1", primary.port)
    replicated(primary)
    driver = open_redis(f"{primary.url}?replicas=1&timeout=2")
    agent = Vetting(driver, Bus(), ())
    await agent.run_once()
    replica.kill()
    with primary.client() as client:
        until(lambda: not client.info("replication")["connected_slaves"])
        client.config_set("min-replicas-to-write", 1)

        await agent.run_once()
        await agent.run_once()

        told = [record.getMessage().split(" is ")[0] for record in caplog.records]
        assert told == ["unsafe store: replicas", "unsafe store: min-replicas-to-write"]
        with pytest.raises(StoreRefused, match="replicas"):  # but none starts
            await Vetting(driver, Bus(), ()).run_once()
        client.execute_command("REPLICAOF", "127.0.0.1", replica.port)
        await agent.run_once()
        client.execute_command("REPLICAOF", "NO", "ONE")
        client.config_set("appendfsync", "no")
        with pytest.raises(StoreRefused, match="appendfsync"):
            await agent.run_once()
    driver.close()
