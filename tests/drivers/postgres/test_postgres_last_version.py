"""Code of the last version calls functions that ours no longer does: they still answer as they did."""

import pytest
from asking import SECOND, claim, do, enqueue, job
from private_postgres import schema_url

import flow_load
from oxmill.drivers.postgres.address import parse
from oxmill.drivers.postgres.driver import open_postgres
from oxmill.model.info import ListQueues
from oxmill.model.job import Enqueue
from oxmill.model.state import State
from oxmill.testing.operations import plan_for

HOUR = 3_600 * SECOND
BATCH = 20
LEASE = (
    "seq, id, queue, task, payload, attempt, priority, failures, crashes, max_attempts, "
    "enqueued_at, group_name, extras, progress, unique_key, place"
)
LAST = "now, next_due, tend, line_steps, tend_steps"
OLD_CLAIM = "ARRAY['q'], 20, 60000000, 'w', 7, NULL, 100, true, NULL, NULL"


@pytest.fixture
def driver(postgres_server):
    driver = open_postgres(schema_url(), doorbell=False)
    enqueue(driver, "first", queue="other")
    yield driver
    driver.close()


@pytest.fixture
def told(driver):
    """The rows of a statement of the last version."""
    link = driver.transport._pool.take()

    def ask(sql, *values):
        return link.connection.execute(
            sql.replace("oxmill.", f"{parse(driver.url).schema}."), values or None
        ).fetchall()

    yield ask
    driver.transport._pool.give_back(link)


def running(driver, keep, n=BATCH):
    do(driver, Enqueue(jobs=tuple(job(f"a-{number}", keep=keep) for number in range(n))))
    leases = claim(driver, n)
    return (
        [each.id for each in leases],
        [each.token.attempt for each in leases],
        [each.token.nonce for each in leases],
    )


def counts(driver, queue="q"):
    found = driver.run(plan_for(driver, ListQueues())).items
    return next(info.counts for info in found if info.name == queue)


@pytest.mark.parametrize("keep", [0, None], ids=["gone", "kept"])
@pytest.mark.parametrize("gone_first", [True, False])
def test_successes_are_told_one_by_one(driver, told, keep, gone_first):
    ids, attempts, nonces = running(driver, keep)
    nonces[4] += 1

    rows = told(
        "SELECT item, of_queue, kept, frees FROM oxmill.complete_jobs("
        "$1::text[], $2::int[], $3::bigint[], array_fill(NULL::bytea, ARRAY[20]), $4, $5, NULL)",
        *(ids, attempts, nonces, HOUR, gone_first),
    )

    expected = [(number, "q", keep is None, False) for number in range(1, BATCH + 1) if number != 5]
    assert sorted(rows) == expected
    assert counts(driver).get(State.RUNNING) == 1
    assert counts(driver).get(State.SUCCEEDED, 0) == (BATCH - 1 if keep is None else 0)


def test_a_claim_ends_with_a_row_of_its_own(driver, told):
    do(driver, Enqueue(jobs=tuple(job(f"a-{number}") for number in range(30))))

    *leases, last = told(f"SELECT {LEASE}, {LAST} FROM oxmill.claim({OLD_CLAIM})")

    assert sorted(row[1] for row in leases) == sorted(f"a-{number}" for number in range(20))
    assert {row[16:] for row in leases} == {(None,) * 5}
    assert last[:16] == (None,) * 16
    now, next_due, tend, line_steps, tend_steps = last[16:]
    assert (now > 0, next_due, tend) == (True, None, False)
    assert (line_steps >= 20, tend_steps >= 0) == (True, True)
    assert counts(driver).get(State.RUNNING) == 20


@pytest.mark.parametrize("wrong", [False, True])
def test_successes_and_a_claim_in_one_call(driver, told, wrong):
    ids, attempts, nonces = running(driver, 0)
    do(driver, Enqueue(jobs=(job("next"),)))
    nonces[0] += wrong

    rows = told(
        f"SELECT item, of_queue, kept, frees, {LEASE}, {LAST} FROM oxmill.complete_and_claim("
        "$1::text[], $2::int[], $3::bigint[], array_fill(NULL::bytea, ARRAY[20]), $4, true, "
        f"{OLD_CLAIM})",
        *(ids, attempts, nonces, HOUR),
    )

    settled = [row for row in rows if row[0] is not None]
    assert [row[0] for row in sorted(settled)] == list(range(1 + wrong, BATCH + 1))
    assert {row[1:4] for row in settled} == {("q", False, False)}
    assert {row[4:] for row in settled} == {(None,) * 21}
    granted = [row[4:] for row in rows if row[0] is None]
    assert [row[1] for row in granted] == ([] if wrong else ["next", None])


def test_steps_and_a_claim_in_one_call(driver, told):
    flow_load.start_pipelines(driver, flow_load.BATCH)
    leases = do(driver, flow_load.claim()).jobs
    queue = leases[0].queue
    names = "item, of_queue, moment, frees, ended_flow"

    rows = told(
        f"SELECT {names}, {LEASE}, told FROM oxmill.step_and_claim("
        "$1::text[], $2::int[], $3::bigint[], array_fill(NULL::bytea, ARRAY[cardinality($1)]), "
        f"{', '.join(['NULL'] * 24)}, $4, $4, ARRAY[$5], 20, 60000000, 'w', 7, NULL, 100, true, "
        "NULL, NULL)",
        [each.id for each in leases],
        [each.token.attempt for each in leases],
        [each.token.nonce for each in leases],
        HOUR,
        queue,
    )

    settled = [row for row in rows if row[0] is not None]
    assert [row[0] for row in settled] == list(range(1, len(leases) + 1))
    assert {row[1] for row in settled} == {queue}
    assert len({row[4] for row in settled}) == len(leases)
    last = rows[-1]
    assert last[:21] == (None,) * 21
    now, next_due, tend, *_ = last[21]
    assert (now > 0, next_due, tend) == (True, None, 0)


def test_steps_are_told_one_by_one(driver, told):
    flow_load.start_pipelines(driver, flow_load.BATCH)
    leases = do(driver, flow_load.claim()).jobs

    rows = told(
        "SELECT item, of_queue, moment, frees, ended_flow FROM oxmill.hand_over("
        "$1::text[], $2::int[], $3::bigint[], array_fill(NULL::bytea, ARRAY[cardinality($1)]), "
        f"{', '.join(['NULL'] * 24)}, $4, $4, NULL)",
        [each.id for each in leases],
        [each.token.attempt for each in leases],
        [each.token.nonce for each in leases],
        HOUR,
    )

    assert [row[0] for row in rows] == list(range(1, len(leases) + 1))
    assert {(row[1], row[2] > 0, row[3]) for row in rows} == {(leases[0].queue, True, False)}
    assert sorted(row[4] for row in rows) == sorted(each.flow for each in leases)
