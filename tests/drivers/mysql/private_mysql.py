"""Private MariaDB or MySQL servers for tests: own port, own folder, stopped by their process id."""

import atexit
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
from functools import cache, cached_property
from itertools import count
from pathlib import Path

import pymysql
from pymysql.constants import CLIENT

START = 30.0
_numbers = count(1)
_chance = random.SystemRandom()  # libraries seed the usual one alike in all processes


def binary():
    """The server to test; `MYSQL_SERVER_UNDER_TEST` names another than the one on the path."""
    return (
        os.environ.get("MYSQL_SERVER_UNDER_TEST")
        or shutil.which("mariadbd")
        or shutil.which("mariadbd", path="/usr/sbin:/usr/local/sbin")
    )


def free_port():
    """A port that nobody uses now.

    Below the range from which the kernel gives out ports, so that it is still free when a killed
    server comes back.
    """
    while True:
        port = _chance.randint(10_000, 29_999)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


@cache
def template():
    """An empty data folder, made once and copied for each server."""
    folder = Path(tempfile.mkdtemp(prefix="oxmill-mysql-template-"))
    words = [
        shutil.which("mariadb-install-db") or "mariadb-install-db",
        "--no-defaults",
        f"--datadir={folder}",
        "--auth-root-authentication-method=normal",
        "--skip-test-db",
        *_as_root(),
    ]
    with (
        tempfile.TemporaryDirectory() as own
    ):  # a server that starts deletes what others have in theirs
        environment = {**os.environ, "TMPDIR": own}
        subprocess.run(words, check=True, capture_output=True, timeout=60, env=environment)
    return folder


def _as_root():
    return ["--user=root"] if os.geteuid() == 0 else []


class Server:
    """One server process."""

    def __init__(self, path, *options, port=None):
        self.path = Path(path)
        self.port = port or free_port()
        self.options = [str(option) for option in options]
        self.process = None
        self.killed = False

    @property
    def url(self):
        return f"mysql://root@127.0.0.1:{self.port}"

    def start(self):
        data = self.path / "data"
        if not data.exists():
            self.path.mkdir(parents=True, exist_ok=True)
            shutil.copytree(template(), data)
        words = [
            binary(),
            "--no-defaults",
            *_as_root(),
            f"--datadir={data}",
            f"--tmpdir={self.path}",  # a server that starts deletes what others have in theirs
            f"--socket={self.path / 's'}",
            f"--pid-file={self.path / 'pid'}",
            "--bind-address=127.0.0.1",
            f"--port={self.port}",
            "--innodb-buffer-pool-size=128M",
            "--innodb-log-file-size=64M",
            "--character-set-server=latin1",  # the driver must not lean on a kind default
            *self.options,
        ]
        with (self.path / "server.log").open("ab") as log:
            self.process = subprocess.Popen(words, stdout=log, stderr=log)
        self.killed = False
        self.wait()
        return self

    def wait(self):
        """Until it answers."""
        deadline = time.monotonic() + START
        while True:
            try:
                ((folder,),) = self.ask("SELECT @@datadir")
                assert Path(folder).parent.samefile(self.path), "this is somebody else's server"
                return
            except pymysql.err.Error:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    @contextlib.contextmanager
    def client(self, database=None):
        """A connection past the driver, for looking and for making trouble."""
        client = self._connect(database)
        try:
            yield client
        finally:
            client.close()

    def _connect(self, database, **more):
        return pymysql.connect(
            host="127.0.0.1",
            port=self.port,
            user="root",
            database=database,
            autocommit=True,
            connect_timeout=5,
            ssl_disabled=True,
            read_timeout=240,
            **more,
        )

    def ask(self, text, database=None):
        """The rows of one statement."""
        with self.client(database) as client, client.cursor() as cursor:
            cursor.execute(text)
            return cursor.fetchall()

    def database(self):
        """The URL of a new, empty database."""
        name = f"ox_{os.getpid()}_{next(_numbers)}"
        self.ask(f"CREATE DATABASE {name}")
        return f"{self.url}/{name}"

    @cached_property
    def _usual(self):
        return self.database()

    @cached_property
    def _wiper(self):
        name = self._usual.rpartition("/")[2]
        return self._connect(name, client_flag=CLIENT.MULTI_STATEMENTS)

    @cached_property
    def _wiping(self):
        """What empties every table, for one round trip."""
        tables = "SELECT table_name FROM information_schema.tables WHERE table_type = 'BASE TABLE'"
        with self._wiper.cursor() as cursor:
            cursor.execute(f"{tables} AND table_schema = DATABASE()")
            names = {name for (name,) in cursor.fetchall()}
        kept = {"oxmill_migrations", "oxmill_identity", "oxmill_turns"}
        steps = [f"DELETE FROM {name}" for name in sorted(names - kept)]
        return "; ".join([*steps, "UPDATE oxmill_turns SET number = 0"])

    def emptied(self):
        """The URL of a database that is used again and again: to make one takes far longer than to
        empty its tables."""
        if "_usual" in vars(self):  # a test before this one has made the tables
            with self._wiper.cursor() as cursor:
                cursor.execute(self._wiping)
                while cursor.nextset():
                    pass
        return self._usual

    def kill(self):
        """As a power cut for the process."""
        self.killed = True
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
        elif self.process is not None and not self.killed:
            log = (self.path / "server.log").read_text(errors="replace")
            print(f"the server has crashed:\n{log[-20_000:]}", file=sys.__stderr__)
        self.process = None
        shutil.rmtree(self.path, ignore_errors=True)


MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""Where a server that survives nothing is fastest."""
QUICK = ("--innodb-flush-log-at-trx-commit=2", "--skip-innodb-doublewrite")
"""For tests that cut no power."""


@cache
def shared_server():
    """One server without waits for the disk; each test uses a database of its own."""
    return Server(tempfile.mkdtemp(prefix="oxmill-mysql-", dir=MEMORY), *QUICK).start()


@atexit.register
def stop_shared():
    """At the end of all tests."""
    if shared_server.cache_info().currsize:
        shared_server().stop()
    if template.cache_info().currsize:
        shutil.rmtree(template(), ignore_errors=True)
