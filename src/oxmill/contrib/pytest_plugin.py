"""Fixtures for tests of code that enqueues jobs. Nothing is switched on unless a test asks for it.

A project says once, in its `conftest.py`, which app it tests:

    @pytest.fixture
    def oxmill_app():
        from shop.jobs import app

        return app

Its tests then use a store of their own, in memory, with a clock that stands still:

    def test_a_welcome_is_sent(oxmill_testing):
        signup("ann@example.org")
        oxmill_testing.assert_enqueued(send, "ann@example.org")
        oxmill_testing.run_all()
        assert oxmill_testing.succeeded(send) == 1
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from oxmill.app import App
    from oxmill.testing.harness import Testing


@pytest.fixture
def oxmill_app() -> App:
    """The app under test; a project puts its own in the place of this fixture."""
    raise pytest.UsageError(
        "the fixture oxmill_app is not defined; write one in conftest.py that returns your App"
    )


@pytest.fixture
def oxmill_testing(oxmill_app: App) -> Iterator[Testing]:
    """The app under test on a store in memory, with virtual time."""
    with oxmill_app.testing() as testing:
        yield testing
