"""Where and with what a run was made."""

from __future__ import annotations

import os
import platform
import subprocess
from argparse import Namespace
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

from benchmarks.measuring import server_of

PACKAGES = ("msgspec", "uvloop", "redis", "hiredis", "psycopg", "asyncpg", "pymysql", "mysqlclient")


def describe(stores: Sequence[str], options: Namespace) -> dict[str, str]:
    """Versions, settings, machine and commit."""
    found = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": _git("rev-parse", "--short", "HEAD")
        + ("+" if _git("status", "--porcelain") else ""),
        "machine": f"{os.cpu_count()} cores, {_memory()} GiB, {platform.system()} {platform.release()}",
        "load before": " ".join(f"{load:.1f}" for load in os.getloadavg()),
        "python": platform.python_version(),
        "packages": ", ".join(
            f"{name} {number}" for name in PACKAGES if (number := _version(name))
        ),
    }
    if options.note:
        found["note"] = options.note
    if options.scale != 1:
        found["scale"] = f"{options.scale:g} of the usual number of jobs"
    for store in stores:
        server = server_of(store)
        found[store] = f"{server.version()}; {server.SETTINGS}"
    return found


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _memory() -> int:
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
