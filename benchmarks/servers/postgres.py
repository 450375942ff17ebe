"""A PostgreSQL server that syncs every commit."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from benchmarks.servers.server import answers, find, free_port, pattern, running, told

SETTINGS = "fsync on, synchronous_commit on, shared_buffers 256MB"
USER = "postgres"


@contextlib.contextmanager
def serve(folder: Path) -> Iterator[str]:
    """The URL of a fresh server."""
    port, data = free_port(), folder / "data"
    subprocess.run(["cp", "-a", str(_pattern()), str(data)], check=True)
    _give(folder)
    command = [*_as_user(), _program("postgres"), "-D", str(data), "-p", str(port)]
    command += ["-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={folder}"]
    command += ["-c", "shared_buffers=256MB", "-c", "max_connections=200"]
    url = f"postgresql://{USER}@127.0.0.1:{port}/postgres"
    ready = [find("psql"), url, "-qtAc", "SELECT 1"]
    with running(command, folder, lambda: answers(ready), end=signal.SIGQUIT):
        yield url


def come_to_rest(url: str) -> None:
    """Let what a new backlog has set off come to its end, as autovacuum and the checkpointer would
    within minutes."""
    for words in ("VACUUM (ANALYZE)", "CHECKPOINT"):
        told([find("psql"), url, "-qtAc", words])
    os.sync()


def stored_bytes(url: str) -> int:
    """The size of the database's files, empty database included."""
    told([find("psql"), url, "-qtAc", "CHECKPOINT"])
    return int(told([find("psql"), url, "-qtAc", "SELECT pg_database_size(current_database())"]))


def version() -> str:
    """The server's own words."""
    return told([_program("postgres"), "--version"]).split()[2]


@cache
def _pattern() -> Path:
    """A data folder to copy, made once."""
    folder = pattern()
    _give(folder)
    command = [*_as_user(), _program("initdb"), "-D", str(folder / "data"), "-U", USER]
    told([*command, "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C"])
    return folder / "data"


def _program(name: str) -> str:
    return find(name, *(str(path) for path in sorted(Path("/usr/lib/postgresql").glob("*/bin"))))


def _as_user() -> list[str]:
    """The server refuses to run as root."""
    if os.geteuid():
        return []
    return [find("setpriv"), f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]


def _give(folder: Path) -> None:
    if not os.geteuid():
        shutil.chown(folder, USER)
