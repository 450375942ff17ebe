"""Apps on every store, a clock to move, and one way to call both faces."""

import asyncio
from contextlib import ExitStack
from contextvars import copy_context

import pytest

from oxmill import App
from oxmill.connect import connect
from oxmill.testing.clock import VirtualClock

STORES = ["memory", "sqlite"]


@pytest.fixture
def clock():
    """The store's clock, which stands still unless moved."""
    return VirtualClock()


@pytest.fixture(params=STORES)
def url(request, tmp_path):
    """Where the store of this test is."""
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/jobs.db"


@pytest.fixture
def opened():
    """What to close at the end."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def new_app(url, clock, opened):
    """Makes apps on the store of this test, with its clock."""

    def make(**options):
        app = App(url, **options)
        driver = connect(url, clock=clock, doorbell=options.get("doorbell", True))
        opened.callback(driver.close)
        opened.enter_context(app._client.lend(driver))
        return app

    return make


@pytest.fixture
def app(new_app):
    """An app on the store of this test."""
    return new_app()


class Face:
    """Calls the blocking or the async form of a method."""

    def __init__(self, kind, runner):
        self.kind = kind
        self._runner = runner

    def __call__(self, owner, name, *args, **kwargs):
        if self.kind == "blocking":
            return getattr(owner, name)(*args, **kwargs)
        work = getattr(owner, f"a{name}")(*args, **kwargs)
        return self._runner.run(work, context=copy_context())


@pytest.fixture(params=["blocking", "async"])
def face(request):
    """Both faces of the API."""
    with asyncio.Runner() as runner:
        yield Face(request.param, runner)
