"""A Redis server with an append-only log that is synced every second."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.servers.server import answers, find, free_port, running, told

SETTINGS = "appendonly yes, appendfsync everysec, no snapshots, log not rewritten meanwhile"


@contextlib.contextmanager
def serve(folder: Path) -> Iterator[str]:
    """The URL of a fresh server."""
    port = free_port()
    command = [find("redis-server"), "--port", str(port), "--bind", "127.0.0.1"]
    command += ["--dir", str(folder), "--save", "", "--loglevel", "warning"]
    command += ["--appendonly", "yes", "--appendfsync", "everysec"]
    # A run of seconds would have one or none, as chance has it: a child that uses a processor for its length.
    command += ["--auto-aof-rewrite-percentage", "0"]
    with running(command, folder, lambda: answers([*_ask(port), "PING"])):
        yield f"redis://127.0.0.1:{port}/0"


def come_to_rest(url: str) -> None:
    """Let what a new backlog sets off come to its end: its log is rewritten, now, and not while a clock runs."""
    told([*_ask(_port(url)), "BGREWRITEAOF"])
    while any(
        _fact(url, "persistence", f"aof_rewrite_{how}") for how in ("scheduled", "in_progress")
    ):
        time.sleep(0.1)
    os.sync()


def stored_bytes(url: str) -> int:
    """Memory in use, empty server included."""
    return _fact(url, "memory", "used_memory")


def _fact(url: str, section: str, name: str) -> int:
    facts = told([*_ask(_port(url)), "INFO", section]).splitlines()
    return next(int(line.partition(":")[2]) for line in facts if line.startswith(f"{name}:"))


def version() -> str:
    """The server's own words."""
    return told([find("redis-server"), "--version"]).split("v=")[1].split()[0]


def _port(url: str) -> int:
    return int(url.rpartition(":")[2].partition("/")[0])


def _ask(port: int) -> list[str]:
    return [find("redis-cli"), "-p", str(port)]
