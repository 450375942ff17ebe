"""Where the file may be, who may read it, and what the doctor says."""

import os
import sqlite3
import stat
from contextlib import closing
from types import SimpleNamespace

import pytest
from sqlite_stage import child

from oxmill.drivers.sqlite import doctor, filesystem, snapshots
from oxmill.drivers.sqlite.connection import Place, connect, refuse_old
from oxmill.drivers.sqlite.driver import open_sqlite
from oxmill.drivers.sqlite.filesystem import filesystem_of, is_remote
from oxmill.drivers.sqlite.snapshots import holders, readers
from oxmill.errors import StoreError, StoreRefused
from oxmill.model.info import Level
from oxmill.model.query import Find
from oxmill.store.roles.installing import Check, Migrate

MOUNTS = """\
/dev/vda / ext4 rw 0 0
tmpfs /tmp tmpfs rw 0 0
server:/share /mnt/share nfs4 rw 0 0
//nas/jobs /mnt/with\\040space cifs rw 0 0
me@host:/ /home/me/far fuse.sshfs rw 0 0
overlay /var/lib/docker/x overlay rw 0 0
"""


@pytest.mark.parametrize(
    ("path", "kind", "remote"),
    [
        ("/var/jobs", "ext4", False),
        ("/tmp/jobs", "tmpfs", False),
        ("/tmpfs", "ext4", False),
        ("/mnt/share/a/b", "nfs4", True),
        ("/mnt/with space", "cifs", True),
        ("/home/me/far/away", "fuse.sshfs", True),
    ],
)
def test_the_filesystem_of_a_path_is_known(tmp_path, path, kind, remote):
    found = filesystem_of(type(tmp_path)(path), MOUNTS)

    assert (found, is_remote(found)) == (kind, remote)


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "9p", "fuse.sshfs", "smb3"])
def test_a_network_filesystem_is_refused(path, monkeypatch, kind):
    monkeypatch.setattr(filesystem, "read_mounts", lambda: f"x / {kind} rw 0 0\n")
    driver = open_sqlite(path)

    with pytest.raises(StoreRefused, match=f"{kind} filesystem.*local disk"):
        driver.run(driver.inspecting.find(Find()))

    assert not path.exists()
    driver.close()


@pytest.mark.parametrize("name", [":memory:", "", "file::memory:?cache=shared"])
def test_memory_is_refused(name):
    with pytest.raises(StoreRefused, match="memory://"):
        open_sqlite(name)


def test_a_link_is_the_file_it_leads_to(tmp_path):
    """Log and lock lie beside the file: two names for one file must not mean two locks."""
    (tmp_path / "real").mkdir()
    link = tmp_path / "link.db"
    link.symlink_to(tmp_path / "real" / "store.db")
    driver = open_sqlite(link)

    driver.run(driver.installing.migrate(Migrate()))

    assert driver.url == f"sqlite:///{tmp_path}/real/store.db"
    assert [each.name for each in tmp_path.iterdir() if each.name != "real"] == ["link.db"]
    driver.close()


@pytest.mark.parametrize(("mode", "level"), [("durable", 2), ("process", 1), ("volatile", 0)])
def test_writes_are_synced_as_the_mode_says(tmp_path, mode, level):
    path = tmp_path / "store.db"
    driver = open_sqlite(path, mode=mode)
    driver.run(driver.installing.migrate(Migrate()))
    place = Place(path, mode)

    with closing(connect(place)) as connection:
        (found,) = connection.execute("PRAGMA synchronous").fetchone()
        (journal,) = connection.execute("PRAGMA journal_mode").fetchone()
        tables = connection.execute("PRAGMA table_list").fetchall()

    assert (found, journal) == (level, "wal")
    mine = [row for row in tables if row[0] == "main" and not row[1].startswith("sqlite_")]
    assert [row[1] for row in mine if row[2] == "table" and not row[5]] == []
    driver.close()


def test_a_missing_folder_is_named(tmp_path):
    driver = open_sqlite(tmp_path / "none" / "store.db")

    with pytest.raises(StoreRefused, match="there is no folder"):
        driver.run(driver.installing.migrate(Migrate()))
    with pytest.raises(StoreRefused, match="there is no folder"):
        driver.run(driver.installing.check(Check()))

    driver.close()


def test_a_folder_is_not_a_file(tmp_path):
    driver = open_sqlite(tmp_path)

    with pytest.raises(StoreRefused, match="is a folder"):
        driver.run(driver.installing.migrate(Migrate()))

    driver.close()


def test_a_read_only_folder_is_refused(path, monkeypatch):
    monkeypatch.setattr(filesystem.os, "access", lambda *_: False)  # root may write everywhere
    driver = open_sqlite(path)

    with pytest.raises(StoreRefused, match="cannot be written"):
        driver.run(driver.installing.migrate(Migrate()))

    driver.close()


def test_a_file_of_another_kind_is_refused_and_left_alone(path):
    path.write_bytes(b"not a database, but somebody's only copy of something" * 100)
    before = path.read_bytes()
    driver = open_sqlite(path)

    for plan in (driver.installing.migrate(Migrate()), driver.inspecting.find(Find())):
        with pytest.raises(StoreRefused, match="not a SQLite database"):
            driver.run(plan)

    driver.close()
    assert path.read_bytes() == before


def test_a_damaged_file_is_named(store):
    store.enqueue(*(f"job-{number}" for number in range(500)))
    store.driver.close()
    with store.path.open("r+b") as file:
        file.seek(3 * 4096)
        file.write(b"\xff" * 20 * 4096)
    driver = open_sqlite(store.path)

    with pytest.raises(StoreError):
        driver.run(driver.inspecting.find(Find(limit=1_000)))

    driver.close()


def test_all_files_are_for_their_owner_only(store):
    os.umask(os.umask(0))
    store.enqueue("a")

    modes = {
        each.name: stat.S_IMODE(each.stat().st_mode)
        for each in store.path.parent.iterdir()
        if each.name.startswith(store.path.name)
    }

    assert set(modes) == {"store.db", "store.db-wal", "store.db-shm", "store.db-lock"}
    assert set(modes.values()) == {0o600}


def test_an_old_sqlite_is_refused():
    with pytest.raises(StoreRefused, match=r"3\.36\.0.*3\.37\.0"):
        refuse_old((3, 36, 0))


@pytest.mark.parametrize(
    ("version", "ours"),
    [
        ((3, 40, 1), True),
        ((3, 44, 5), True),
        ((3, 44, 6), False),
        ((3, 45, 0), True),
        ((3, 50, 6), True),
        ((3, 50, 7), False),
        ((3, 51, 2), True),
        ((3, 51, 3), False),
        ((3, 53, 0), False),
    ],
)
def test_checkpoints_are_ours_where_sqlites_own_are_unsafe(path, version, ours):
    assert Place(path, version=version).tends_log is ours


# -- the doctor ------------------------------------------------------------------------------------


def findings(place, connection=None):
    connection = connection or sqlite3.connect(":memory:")
    return {finding.name: finding for finding in doctor.examine(connection, place, deep=True)}


def test_a_good_store_has_nothing_worse_than_notes(store, monkeypatch):
    monkeypatch.setattr(doctor, "read_mounts", lambda: "x / ext4 rw 0 0\n")
    driver = open_sqlite(store.path.with_name("good.db"))
    driver.run(driver.installing.migrate(Migrate()))

    found = driver.run(driver.installing.check(Check(deep=True)))

    assert [each for each in found if each.level is not Level.NOTE] == []
    driver.close()


def test_a_check_of_a_missing_file_makes_none(path):
    driver = open_sqlite(path)

    found = {each.name for each in driver.run(driver.installing.check(Check(deep=True)))}

    assert "file" in found
    assert not path.exists()
    driver.close()


def test_the_doctor_names_a_network_filesystem(path, monkeypatch):
    monkeypatch.setattr(doctor, "read_mounts", lambda: "x / nfs rw 0 0\n")

    assert findings(Place(path))["filesystem"].level is Level.REFUSE


def test_the_doctor_names_a_place_that_does_not_last(path, monkeypatch):
    monkeypatch.setattr(doctor, "read_mounts", lambda: "x / overlay rw 0 0\n")

    assert findings(Place(path))["filesystem"].level is Level.WARN
    assert "filesystem" not in findings(Place(path, "volatile"))


def test_the_doctor_names_lax_rights(store):
    store.enqueue("a")
    store.path.chmod(0o666)

    finding = findings(Place(store.path))["file_mode"]

    assert (finding.level, finding.found) == (Level.WARN, "0666")
    assert "chmod 600" in finding.remedy


def test_the_doctor_names_a_full_disk(path, monkeypatch):
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: SimpleNamespace(free=2**20))

    assert findings(Place(path))["disk_space"].found == "1 MiB free"


def test_the_doctor_names_a_long_log_and_who_reads(store, monkeypatch):
    monkeypatch.setattr(doctor, "_LONG_LOG", 0)
    store.enqueue("a")
    with child("read", store.path) as reader:
        assert reader.stdout.readline() == "reading\n"
        found = findings(Place(store.path))["log_size"]
    quiet = findings(Place(store.path))["log_size"]

    assert found.level is Level.WARN
    assert f"read by python ({reader.pid})" in found.found.replace("python3", "python")
    assert "read by" not in quiet.found


LOCKS = """
1: POSIX  ADVISORY  READ 4711 fe:01:131 124 124
2: POSIX  ADVISORY  READ 4711 fe:01:131 128 128
3: POSIX  ADVISORY  READ 4712 fe:01:999 124 124
4: POSIX  ADVISORY  READ 0 fe:01:131 125 125
4: -> POSIX  ADVISORY  WRITE 4713 fe:01:131 125 125
5: POSIX  ADVISORY  WRITE 4714 fe:01:131 120 120
6: OFDLCK ADVISORY  READ -1 fe:01:131 0 EOF
7: FLOCK  ADVISORY  WRITE 4715 fe:01:131 0 EOF
8: POSIX  ADVISORY  WRITE 4716 fe:01:131 0 EOF
"""


def test_who_holds_a_snapshot_is_in_the_table_of_locks():
    assert list(holders(LOCKS, 131)) == [4711]


def test_where_nothing_is_told_nobody_reads(tmp_path, monkeypatch):
    assert readers(tmp_path / "missing-shm") == []
    monkeypatch.setattr(snapshots, "_LOCKS", tmp_path / "no-table")
    (tmp_path / "x-shm").touch()
    assert readers(tmp_path / "x-shm") == []


def test_the_doctor_names_weak_durability(store):
    store.enqueue("a")

    found = {
        each.name: each
        for each in store.driver.run(store.driver.installing.check(Check(deep=True)))
    }

    assert found["durability"].level is Level.WARN
    assert "volatile" in found["durability"].found


def test_the_doctor_names_old_libraries(path):
    assert findings(Place(path, version=(3, 36, 0)))["sqlite_version"].level is Level.REFUSE
    assert findings(Place(path, version=(3, 40, 1)))["wal_reset"].level is Level.NOTE
    assert "wal_reset" not in findings(Place(path, version=(3, 51, 3)))


def test_the_doctor_finds_damage_if_asked_to_look_for_it(store):
    store.enqueue(*(f"job-{number}" for number in range(500)))
    store.driver.close()
    with store.path.open("r+b") as file:
        file.seek(4 * 4096)
        file.write(b"\xff" * 10 * 4096)
    driver = open_sqlite(store.path)

    shallow, deep = (
        {each.name: each for each in driver.run(driver.installing.check(Check(deep=deep)))}
        for deep in (False, True)
    )

    assert "damage" not in shallow
    assert deep["damage"].level is Level.REFUSE
    driver.close()


def test_the_doctor_does_not_read_for_ever(store, monkeypatch):
    monkeypatch.setattr(doctor, "_CHECK_SECONDS", -1)
    store.enqueue(*(f"job-{number}" for number in range(5_000)))

    check = store.driver.installing.check(Check(deep=True))

    assert "damage" not in {each.name for each in store.driver.run(check)}


def test_the_doctor_names_a_log_without_its_database(path):
    path.touch()
    path.with_name(path.name + "-wal").write_bytes(b"x" * 100)

    assert findings(Place(path))["stray_log"].level is Level.WARN
