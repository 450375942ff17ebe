"""What a single enqueue costs in calls of functions: after each wait for the disk all of them are
cold, so their number tells more than a clock on a busy machine."""

import gc
import sys

import pytest

from oxmill import App

PYTHON, NATIVE = 18, 27
"""Calls of our own functions, and of functions written in C."""


@pytest.fixture
def app(tmp_path):
    app = App(f"sqlite:///{tmp_path}/jobs.db")
    yield app
    app.close()


def calls_of(act):
    """The names of all functions that are called meanwhile, but for what hangs on the garbage
    collector (Hypothesis does), which would run whenever its time happens to come."""
    found = {"call": [], "c_call": []}

    def note(frame, event, arg):
        if event == "call":
            found["call"].append(frame.f_code.co_qualname)
        elif event == "c_call":
            found["c_call"].append(arg.__qualname__)

    gc.disable()
    sys.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(None)
        gc.enable()
    return found["call"][1:], found["c_call"][:-1]  # without the given function, and setprofile


def test_a_single_enqueue_makes_few_calls_on_its_way(app):
    @app.task
    def send(text: str) -> None: ...

    for _ in range(20):
        send.enqueue("warm")

    counts = [calls_of(lambda: send.enqueue("cold")) for _ in range(5)]
    python, native = sorted(counts, key=lambda found: len(found[0]))[2]  # the middle one

    assert len(python) <= PYTHON, python
    assert len(native) <= NATIVE, native
