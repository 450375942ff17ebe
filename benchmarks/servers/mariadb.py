"""A MariaDB server that syncs every commit."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from functools import cache
from getpass import getuser
from pathlib import Path

from benchmarks.servers.server import answers, find, free_port, pattern, running, told

SETTINGS = "innodb_flush_log_at_trx_commit 1, no binary log, buffer pool 256M"


@contextlib.contextmanager
def serve(folder: Path) -> Iterator[str]:
    """The URL of a fresh server with an empty database."""
    port, data = free_port(), folder / "data"
    subprocess.run(["cp", "-a", str(_pattern()), str(data)], check=True)
    command = [find("mariadbd"), "--no-defaults", f"--datadir={data}", f"--user={getuser()}"]
    command += [
        f"--tmpdir={folder}",
        f"--socket={folder / 'socket'}",
        f"--port={port}",
        "--bind-address=127.0.0.1",
    ]
    command += ["--innodb-flush-log-at-trx-commit=1", "--innodb-buffer-pool-size=256M"]
    ready = [*_ask(port), "-e", "CREATE DATABASE IF NOT EXISTS bench"]
    with running(command, folder, lambda: answers(ready)):
        yield f"mysql://root@127.0.0.1:{port}/bench"


def come_to_rest(_: str) -> None:
    """Let what a new backlog has set off come to its end: the kernel writes it to the disk."""
    os.sync()


def stored_bytes(url: str) -> int:
    """The size of the tables' files."""
    asked = "SELECT COALESCE(SUM(FILE_SIZE), 0) FROM information_schema.INNODB_SYS_TABLESPACES"
    port = int(url.rpartition(":")[2].partition("/")[0])
    return int(told([*_ask(port), "-Ne", f"{asked} WHERE NAME LIKE 'bench/%'"]))


def version() -> str:
    """The server's own words."""
    return told([find("mariadbd"), "--version"]).split("Ver ")[1].split()[0]


@cache
def _pattern() -> Path:
    """A data folder to copy, made once."""
    data = pattern() / "data"
    command = [find("mariadb-install-db"), "--no-defaults", f"--datadir={data}"]
    told([*command, f"--user={getuser()}", "--auth-root-authentication-method=normal"])
    return data


def _ask(port: int) -> list[str]:
    return [find("mariadb"), "--no-defaults", "-h127.0.0.1", f"-P{port}", "-uroot"]
