"""What is unsafe about a database file and its place."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import time
from collections.abc import Iterator
from typing import Final

from oxmill.drivers.sqlite.connection import OLDEST, SYNCHRONOUS, WAL_RESET_FIXED, Place
from oxmill.drivers.sqlite.filesystem import (
    check_folder,
    filesystem_of,
    is_remote,
    read_mounts,
)
from oxmill.drivers.sqlite.migrating import schema_of
from oxmill.drivers.sqlite.snapshots import readers
from oxmill.model.info import Finding, Level

_LITTLE_DISK: Final = 256 * 1024 * 1024
_LONG_LOG: Final = 64 * 1024 * 1024
_CHECK_SECONDS: Final = 2.0
_FLEETING: Final = frozenset({"tmpfs", "ramfs", "overlay"})


def examine(connection: sqlite3.Connection, place: Place, *, deep: bool) -> tuple[Finding, ...]:
    """Every finding, worst first; `StoreRefused` if there cannot be a file there. Writes nothing."""
    check_folder(place.path)
    findings = [
        *_library(place),
        *_filesystem(place),
        *_file(place),
        *_space(place),
        *_settings(connection, place),
        *_content(connection, place, deep=deep),
    ]
    order = list(Level)
    return tuple(sorted(findings, key=lambda finding: order.index(finding.level)))


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _library(place: Place) -> Iterator[Finding]:
    if place.version < OLDEST:
        yield Finding(
            level=Level.REFUSE,
            name="sqlite_version",
            found=_dotted(place.version),
            wanted=f"{_dotted(OLDEST)} or newer",
            risk="the schema cannot be installed",
            remedy="use a Python that is linked to a newer SQLite",
        )
    elif place.tends_log:
        yield Finding(
            level=Level.NOTE,
            name="wal_reset",
            found=_dotted(place.version),
            wanted=f"{_dotted(WAL_RESET_FIXED)} or newer",
            risk="SQLite's own checkpoints could lose data in this version. Oxmill makes them "
            "itself while nobody writes; other programs that write to the file would not",
            remedy="use a Python with a newer SQLite, and do not write to the file with other tools",
        )
    if sqlite3.threadsafety == 0:
        yield Finding(
            level=Level.REFUSE,
            name="thread_safety",
            found="single-threaded",
            wanted="serialized or multi-threaded",
            risk="two threads in SQLite at once corrupt memory",
            remedy="use a Python whose SQLite was compiled with THREADSAFE=1",
        )


def _filesystem(place: Place) -> Iterator[Finding]:
    kind = filesystem_of(place.path.parent.resolve(), read_mounts())
    if is_remote(kind):
        yield Finding(
            level=Level.REFUSE,
            name="filesystem",
            found=kind,
            wanted="a local disk",
            risk="locks and shared memory do not hold there, so jobs can be lost or run twice",
            remedy="move the file to a local disk, or use a server as the store",
        )
    elif kind in _FLEETING and place.mode != "volatile":
        yield Finding(
            level=Level.WARN,
            name="filesystem",
            found=kind,
            wanted="a local disk or a mounted volume",
            risk="all jobs are lost when the container or the host goes",
            remedy="put the file on a disk or a volume that outlives them",
        )
    elif not kind:
        yield Finding(
            level=Level.NOTE,
            name="filesystem",
            found="unknown",
            wanted="a local disk",
            risk="on a network filesystem jobs could be lost",
            remedy="make sure that the file is on a local disk",
        )


def _file(place: Place) -> Iterator[Finding]:
    if not place.path.exists():
        yield Finding(
            level=Level.NOTE,
            name="file",
            found="missing",
            wanted=str(place.path),
            risk="none: the file is made at first use",
            remedy="nothing to do; or run `oxmill db migrate`",
        )
        return
    about = place.path.stat()
    mode = stat.S_IMODE(about.st_mode)
    if mode & 0o077:
        yield Finding(
            level=Level.WARN,
            name="file_mode",
            found=f"{mode:04o}",
            wanted="0600",
            risk="other users of this host can read the payloads"
            + (" and change jobs" if mode & 0o022 else ""),
            remedy=f"chmod 600 {place.path}",
        )
    if about.st_uid != os.geteuid():
        yield Finding(
            level=Level.WARN,
            name="file_owner",
            found=f"uid {about.st_uid}",
            wanted=f"uid {os.geteuid()}",
            risk="SQLite may make files beside it that its owner cannot open",
            remedy="run all processes as the user that owns the file",
        )


def _space(place: Place) -> Iterator[Finding]:
    free = shutil.disk_usage(place.path.parent).free
    if free < _LITTLE_DISK:
        yield Finding(
            level=Level.WARN,
            name="disk_space",
            found=f"{free // 2**20} MiB free",
            wanted=f"{_LITTLE_DISK // 2**20} MiB or more",
            risk="when the disk is full nothing can be enqueued or settled",
            remedy="free some space, or keep ended jobs for a shorter time",
        )
    if place.log.exists() and (size := place.log.stat().st_size) > _LONG_LOG:
        yield Finding(
            level=Level.WARN,
            name="log_size",
            found=", read by ".join([f"{size // 2**20} MiB", *_who_reads(place)]),
            wanted=f"{_LONG_LOG // 2**20} MiB or less",
            risk="reads become slow and the disk fills up",
            remedy="end long reads of the database: a sqlite3 shell, an export, a backup; the log is "
            "cut by itself then",
        )


def _who_reads(place: Place) -> list[str]:
    names = readers(place.index)
    return [", ".join(names)] if names else []


def _settings(connection: sqlite3.Connection, place: Place) -> Iterator[Finding]:
    if schema_of(connection).current == 0:
        return
    (journal,) = connection.execute("PRAGMA journal_mode").fetchone()
    if journal != "wal":
        yield Finding(
            level=Level.WARN,
            name="journal_mode",
            found=journal,
            wanted="wal",
            risk="readers and writers block each other",
            remedy="nothing to do: it is set at the next start of any process that uses the file",
        )
    if place.mode != "durable":
        yield Finding(
            level=Level.WARN,
            name="durability",
            found=f"mode={place.mode} (synchronous={SYNCHRONOUS[place.mode]})",
            wanted="mode=durable (synchronous=FULL)",
            risk="a power failure loses the newest jobs"
            if place.mode == "process"
            else "a power failure may lose all jobs and damage the file",
            remedy="leave out the mode, unless these jobs may be lost",
        )


def _content(connection: sqlite3.Connection, place: Place, *, deep: bool) -> Iterator[Finding]:
    """A look for damage if asked for, given up after a short time: large files are not read to the end."""
    if schema_of(connection).current == 0:
        if place.log.exists() and place.log.stat().st_size and not place.path.stat().st_size:
            yield _stray_log(place)
        return
    if not deep:
        return
    deadline = time.monotonic() + _CHECK_SECONDS
    connection.set_progress_handler(lambda: int(time.monotonic() > deadline), 10_000)
    try:
        (answer,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.OperationalError:  # the time was up
        return
    finally:
        connection.set_progress_handler(None, 0)
    if answer != "ok":
        yield Finding(
            level=Level.REFUSE,
            name="damage",
            found=answer,
            wanted="ok",
            risk="jobs can be lost or come back",
            remedy="stop all processes, keep a copy of the file with its -wal file, and restore a "
            "backup or use `sqlite3 old.db .recover | sqlite3 new.db`",
        )


def _stray_log(place: Place) -> Finding:
    return Finding(
        level=Level.WARN,
        name="stray_log",
        found=f"{place.log} beside an empty database",
        wanted="a database and its own log",
        risk="the log may hold jobs of a database that was moved or deleted",
        remedy="put the database back beside its -wal file before anything opens it",
    )
