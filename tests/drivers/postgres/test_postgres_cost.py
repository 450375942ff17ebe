"""The hot path's cost is guarded: one round trip each, however many jobs it is about."""

from contextlib import contextmanager
from dataclasses import replace

import pytest
from asking import SECOND, claim, do, enqueue, job
from private_postgres import schema_url

from oxmill.drivers.postgres.address import parse
from oxmill.drivers.postgres.driver import open_postgres
from oxmill.drivers.postgres.session import Query
from oxmill.drivers.postgres.statements import statement
from oxmill.drivers.postgres.wire import Wire
from oxmill.model.claim import Claim, Renew, Renewal
from oxmill.model.job import Enqueue
from oxmill.model.settings import PutSettings, QueueSettings
from oxmill.model.settlement import Outcome, Settle, Settlement
from oxmill.store.plan import together
from oxmill.testing.operations import plan_for

MANY = 200


@pytest.fixture
def driver(postgres_server):
    driver = open_postgres(schema_url(), doorbell=False)
    enqueue(driver, "first", queue="other")
    yield driver
    driver.close()


@pytest.fixture
def trips(monkeypatch):
    """Counts what is sent: one entry per round trip, with the names of all that travels in it."""
    sent = []
    put = Wire.put

    def putting(self, several):
        names = [each if isinstance(each, str) else each.text.name for each in several]
        sent.append(" ".join(name.split()[0] for name in names) if len(names) > 1 else names[0])
        put(self, several)

    monkeypatch.setattr(Wire, "put", putting)

    @contextmanager
    def counting(*expected):
        sent.clear()
        yield
        assert sent == list(expected)

    return counting


def completions(leases):
    return Settle(
        items=tuple(
            Settlement(id=each.id, token=each.token, outcome=Outcome.COMPLETE) for each in leases
        )
    )


def test_each_step_of_the_hot_path_is_one_round_trip(driver, trips):
    with trips("enqueue_one"):
        enqueue(driver, "a")
    with trips("enqueue"):
        do(driver, Enqueue(jobs=tuple(job(f"b-{number}") for number in range(MANY))))
    with trips("enqueue"):
        enqueue(driver, "c", fields={"user": 1}, tags=("x",), delay=SECOND)
    with trips("claim"):
        first = claim(driver, 20)
    with trips("claim"):
        second = claim(driver, 20, nonce=2, queues=("q", "other", "none"))
    with trips("renew"):
        items = tuple(Renewal(id=each.id, token=each.token, progress=b"p") for each in first)
        do(driver, Renew(items=items, lease=60 * SECOND))
    with trips("complete"):
        do(driver, completions(first))
    with trips("complete_and_claim"):
        request = Claim(queues=("q",), limit=20, lease=60 * SECOND, worker="w", nonce=3)
        settling = plan_for(driver, completions(second))
        _, claimed = driver.run(together(settling, plan_for(driver, request)))
    assert len(claimed.jobs) == 20


def test_an_id_that_is_there_is_tried_once(driver, trips):
    enqueue(driver, "a")
    known = ("lock_keys_of standings_by_id", "contents_by_id", "draw", "COMMIT")
    with trips("enqueue_one", "BEGIN now", *known):
        enqueue(driver, "a")


def test_a_retry_costs_a_fixed_number_of_round_trips(driver, trips):
    do(driver, Enqueue(jobs=tuple(job(f"b-{number}") for number in range(MANY))))
    leases = claim(driver, MANY)
    items = [
        Settlement(id=each.id, token=each.token, outcome=Outcome.RETRY, delay=SECOND)
        for each in leases
    ]
    long_way = (
        "BEGIN now",
        "lock_keys_of standings_by_id",
        "settings_of",
        "add_attempts write_standing add_counts COMMIT",
    )
    with trips(*long_way):
        do(driver, Settle(items=tuple(items)))


def turn(driver, ends, nonce):
    """Settle these and claim as many."""
    request = Claim(queues=("q",), limit=100, lease=60 * SECOND, worker="w", nonce=nonce)
    settling = plan_for(driver, completions(ends))
    _, claimed = driver.run(together(settling, plan_for(driver, request)))
    return claimed.jobs


def test_of_what_was_settled_there_is_one_row_for_all(driver, monkeypatch):
    do(driver, Enqueue(jobs=tuple(job(f"b-{number}", keep=0) for number in range(3 * 100))))
    leases = turn(driver, (), 1)
    heard = []
    rows = Wire.rows
    monkeypatch.setattr(Wire, "rows", lambda self: heard.append(rows(self)) or heard[-1])

    leases = turn(driver, leases, 2)

    assert len(leases) == 100
    assert [len(answer) for answer in heard[0]] == [1 + 100 + 1]


@pytest.mark.parametrize(("keep", "most"), [(0, 6.3), (None, 10.6)], ids=["gone", "kept"])
def test_a_turn_writes_few_records_to_the_log(driver, keep, most):
    """Where a job has no room for its next version on its page, each claim writes one more."""
    do(driver, Enqueue(jobs=tuple(job(f"b-{number:04d}", keep=keep) for number in range(2_000))))
    leases = turn(driver, turn(driver, (), 1), 2)
    schema = parse(driver.url).schema
    text = statement(schema, "complete_and_claim")
    given = {
        "ids": [each.id for each in leases],
        "attempts": [each.token.attempt for each in leases],
        "nonces": [each.token.nonce for each in leases],
        "results": [None] * len(leases),
        "usual": 3_600 * SECOND,
        "gone_first": keep == 0,
        "queues": ["q"],
        "most": 100,
        "lease": 60 * SECOND,
        "worker": "w",
        "nonce": 3,
        "bound": 100,
        "tending": True,
    }
    link = driver.transport._pool.take()
    command = b"EXPLAIN (ANALYZE, WAL, FORMAT JSON) " + text.command
    asked = Query(replace(text, command=command), [given.get(word) for word in text.names])
    ((((plan,),),),) = link.wire.send([asked])
    driver.transport._pool.give_back(link)

    assert plan["Plan"]["Actual Rows"] == 1 + 100 + 1
    assert plan["Plan"]["WAL Records"] <= most * 100


def grouped(driver, **limits):
    do(driver, PutSettings(queue="q", settings=QueueSettings(**limits)))
    jobs = (job(f"b-{number}", group=f"group {number}") for number in range(5 * MANY))
    do(driver, Enqueue(jobs=tuple(jobs)))


def test_a_turn_of_a_gated_queue_is_one_round_trip(driver, trips):
    grouped(driver, concurrency=MANY, rate="1000000/s")
    leases = turn(driver, turn(driver, (), 1), 2)
    assert len(leases) == 100
    with trips("complete_and_claim_gated"):
        assert len(turn(driver, leases, 3)) == 100


def test_a_turn_with_limits_of_groups_is_one_round_trip_too(driver, trips):
    grouped(driver, concurrency=MANY, group_concurrency=1, group_rate="10/s")
    leases = turn(driver, turn(driver, (), 1), 2)
    assert len(leases) == 100
    with trips("complete_and_claim_gated"):
        assert len(turn(driver, leases, 3)) == 100


def test_a_turn_with_weights_reads_in_waves(driver, trips):
    grouped(
        driver, concurrency=MANY, group_concurrency=1, group_rate="10/s", group_weights={"a": 2}
    )
    leases = turn(driver, turn(driver, (), 1), 2)
    assert len(leases) == 100
    with trips(
        "complete",
        "BEGIN now",
        "hold_gates horizon",
        "enter_gates settings_of rules_scoped meters_by_key rules_on gates_ahead",
        "plain_lanes running_of_queues",
        "lanes_open",
        "running_of_groups meters_by_key",
        "lane_heads",
        "leases_waiting",
        "grant drop_lanes spend_meters add_counts COMMIT",
    ):
        assert len(turn(driver, leases, 3)) == 100
