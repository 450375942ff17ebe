"""What tests of transactions share: an app, what is in its store, and Django without a project."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import django
import django.conf
from django.db import connections, transaction
from django.db.utils import ConnectionHandler

from oxmill.model.query import Find, Get
from oxmill.model.state import State
from oxmill.queue.context import Context

CHILD = Path(__file__).parent / "transaction_child.py"


class Stage:
    """An app, where its store is, and a task."""

    def __init__(self, app, path):
        self.app = app
        self.path = path
        self.ran = []

        @app.task
        def send(to: str) -> str:
            self.ran.append(to)
            return to

        self.send = send

    def record(self, job_id):
        found = self.app.driver.run(self.app.driver.inspecting.get(Get(ids=(job_id,))))
        return found[0] if found else None

    def there(self):
        """The payloads of all jobs, in order of arrival."""
        page = self.app.driver.run(self.app.driver.inspecting.find(Find(limit=1000)))
        return [self._argument(job) for job in reversed(page.jobs) if job.task == self.send.name]

    def _argument(self, job):
        args, kwargs = self.send.decode_arguments(job.payload)
        return (*args, *kwargs.values())[0]

    def count(self, queue="default"):
        return self.app.queue(queue).counts()


@contextmanager
def django_connection(engine, **settings):
    """A connection of Django's, under an alias of its own."""
    if not django.conf.settings.configured:
        django.conf.settings.configure(USE_TZ=True)
        django.setup()
    alias = "oxmill"
    given = {"ENGINE": engine, **settings}
    connections.settings[alias] = ConnectionHandler({"default": given}).settings["default"]
    try:
        yield connections[alias]
    finally:
        connections[alias].close()
        del connections[alias]
        del connections.settings[alias]


def completed_by_django(stage, connection, orders):
    """A run's end and what it wrote are one transaction of Django's."""
    job = stage.send.enqueue("ann")
    lease = stage.app.queue("default").lease("60s")
    context = Context(lease.job, None, stage.send)

    def write(name):
        with connection.cursor() as cursor:
            cursor.execute(f"INSERT INTO orders VALUES ('{name}')")

    with suppress(ZeroDivisionError), transaction.atomic(using="oxmill"):
        write("dropped")
        context.complete_in(connection, "dropped")
        raise ZeroDivisionError
    assert (stage.record(job.id).state, orders()) == (State.RUNNING, [])
    with transaction.atomic(using="oxmill"):
        write("one")
        context.complete_in(connection, "done")
    record = stage.record(job.id)
    assert (record.state, record.result) == (State.SUCCEEDED, b'"done"')
    assert orders() == ["one"]


def killed_after_commit(stage, where, connect, folder):
    """A worker, or its child process, is killed right after the commit of the run's transaction: the
    job has run once, is done, and nobody gets it again."""
    env = {"TX_FOLDER": str(folder), "TX_WHERE": where, "TX_URL": stage.app.url}
    env = {**os.environ, **env, "TX_CONNECT": connect}
    with subprocess.Popen([sys.executable, CHILD], env=env, start_new_session=True) as process:
        try:
            wait_until(lambda: (folder / "committed").exists() or process.poll() is not None)
            os.kill(int((folder / "committed").read_text()), signal.SIGKILL)
            if where == "child":
                wait_until((folder / "idle").exists)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
    (job,) = stage.app.jobs()
    assert (job.state, job.attempt, job.failures) == (State.SUCCEEDED, 1, 0)
    assert stage.app.queue("default").lease("1s", wait="100ms") is None


def wait_until(condition, seconds=30):
    """Wait for a condition that another thread or process brings about."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition did not come about"
        time.sleep(0.002)
