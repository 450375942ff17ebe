"""The schema, the doctor, and what people read in SQL."""

import os
import threading
from datetime import UTC, datetime

import pytest
from asking import claim, do, enqueue, settle
from click.testing import CliRunner
from private_postgres import schema_url, shared_server

from oxmill.cli.main import main
from oxmill.drivers.postgres.address import parse
from oxmill.drivers.postgres.driver import open_postgres
from oxmill.drivers.postgres.findings import findings_of
from oxmill.errors import SchemaMismatch
from oxmill.model.info import EventsAfter, Level, ListQueues, Sweep
from oxmill.model.query import Cancel, Filter
from oxmill.model.settlement import Failure, Outcome
from oxmill.model.state import State
from oxmill.store.roles.installing import Check, ExtraColumn, Migrate, Version


@pytest.fixture
def driver(postgres_server):
    driver = open_postgres(schema_url(), doorbell=False)
    enqueue(driver, "first")
    yield driver
    driver.close()


def schema(driver):
    return driver.url.partition("schema=")[2]


def test_version_installs_nothing():
    driver = open_postgres(schema_url(), doorbell=False)
    assert do(driver, Version()).current == 0
    assert do(driver, Version()).pending
    driver.close()


def test_several_processes_may_install_at_once():
    url = schema_url()
    children = []
    for _ in range(4):
        child = os.fork()
        if child == 0:
            try:
                mine = open_postgres(url, doorbell=False)
                enqueue(mine, f"job-{os.getpid()}")
                os._exit(0)
            except BaseException:
                os._exit(1)
        children.append(child)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    driver = open_postgres(url, doorbell=False)
    assert codes == [0, 0, 0, 0]
    assert len(claim(driver, 9)) == 4
    driver.close()


def test_without_leave_to_migrate_an_old_schema_is_refused():
    url = schema_url(migrate="no")
    driver = open_postgres(url, doorbell=False)
    with pytest.raises(SchemaMismatch, match="oxmill db migrate"):
        enqueue(driver, "a")
    do(driver, Migrate())
    enqueue(driver, "a")
    driver.close()


def test_commands_do_not_migrate_without_leave(tmp_path):
    url = schema_url(migrate="no")
    for words in (["jobs", "list"], ["enqueue", "send", "--raw"]):
        told = CliRunner().invoke(main, ["--url", url, *words])

        assert "oxmill db migrate" in told.output
        assert told.exit_code != 0
    driver = open_postgres(url, doorbell=False)
    assert do(driver, Version()).current == 0
    driver.close()

    assert CliRunner().invoke(main, ["--url", url, "db", "migrate"]).exit_code == 0
    assert CliRunner().invoke(main, ["--url", url, "jobs", "list"]).exit_code == 0


def test_commands_install_where_they_may_but_not_to_look():
    def run(*words):
        return CliRunner().invoke(main, ["--url", url, *words]).exit_code

    url = schema_url()
    looked, enqueued = run("jobs", "list"), run("enqueue", "send", "--raw")

    assert (looked, enqueued, run("jobs", "list")) == (4, 0, 0)


def test_a_socket_may_be_named_in_the_url():
    assert parse("postgresql:///jobs?host=/run/pg").conninfo["host"] == "/run/pg"


def test_a_newer_schema_is_refused(driver):
    shared_server().ask(
        f"INSERT INTO {schema(driver)}.migrations VALUES (99, '0099_future', 1, 'x')"
    )
    other = open_postgres(driver.url, doorbell=False)
    with pytest.raises(SchemaMismatch, match="update Oxmill"):
        enqueue(other, "a")
    other.close()


def test_two_schemas_of_one_database_know_nothing_of_each_other(driver):
    other = open_postgres(schema_url(), doorbell=False)
    enqueue(other, "first", "second")
    assert [lease.id for lease in claim(driver, 9)] == ["first"]
    assert len(claim(other, 9)) == 2
    other.close()


def test_the_doctor_names_what_is_unsafe(driver):
    findings = {each.name: each.level for each in do(driver, Check())}
    assert findings["fsync"] is Level.REFUSE
    assert findings["synchronous_commit"] is Level.REFUSE


def test_the_doctor_has_nothing_against_a_safe_server():
    safe = {
        "server_version_num": "150000",
        "server_encoding": "UTF8",
        "fsync": "on",
        "full_page_writes": "on",
        "synchronous_commit": "on",
        "default_transaction_isolation": "read committed",
        "in_recovery": "false",
        "standbys": "0",
        "unlogged": "0",
    }
    assert not list(findings_of(safe, "durable"))
    for name, value in (
        ("server_version_num", "110000"),
        ("server_encoding", "SQL_ASCII"),
        ("in_recovery", "true"),
        ("unlogged", "1"),
        ("full_page_writes", "off"),
    ):
        (found,) = findings_of(safe | {name: value}, "durable")
        assert (found.level, found.passes) == (Level.REFUSE, name == "in_recovery"), name
    for name, value in (
        ("default_transaction_isolation", "serializable"),
        ("oldest_transaction", "3600"),
        ("dead_rows", "5000000"),
    ):
        levels = [each.level for each in findings_of(safe | {name: value}, "durable")]
        assert levels == [Level.WARN], name


def test_the_doctor_recounts_when_asked(driver):
    assert "counts" not in {each.name for each in do(driver, Check(deep=True))}
    shared_server().ask(f"INSERT INTO {schema(driver)}.counts VALUES ('q', 'held', 3, 0)")
    assert "counts" in {each.name for each in do(driver, Check(deep=True))}


BUSY = {
    "autovacuum_vacuum_scale_factor": "0.01",
    "autovacuum_vacuum_threshold": "1000",
    "autovacuum_vacuum_cost_delay": "1",
}
ADDED_TO = {"autovacuum_vacuum_scale_factor": "0", "autovacuum_vacuum_threshold": "5000"}
SMALL = {"autovacuum_vacuum_scale_factor": "0.05", "autovacuum_vacuum_threshold": "1000"}
VACUUMED = {
    "jobs": BUSY
    | {
        "autovacuum_vacuum_insert_scale_factor": "0.05",
        "autovacuum_analyze_scale_factor": "0.02",
        "autovacuum_analyze_threshold": "1000",
    },
    "flows": BUSY,
    "nodes": BUSY,
    "edges": BUSY,
    "count_changes": ADDED_TO,
    "lane_news": ADDED_TO,
    "lanes": SMALL,
    "meters": SMALL,
    "closings": SMALL,
}


def test_tables_that_change_much_are_vacuumed_early(driver, postgres_server):
    """A usual server would let a fifth of a table die first."""
    enqueue(driver, "a")
    rows = postgres_server.ask(
        "SELECT relname, reloptions FROM pg_class"
        " WHERE relnamespace = to_regnamespace(%s) AND relkind = 'r'",
        driver.transport._address.schema,
    )
    found = {table: dict(each.split("=") for each in options or ()) for table, options in rows}

    for table, settings in VACUUMED.items():
        told = {name: value for name, value in found[table].items() if name.startswith("auto")}
        assert told == settings, table


def test_counts_are_the_same_before_and_after_they_are_added_up(driver):
    enqueue(driver, "a", "b")
    settle(driver, claim(driver)[0])
    before = do(driver, ListQueues()).items
    do(driver, Sweep())
    ((left,),) = shared_server().ask(f"SELECT count(*) FROM {schema(driver)}.count_changes")

    assert left == 0
    assert do(driver, ListQueues()).items == before
    assert before[0].counts == {State.WAITING: 2, State.SUCCEEDED: 1}


def test_people_read_jobs_in_sql(driver):
    enqueue(driver, "a", payload=b'{"to":"me"}', fields={"user_id": 62}, tags=("x",))
    lease = claim(driver, 2)[1]
    settle(driver, lease, Outcome.COMPLETE, result=b'"sent"')

    ((payload, user, tags, state, ended),) = shared_server().ask(
        f"SELECT payload::json ->> 'to', fields ->> 'user_id', tags::text, state, ended "
        f"FROM {schema(driver)}.job_view WHERE fields ->> 'user_id' = '62'"
    )

    assert (payload, user, tags, state) == ("me", "62", '["x"]', "succeeded")
    assert abs((datetime.now(UTC) - ended).total_seconds()) < 60


def test_people_may_add_columns_that_are_filled_from_fields(driver):
    table = f"{schema(driver)}.jobs"
    enqueue(driver, "a", fields={"user_id": 62, "tenant": "ü"})
    do(
        driver,
        Migrate(
            extra_columns=(ExtraColumn(name="user_id", type="integer"), ExtraColumn(name="tenant"))
        ),
    )
    enqueue(driver, "b", "c", fields={"user_id": 7})
    enqueue(driver, "d", fields={"user_id": "odd", "tenant": 5})
    settle(driver, claim(driver, 2)[1])

    rows = shared_server().ask(
        f"SELECT user_id, tenant, count(*) FROM {table} GROUP BY 1, 2 ORDER BY 1, 2"
    )
    assert rows == [(7, None, 2), (62, "ü", 1), (None, None, 2)]
    ((there,),) = shared_server().ask(
        f"SELECT to_regclass('{schema(driver)}.jobs_user_id') IS NOT NULL"
    )
    assert there


def test_events_are_read_in_order_and_none_is_missed(driver):
    """Transactions end in another order than they drew their numbers; a reader never notices."""
    stop = threading.Event()
    seen = []

    def follow():
        last = 0
        while True:
            done = stop.is_set()
            for event in do(driver, EventsAfter(seq=last, limit=7)):
                assert event.seq > last
                seen.append(event.seq)
                last = event.seq
            if done and not do(driver, EventsAfter(seq=last, limit=1)):
                return

    def act(number):
        for turn in range(25):
            enqueue(driver, f"e-{number}-{turn}")
            do(driver, Cancel(filter=Filter(ids=(f"e-{number}-{turn}",)), author=str(number)))

    reader = threading.Thread(target=follow)
    writers = [threading.Thread(target=act, args=(number,)) for number in range(6)]
    for thread in (reader, *writers):
        thread.start()
    for thread in writers:
        thread.join(60)
    stop.set()
    reader.join(60)

    numbers = shared_server().ask(f"SELECT seq FROM {schema(driver)}.events ORDER BY seq")
    assert [number for (number,) in numbers] == seen
    assert len(seen) == 150


def test_a_json_payload_that_is_none_does_not_spoil_the_view(driver):
    enqueue(driver, "odd", payload=b"\xff\x00", content_type="application/x-raw")
    rows = shared_server().ask(f"SELECT id, payload FROM {schema(driver)}.job_view ORDER BY id")
    assert rows[-1] == ("odd", None)


def test_one_job_that_is_no_text_does_not_spoil_the_view(driver):
    enqueue(driver, "bytes", payload=b"\xff")
    enqueue(driver, "nul", payload=b"\x00", headers={"h": "\0"}, fields={"user": 62})
    leases = {lease.id: lease for lease in claim(driver, 9)}
    failure = Failure(type="E", message="a\0b")
    settle(driver, leases["bytes"], Outcome.FAIL, error=failure)

    rows = shared_server().ask(f"SELECT * FROM {schema(driver)}.job_view ORDER BY seq")
    assert [row[0] for row in rows] == ["first", "bytes", "nul"]
    told = shared_server().ask(
        f"SELECT payload, payload_bytes, error_message FROM {schema(driver)}.job_view ORDER BY seq"
    )
    assert [payload for payload, _, _ in told] == ["x" * 100, None, None]
    assert [raw for _, raw, _ in told][1:] == [b"\xff", b"\x00"]
    assert "a" in told[1][2]
