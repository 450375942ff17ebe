"""The schema installs itself, is recorded, and is never used by code too old for it."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlite_stage import Store

from oxmill.drivers.sqlite import migrating
from oxmill.drivers.sqlite.driver import open_sqlite
from oxmill.drivers.sqlite.migrating import Migration, migrate, migrations, pending_sql
from oxmill.errors import SchemaMismatch
from oxmill.model.claim import Claim
from oxmill.model.query import Find
from oxmill.store.roles.installing import ExtraColumn, Migrate, Version


def ledger(path):
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT version, name, checksum FROM migrations").fetchall()
    connection.close()
    return rows


def version(driver):
    return driver.run(driver.installing.version(Version()))


def test_a_missing_file_has_version_0_and_stays_missing(path):
    driver = open_sqlite(path)

    schema = version(driver)

    assert (schema.current, schema.newest, schema.pending) == (0, migrations()[-1].version, True)
    assert not path.exists()
    driver.close()


def test_the_first_use_installs(path):
    driver = open_sqlite(path, clock=lambda: 7)

    driver.run(driver.inspecting.find(Find()))

    assert not version(driver).pending
    assert ledger(path) == [(each.version, each.name, each.checksum) for each in migrations()]
    driver.close()


def test_what_is_due_is_applied_once(path, monkeypatch):
    driver = open_sqlite(path)
    driver.run(driver.installing.migrate(Migrate()))
    driver.close()
    more = Migration(99, "0099_more", "-- More.\nCREATE TABLE more (x INTEGER) STRICT;\n")
    ours = [each.version for each in migrations()]
    monkeypatch.setattr(migrating, "migrations", lambda: (*migrations(), more))

    for _ in range(2):
        driver = open_sqlite(path)
        assert version(driver).pending is (len(ledger(path)) == len(ours))
        schema = driver.run(driver.installing.migrate(Migrate()))
        assert schema.applied == (*(each.name for each in migrations()), "0099_more")
        driver.close()

    assert [row[0] for row in ledger(path)] == [*ours, 99]


def test_grouped_jobs_that_wait_already_get_their_lanes(path, monkeypatch):
    with monkeypatch.context() as old:
        old.setattr(migrating, "migrations", lambda: migrations()[:1])
        connection = sqlite3.connect(path, isolation_level=None)
        migrate(connection, lambda: 7)
        for seq, group, state in ((1, "a", "waiting"), (2, None, "waiting"), (3, "b", "succeeded")):
            connection.execute(
                "INSERT INTO jobs (seq, id, queue, task, state, priority, place, due_at, "
                "enqueued_at, max_attempts, crash_limit, group_name, payload) "
                "VALUES (?, ?, 'q', 't', ?, 0, ?, 0, 0, 20, 3, ?, x'7b7d')",
                (seq, f"job-{seq}", state, seq, group),
            )
        connection.close()
    driver = open_sqlite(path)

    claimed = driver.run(
        driver.claiming.claim(Claim(queues=("q",), limit=9, lease=60_000_000, worker="w", nonce=1))
    )

    assert [job.id for job in claimed.jobs] == ["job-1", "job-2"]
    driver.close()


def test_a_migration_that_fails_leaves_nothing_behind(path, monkeypatch):
    bad = Migration(99, "0099_bad", "CREATE TABLE fine (x INTEGER);\nCREATE TABLE jobs (y);\n")
    monkeypatch.setattr(migrating, "migrations", lambda: (*migrations(), bad))
    driver = open_sqlite(path)

    with pytest.raises(Exception, match="already exists"):
        driver.run(driver.installing.migrate(Migrate()))

    driver.close()
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT name FROM sqlite_schema").fetchall() == []
    connection.close()


def test_a_newer_schema_is_refused(store):
    store.enqueue("a")
    store.driver.close()
    with sqlite3.connect(store.path) as connection:
        connection.execute("INSERT INTO migrations VALUES (99, '0099_future', 0, '')")
    connection.close()
    driver = open_sqlite(store.path)

    assert version(driver).current == 99
    with pytest.raises(SchemaMismatch, match=r"version 99.*update Oxmill"):
        driver.run(driver.inspecting.find(Find()))

    driver.close()


def test_many_may_install_at_once(path):
    drivers = [open_sqlite(path) for _ in range(8)]

    with ThreadPoolExecutor(8) as pool:
        schemas = list(pool.map(lambda d: d.run(d.installing.migrate(Migrate())), drivers))

    assert {schema.current for schema in schemas} == {migrations()[-1].version}
    assert len(ledger(path)) == len(migrations())
    for driver in drivers:
        driver.close()


def test_who_waited_for_another_to_install_does_not_install_again(path, monkeypatch):
    one, other = (sqlite3.connect(path, isolation_level=None) for _ in range(2))
    look = migrating._due

    def look_then_let_the_other_go_first(connection):
        due = look(connection)
        monkeypatch.setattr(migrating, "_due", look)
        migrate(other, lambda: 1)
        return due

    monkeypatch.setattr(migrating, "_due", look_then_let_the_other_go_first)
    migrate(one, lambda: 2)

    assert len(ledger(path)) == len(migrations())
    one.close()
    other.close()


def test_pending_sql_can_be_run_by_hand(path):
    with sqlite3.connect(path) as connection:
        connection.executescript(pending_sql())
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_schema")}
    connection.close()

    assert {"jobs", "job_view", "counters"} <= tables
    assert pending_sql(migrations()[-1].version) == ""


def test_the_view_shows_jobs_readably(path):
    driver = open_sqlite(path, clock=lambda: 1_700_000_000_123_456)
    store = Store(driver, path)
    store.enqueue(
        "a", payload=b'{"to":"x"}', fields={"user": 62, "plan": "pro"}, tags=("vip", "eu")
    )
    store.enqueue("b", payload=b"\x00\xff", content_type="application/octet-stream")
    with sqlite3.connect(path) as connection:
        rows = connection.execute(
            "SELECT id, state, enqueued, payload, fields, tags, claimed FROM job_view ORDER BY seq"
        ).fetchall()
    connection.close()
    driver.close()

    when = "2023-11-14T22:13:20.123Z"
    assert rows == [
        ("a", "waiting", when, '{"to":"x"}', '{"user":62,"plan":"pro"}', '["vip","eu"]', None),
        ("b", "waiting", when, b"\x00\xff", "{}", "[]", None),
    ]


def test_extra_columns_show_fields_of_jobs_old_and_new(path):
    driver = open_sqlite(path, clock=lambda: 1_700_000_000_123_456)
    store = Store(driver, path)
    store.enqueue("old", fields={"user_id": 62, "tenant": "ü"})
    columns = (ExtraColumn(name="user_id", type="integer"), ExtraColumn(name="tenant"))
    driver.run(driver.installing.migrate(Migrate(extra_columns=columns)))
    store.enqueue("new", fields={"user_id": 62})
    store.enqueue("odd", fields={"user_id": "62", "tenant": 5})
    store.enqueue("other")
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT id, user_id, tenant FROM jobs ORDER BY seq").fetchall()
        ((*_, plan),) = connection.execute(
            "EXPLAIN QUERY PLAN SELECT id FROM jobs WHERE user_id = 62"
        ).fetchall()
    connection.close()
    driver.close()

    assert rows == [("old", 62, "ü"), ("new", 62, None), ("odd", None, None), ("other", None, None)]
    assert "jobs_user_id" in plan
