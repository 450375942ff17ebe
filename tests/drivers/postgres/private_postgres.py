"""Private servers for tests: own port, own folder, stopped by their process id."""

import contextlib
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from functools import cache
from itertools import count
from pathlib import Path

import psycopg

START = 30.0
FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
"""For tests that lose no power."""


def programs():
    """The folder of the server's programs; `POSTGRES_UNDER_TEST` names another."""
    named = os.environ.get("POSTGRES_UNDER_TEST")
    if named:
        return Path(named)
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if found:
        return found[-1].parent
    there = shutil.which("postgres")
    return Path(there).resolve().parent if there else None


def free_port():
    """A port that nobody uses now, below those that the kernel gives out."""
    while True:
        port = random.randint(10_000, 29_999)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def _user():
    """PostgreSQL refuses to run as root."""
    if os.getuid() != 0:
        return {}
    person = pwd.getpwnam("postgres" if _there("postgres") else "nobody")
    return {"user": person.pw_uid, "group": person.pw_gid, "extra_groups": []}


def _there(name):
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


class Server:
    """One server process and its folder."""

    def __init__(self, path=None, *, port=None, **settings):
        self.path = Path(path or tempfile.mkdtemp(prefix="oxmill-pg-"))
        self.path.chmod(0o755)
        self.data = self.path / "data"
        self.port = port or free_port()
        self.settings = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "max_connections": 60,
            "shared_buffers": "64MB",
            "logging_collector": "off",
            "log_min_messages": "fatal",
            "log_min_error_statement": "panic",
            "max_wal_size": "1GB",
        } | settings
        self.process = None

    @property
    def url(self):
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def init(self):
        user = _user()
        if user:
            os.chown(self.path, user["user"], user["group"])
        words = [programs() / "initdb", "-D", self.data, "-A", "trust", "-U", "postgres"]
        words += ["--no-sync", "-E", "UTF8", "--locale=C", "--no-instructions"]
        subprocess.run(
            words, check=True, stdout=subprocess.DEVNULL, cwd="/", env=_environment(), **user
        )
        return self

    def start(self):
        if not self.data.exists():
            self.init()
        words = [programs() / "postgres", "-D", self.data, "-p", str(self.port)]
        for name, value in self.settings.items():
            words += ["-c", f"{name}={value}"]
        with (self.path / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                words, stdout=log, stderr=log, cwd="/", env=_environment(), **_user()
            )
        self.wait()
        return self

    def wait(self):
        """Until it answers."""
        deadline = time.monotonic() + START
        while True:
            try:
                with self.client():
                    return
            except psycopg.OperationalError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    print((self.path / "server.log").read_text()[-2000:])
                    raise
                time.sleep(0.02)

    @contextlib.contextmanager
    def client(self):
        with psycopg.connect(self.url, autocommit=True, connect_timeout=5) as connection:
            yield connection

    def ask(self, sql, *values):
        with self.client() as client:
            cursor = client.execute(sql, values or None)
            return cursor.fetchall() if cursor.description else []

    def kill(self):
        """As a power cut for the processes: no child may go on."""
        children = _children(self.process.pid)
        for pid in (self.process.pid, *children):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(10)
        (self.data / "postmaster.pid").unlink(missing_ok=True)

    def freeze(self):
        for pid in (self.process.pid, *_children(self.process.pid)):
            os.kill(pid, signal.SIGSTOP)

    def thaw(self):
        for pid in (self.process.pid, *_children(self.process.pid)):
            os.kill(pid, signal.SIGCONT)

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait(20)
        shutil.rmtree(self.path, ignore_errors=True)


def _environment():
    return {"PATH": os.environ["PATH"], "LC_ALL": "C", "TZ": "UTC"}


def _children(pid):
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in text.split()]


@cache
def shared_server():
    """One fast server; each test uses a schema of its own."""
    return Server(autovacuum="off", **FAST).start()


@cache
def _wiper():
    return psycopg.connect(shared_server().url, autocommit=True)


def clean_url():
    """The URL of a schema for one test at a time: making one takes longer than most tests."""
    schema = f"t{os.getpid()}"
    tables = _wiper().execute(
        "SELECT relname FROM pg_class WHERE relkind = 'r' AND relname NOT IN ('migrations', 'identity')"
        " AND relnamespace = to_regnamespace(%s)",
        [schema],
    )
    wipe = [f"DELETE FROM {schema}.{name}" for (name,) in tables]
    if wipe:
        wipe += [
            f"ALTER SEQUENCE {schema}.{name} RESTART" for name in ("numbers", "events_seq_seq")
        ]
    _wiper().execute("; ".join(wipe) or "SELECT 1")
    return f"{shared_server().url}?schema={schema}"


_numbers = count(1)


def schema_url(server=None, **words):
    """The URL of a schema that no test has used."""
    server = server or shared_server()
    query = {"schema": f"t{os.getpid()}_{next(_numbers)}"} | words
    return f"{server.url}?{'&'.join(f'{k}={v}' for k, v in query.items())}"
