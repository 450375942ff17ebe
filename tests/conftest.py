"""What all tests share: a clean environment and one Hypothesis profile."""

import gc
import os
import signal

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "oxmill",
    deadline=None,  # a shared machine is slow at times; pytest-timeout bounds every test
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("oxmill")

# A shell that runs the tests in the background lets them ignore Ctrl-C, and so would every process
# that they start to be interrupted.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Tens of thousands of tests stay until the end: no collector of garbage goes through them, neither
    while they are found nor for each test."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch):
    """Nothing in the developer's own environment changes what a test sees."""
    for name in list(os.environ):
        if name.startswith("OXMILL_") or name in {"NO_COLOR", "CLICOLOR_FORCE"}:
            monkeypatch.delenv(name)
