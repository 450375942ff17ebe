"""The pytest plugin, in a project of its own."""

import pytest

pytest_plugins = ["pytester"]

PROJECT = """
from oxmill import App

app = App("memory://")

@app.task
def send(to: str) -> int:
    return len(to)
"""


@pytest.fixture
def project(pytester):
    pytester.makepyfile(shop=PROJECT)
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    return pytester


def test_a_project_names_its_app_and_uses_the_fixture(project):
    project.makeconftest(
        """
        import pytest

        @pytest.fixture
        def oxmill_app():
            from shop import app

            return app
        """
    )
    project.makepyfile(
        """
        from shop import send

        def test_one(oxmill_testing):
            send.enqueue("ann")
            oxmill_testing.assert_enqueued(send, "ann")
            oxmill_testing.run_all()
            assert oxmill_testing.succeeded(send) == 1

        def test_two(oxmill_testing):
            oxmill_testing.refute_enqueued(send)
        """
    )

    project.runpytest_subprocess("-q").assert_outcomes(passed=2)


def test_a_project_without_an_app_is_told_what_to_write(project):
    project.makepyfile("def test_one(oxmill_testing): ...")

    result = project.runpytest_subprocess("-q")

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*write one in conftest.py that returns your App*"])


def test_without_the_fixture_nothing_is_loaded(project):
    project.makepyfile(
        """
        import sys

        def test_one():
            assert "oxmill.testing.harness" not in sys.modules
            assert "msgspec" not in sys.modules
        """
    )

    project.runpytest_subprocess("-q", "-p", "no:cacheprovider").assert_outcomes(passed=1)
