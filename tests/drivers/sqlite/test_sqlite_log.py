"""The write-ahead log stays short, and only one process at a time works it into the database."""

import logging
import sqlite3
import subprocess
import sys
from itertools import count

import pytest
from sqlite_stage import Store

from oxmill.drivers.sqlite import checkpoint, shrinking
from oxmill.drivers.sqlite.connection import LONGEST_LOG, Place
from oxmill.drivers.sqlite.driver import open_sqlite
from oxmill.drivers.sqlite.transport import SqliteTransport
from oxmill.model.info import Prune
from oxmill.model.query import Filter, Purge
from oxmill.queue.client import Client
from oxmill.queue.ids import IdSource
from oxmill.queue.looking import Looking

KIB = 1024


@pytest.fixture
def small(path, monkeypatch):
    """A store whose log counts as long from 256 KiB on."""
    driver = open_sqlite(path, mode="volatile")
    place = Place(path, "volatile")
    object.__setattr__(driver, "transport", SqliteTransport(place, lambda: 1, 256 * KIB))
    monkeypatch.setattr(checkpoint, "_PAUSE", 0)
    yield Store(driver, path)
    driver.close()


def fill(store, kib, numbers):
    """Commit about this much."""
    for _ in range(kib // 16):
        store.enqueue(f"job-{next(numbers)}", payload=b"x" * 16 * KIB)


def log_size(store):
    return store.path.with_name("store.db-wal").stat().st_size


def test_connections_do_not_checkpoint_by_themselves(small):
    small.enqueue("a")
    small.get("a")

    for connection in (
        small.writer.committer.session.connection,
        *small.driver.transport._readers._idle,
    ):
        assert connection.execute("PRAGMA wal_autocheckpoint").fetchone() == (0,)


def test_the_log_stays_short(small):
    numbers = count()
    for _ in range(8):
        fill(small, 512, numbers)
        assert log_size(small) < 640 * KIB

    assert small.counts() == {"waiting": next(numbers)}


def test_every_process_sees_that_the_log_is_long(small):
    numbers = count()
    small.enqueue("first")
    other = sqlite3.connect(small.path, isolation_level=None)
    other.execute("PRAGMA wal_autocheckpoint = 0")
    other.execute("CREATE TABLE foreign_data (x)")
    other.execute("INSERT INTO foreign_data VALUES (zeroblob(400000))")
    assert small.writer.committer.checkpointer.due()

    fill(small, 8 * 16, numbers)

    assert not small.writer.committer.checkpointer.due()
    other.close()


def test_a_long_reader_is_named_and_the_log_shrinks_after_it(small, caplog):
    numbers = count()
    fill(small, 64, numbers)
    reader = sqlite3.connect(small.path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM jobs").fetchone()

    with caplog.at_level(logging.WARNING, "oxmill.sqlite"):
        fill(small, 3_000, numbers)
    pinned = log_size(small)
    reader.execute("COMMIT")
    reader.close()
    fill(small, 512, numbers)

    assert pinned > 2_000 * KIB
    assert log_size(small) < 600 * KIB
    (warning,) = caplog.records
    assert "end long reads" in warning.getMessage()
    assert warning.database == str(small.path)
    assert warning.log_mib >= 1


def test_a_long_reader_is_told_of_again_once_the_log_was_short(small, caplog):
    fill(small, 64, numbers := count())
    with caplog.at_level(logging.WARNING, "oxmill.sqlite"):
        for _ in range(2):
            reader = sqlite3.connect(small.path, isolation_level=None)
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM jobs").fetchone()
            fill(small, 2_000, numbers)
            reader.close()
            fill(small, 512, numbers)

    assert len(caplog.records) == 2


def test_the_process_that_reads_for_long_is_named(small, caplog):
    fill(small, 64, numbers := count())
    reading = f"""
import sqlite3, sys
reader = sqlite3.connect({str(small.path)!r}, isolation_level=None)
reader.execute("BEGIN")
reader.execute("SELECT count(*) FROM jobs").fetchone()
print("reading", flush=True)
sys.stdin.read()
"""
    with (
        subprocess.Popen([sys.executable, "-c", reading], stdin=-1, stdout=-1) as other,
        caplog.at_level(logging.WARNING, "oxmill.sqlite"),
    ):
        other.stdout.readline()
        fill(small, 2_000, numbers)
        other.stdin.close()

    (warning,) = caplog.records
    assert [name for name in warning.readers if f"({other.pid})" in name]


def test_our_own_reads_do_not_hold_the_log(small):
    numbers = count()
    fill(small, 64, numbers)
    client = Client(lambda: small.driver, IdSource())
    jobs = Looking(client).jobs()
    next(jobs)  # a search that is read slowly
    for _ in range(6):
        fill(small, 256, numbers)
        small.get("job-0")
        small.counts()

    assert log_size(small) < 640 * KIB
    assert next(jobs)


def test_a_checkpoint_waits_for_its_turn_among_all_writers(small, monkeypatch):
    numbers = count()
    seen = []

    def watched(self, connection):
        other = open_sqlite(small.path).transport._writer.committer.turnstile
        with pytest.raises(Exception, match="locked"):
            other.enter(0)
        other.close()
        seen.append(connection.in_transaction)

    monkeypatch.setattr(checkpoint.Checkpointer, "checkpoint", watched)
    fill(small, 512, numbers)

    assert seen
    assert not any(seen)


@pytest.fixture
def newer(path):
    """A store on a SQLite that looks after its log by itself."""
    driver = open_sqlite(path, mode="volatile")
    place = Place(path, "volatile", version=(3, 51, 3))
    object.__setattr__(driver, "transport", SqliteTransport(place, lambda: 1))
    yield Store(driver, path)
    driver.close()


def test_newer_versions_checkpoint_by_themselves(newer):
    newer.enqueue("a")

    connection = newer.writer.committer.session.connection
    assert connection.execute("PRAGMA wal_autocheckpoint").fetchone() == (1000,)
    assert not newer.writer.committer.checkpointer.due()


def test_newer_versions_cut_the_log_after_a_long_reader(newer):
    def fill(number):
        ids = (f"job-{number}-{each}" for each in range(6))
        newer.enqueue(*ids, payload=b"x" * 1_000 * KIB)

    newer.enqueue("a")
    reader = sqlite3.connect(newer.path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM jobs").fetchone()
    for number in range(4):
        fill(number)
    pinned = log_size(newer)
    reader.execute("COMMIT")
    reader.close()
    fill("after")
    newer.enqueue("b")

    assert pinned > LONGEST_LOG
    assert log_size(newer) <= LONGEST_LOG


def test_newer_versions_tell_of_a_long_reader_too(newer, caplog, monkeypatch):
    monkeypatch.setattr(checkpoint, "_HELD_BYTES", 512 * KIB)
    monkeypatch.setattr(checkpoint, "_HELD_SECONDS", 0)
    numbers = count()
    newer.enqueue("a")
    reader = sqlite3.connect(newer.path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM jobs").fetchone()

    with caplog.at_level(logging.WARNING, "oxmill.sqlite"):
        fill(newer, 2_000, numbers)
    reader.close()

    (warning,) = caplog.records
    assert "end long reads" in warning.getMessage()


def test_newer_versions_do_not_tell_of_a_large_transaction(newer, caplog, monkeypatch):
    monkeypatch.setattr(checkpoint, "_HELD_BYTES", 512 * KIB)
    with caplog.at_level(logging.WARNING, "oxmill.sqlite"):
        fill(newer, 2_000, count())

    assert not caplog.records


def test_closing_leaves_one_whole_file(store):
    store.enqueue("a")
    store.driver.close()

    assert not store.path.with_name("store.db-wal").exists()
    found = sqlite3.connect(store.path).execute("SELECT id FROM jobs").fetchall()
    assert found == [("a",)]


def test_the_file_shrinks_when_most_of_it_is_free(store, monkeypatch):
    monkeypatch.setattr(shrinking, "_SPARE_PAGES", 10)
    store.enqueue(*(f"job-{number}" for number in range(300)), payload=b"x" * 8 * KIB)
    store.driver.run(store.driver.steering.purge(Purge(filter=Filter())))
    connection = store.writer.committer.session.connection
    pages = connection.execute("PRAGMA page_count").fetchone()[0]

    for _ in range(5):
        store.driver.run(store.driver.housekeeping.prune(Prune()))

    assert connection.execute("PRAGMA page_count").fetchone()[0] < pages / 2
