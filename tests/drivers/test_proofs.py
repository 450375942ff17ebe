"""What the proofs are made of: the list of operations, the collection of tests, dumps and laws."""

import inspect
from pathlib import Path

import msgspec
import pytest

from oxmill.drivers.memory.driver import open_memory
from oxmill.model.claim import Claim
from oxmill.model.job import Enqueue, NewJob
from oxmill.model.rule import PutRules, Rule, RuleKind
from oxmill.model.settings import SECOND
from oxmill.model.state import State
from oxmill.model.unique import OnConflict, UniqueKey
from oxmill.store import roles
from oxmill.testing import conformance
from oxmill.testing.clock import START, VirtualClock
from oxmill.testing.conformance import suite
from oxmill.testing.draining import drain
from oxmill.testing.dump import differences, dump
from oxmill.testing.face import Face, Hand
from oxmill.testing.laws import breaches
from oxmill.testing.operations import OPERATIONS


@pytest.fixture
def clock():
    return VirtualClock()


@pytest.fixture
def hand(clock):
    hand = Hand(open_memory(clock=clock), Face.BLOCKING)
    yield hand
    hand.close()


def job(job_id, **options):
    return NewJob(**({"queue": "q", "task": "t", "payload": b""} | options), id=job_id)


def a_little_of_everything(hand):
    """One job of several states, and a rule; a successor is held behind a running holder."""
    key = UniqueKey(key="k", on_conflict=OnConflict.RERUN)
    hand.do(Enqueue(jobs=(job("holder", unique=key),)))
    hand.do(Claim(queues=("q",), limit=1, lease=60 * SECOND, worker="w", nonce=1))
    hand.do(
        Enqueue(
            jobs=(
                job("next", unique=key),
                job("later", delay=60 * SECOND),
                job("waits"),
            )
        )
    )
    hand.do(PutRules(set=(Rule(kind=RuleKind.BLOCK, target="q"),), operator=True))


# --- the suite ------------------------------------------------------------------------------------


def test_every_operation_of_the_contract_has_its_request(hand):
    named = {operation(hand.driver).__name__ for operation in OPERATIONS.values()}
    promised = set()
    for path in Path(roles.__path__[0]).glob("[!_]*.py"):
        role = getattr(hand.driver, path.stem)
        promised |= {name for name, _ in inspect.getmembers(role, callable) if name[0] != "_"}
    promised.remove("prepare")  # asks nothing of the store: what it makes are enqueues

    assert named == promised
    assert len(OPERATIONS) == len(promised)


def test_every_file_of_the_suite_is_collected():
    own = {"suite", "world"}
    files = {path.stem for path in Path(conformance.__path__[0]).glob("[!_]*.py")} - own

    assert sorted((*suite.ROLES, *suite.ACROSS)) == sorted(files)


def test_every_role_has_its_file():
    assert {path.stem for path in Path(roles.__path__[0]).glob("[!_]*.py")} == set(suite.ROLES)


def test_tests_are_named_for_their_file():
    names = suite.all_tests()

    assert "test_claiming_no_more_than_asked" in names
    assert "test_unique_skip_names_the_live_holder" in names
    assert len(names) > 300


# --- dumps ----------------------------------------------------------------------------------------


def test_equal_stores_have_equal_dumps(clock):
    one, other = (Hand(open_memory(clock=clock), face) for face in Face)
    a_little_of_everything(one)
    a_little_of_everything(other)

    assert dump(one.do) == dump(other.do)
    assert differences(dump(one.do), dump(other.do)) == []
    one.close()
    other.close()


def test_differences_are_told_value_by_value(hand):
    a_little_of_everything(hand)
    right = dump(hand.do)
    first, *rest = right.jobs
    wrong = msgspec.structs.replace(
        right, now=START + 1, jobs=(msgspec.structs.replace(first, priority=7), *rest)
    )
    short = msgspec.structs.replace(right, jobs=right.jobs[1:])

    assert differences(right, wrong) == [
        f"now: {START} != {START + 1}",
        "jobs waits: priority 0 != 7",
    ]
    assert differences(right, short)[0].startswith("jobs: ['waits'")


# --- laws -----------------------------------------------------------------------------------------


def test_a_healthy_store_breaks_no_law(hand):
    assert breaches(dump(hand.do)) == []
    a_little_of_everything(hand)
    assert breaches(dump(hand.do)) == []


@pytest.mark.parametrize(
    ("job_id", "change", "said"),
    [
        ("waits", {"state": State.SCHEDULED}, "counted"),
        ("holder", {"lease_until": None}, "with a lease"),
        ("waits", {"lease_until": 5}, "with a lease"),
        ("waits", {"ended_at": 5}, "with an end"),
        ("holder", {"history": ()}, "attempts"),
        ("holder", {"attempt": 2}, "attempts"),
        ("holder", {"unique": None}, "behind nobody"),
        ("waits", {"state": State.HELD, "unique": "k"}, "2 jobs are held"),
    ],
)
def test_every_law_can_be_broken(hand, job_id, change, said):
    a_little_of_everything(hand)
    right = dump(hand.do)
    bent = tuple(
        msgspec.structs.replace(each, **change) if each.id == job_id else each
        for each in right.jobs
    )

    told = breaches(msgspec.structs.replace(right, jobs=bent))

    assert any(said in line for line in told), told


# --- getting everything done ----------------------------------------------------------------------


def test_everything_gets_done_in_the_end(hand, clock):
    a_little_of_everything(hand)

    assert drain(hand.do, clock) == []
    assert {each.state for each in dump(hand.do).jobs} == {State.SUCCEEDED}


def test_what_is_stuck_is_named(clock):
    driver = open_memory(clock=clock)
    hand = Hand(driver, Face.BLOCKING)
    a_little_of_everything(hand)
    driver.inspecting._world.keys.clear()

    assert drain(hand.do, clock) == ["next is held"]
    hand.close()
