"""What the server's errors mean, and those that a real server can be made to say."""

import time
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from asking import claim, do, enqueue, settle
from private_postgres import Server, schema_url, shared_server

from oxmill.drivers.postgres import transport
from oxmill.drivers.postgres.driver import open_postgres
from oxmill.drivers.postgres.faults import is_broken, is_contested, translated
from oxmill.errors import (
    BadInput,
    OutcomeUnknown,
    SchemaMismatch,
    StoreError,
    StoreFull,
    StoreRefused,
    StoreUnavailable,
)
from oxmill.model.query import Get
from oxmill.model.settlement import Ruling

KINDS = {
    StoreUnavailable: (
        *("40001", "40P01", "23505", "55006"),
        *("53200", "53300", "25006", "55P03", "57014", "57P01", "57P03", "08006"),
    ),
    StoreFull: ("53100", "53400"),
    StoreRefused: ("28000", "28P01", "3D000", "42501"),
    SchemaMismatch: ("3F000", "42P01", "42883", "42703"),
    BadInput: ("22003", "22021", "22P05"),
    StoreError: ("54000", "XX001", "42601", "0A000"),
}
BY_STATE = [(state, kind) for kind, states in KINDS.items() for state in states]


def said(state):
    error = psycopg.errors.lookup(state)("some words")
    assert error.sqlstate == state
    return error


@pytest.mark.parametrize(("state", "kind"), BY_STATE)
def test_a_state_means_one_kind_of_error(state, kind):
    assert type(translated(said(state), "here", writing=False)) is kind


@pytest.mark.parametrize("state", ["40001", "40P01", "55P03", "57014", "53400", "53100"])
def test_what_the_server_has_refused_was_not_written(state):
    """Also while writing: the server has spoken, and the connection is kept."""
    told = translated(said(state), "here", writing=True)
    assert not isinstance(told, OutcomeUnknown)
    assert not is_broken(said(state))


def test_only_those_who_met_each_other_are_tried_again():
    again = {state for state, _ in BY_STATE if is_contested(said(state))}
    assert again == {"40001", "40P01", "23505", "55006"}


# -- a real server ---------------------------------------------------------------------------------


@pytest.fixture
def opened(postgres_server):
    drivers = []

    def opened(url):
        drivers.append(open_postgres(url, doorbell=False))
        return drivers[-1]

    yield opened
    for driver in drivers:
        driver.close()


@pytest.fixture
def serializable():
    server = Server(default_transaction_isolation="serializable").start()
    yield server
    server.stop()


def table_of(driver):
    return f"{driver.transport._address.schema}.jobs"


def connections(driver):
    return driver.transport._pool._idle[:]


def test_a_serialization_failure_is_tried_again(serializable, opened, monkeypatch):
    met = []

    def noted(error):
        met.append(getattr(error, "sqlstate", None))
        return is_contested(error)

    monkeypatch.setattr(transport, "is_contested", noted)
    driver = opened(serializable.url)
    enqueue(driver, "a")
    (lease,) = claim(driver)
    with psycopg.connect(serializable.url) as rival, ThreadPoolExecutor(1) as pool:
        rival.execute("UPDATE oxmill.jobs SET priority = priority WHERE id = 'a'")
        settling = pool.submit(settle, driver, lease)
        wait_until(lambda: serializable.ask(WAITING))
        rival.commit()

        assert settling.result(30).ruling is Ruling.WON

    assert met == ["40001"]


WAITING = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'"


def wait_until(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_lock_that_is_not_had_in_time_wrote_nothing(opened):
    """The server says so before we lose our patience, and leave everybody in doubt."""
    driver = opened(schema_url(timeout=2))
    enqueue(driver, "a")
    before = connections(driver)
    with psycopg.connect(shared_server().url) as blocker:
        blocker.execute(f"LOCK TABLE {table_of(driver)} IN ACCESS EXCLUSIVE MODE")

        with pytest.raises(StoreUnavailable, match="55P03"):
            enqueue(driver, "b")

    assert connections(driver) == before
    assert do(driver, Get(ids=("b",))) == ()
    enqueue(driver, "b")


SLOW = """
CREATE FUNCTION SCHEMA.slow() RETURNS trigger LANGUAGE plpgsql AS
    $$BEGIN PERFORM pg_sleep(60); RETURN NEW; END$$;
CREATE TRIGGER slow BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION SCHEMA.slow()
"""


def test_a_statement_that_takes_too_long_wrote_nothing(opened):
    driver = opened(schema_url(timeout=2))
    enqueue(driver, "a")
    before = connections(driver)
    table = table_of(driver)
    with psycopg.connect(shared_server().url, autocommit=True) as other:
        other.execute(SLOW.replace("SCHEMA", table.partition(".")[0]).format(table=table))

        with pytest.raises(StoreUnavailable, match="57014"):
            enqueue(driver, "b")

        other.execute(f"DROP TRIGGER slow ON {table}")
    assert connections(driver) == before
    assert do(driver, Get(ids=("b",))) == ()
    enqueue(driver, "b")
