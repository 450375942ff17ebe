"""What tests of transactions share: an app, what is in its store, and Django without a project."""

from contextlib import contextmanager

import django
import django.conf
from django.db import connections
from django.db.utils import ConnectionHandler

from oxmill.model.query import Find, Get


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
