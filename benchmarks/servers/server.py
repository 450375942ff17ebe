"""Private throwaway servers: own port, own folder, stopped by their process id."""

from __future__ import annotations

import atexit
import contextlib
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

START = 60.0


def find(program: str, *more: str) -> str:
    """The program's path, or the end of this run with a word about it."""
    path = ":".join(("/usr/local/bin:/usr/bin:/usr/sbin", *more))
    found = shutil.which(program) or shutil.which(program, path=path)
    if found is None:
        raise SystemExit(f"there is no {program} here; install it, or leave its store out")
    return found


def free_port() -> int:
    """A port that nobody uses now, below those that the kernel gives out."""
    while True:
        port = random.randint(10_000, 29_999)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def pattern() -> Path:
    """A folder for a data folder to copy from; gone when this process ends."""
    folder = Path(tempfile.mkdtemp(prefix="oxmill-bench-pattern-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@contextlib.contextmanager
def running(
    command: Sequence[str],
    folder: Path,
    ready: Callable[[], bool],
    end: signal.Signals = signal.SIGKILL,
) -> Iterator[None]:
    """The server while the block runs, from the moment that it answers."""
    with (folder / "server.log").open("ab") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + START
        while not ready():
            if process.poll() is not None or time.monotonic() > deadline:
                said = (folder / "server.log").read_text(errors="replace")[-2_000:]
                raise SystemExit(f"{command[0]} did not start:\n{said}")
            time.sleep(0.02)
        yield
    finally:
        process.send_signal(end)
        process.wait(30)


def answers(command: Sequence[str]) -> bool:
    """Whether a command ends well."""
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def told(command: Sequence[str]) -> str:
    """What a command prints."""
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.strip()
