"""Tracebacks as text."""

import sys
import traceback

import pytest

from oxmill.rules import tracebacks
from oxmill.rules.tracebacks import MOST_FRAMES, traceback_text


class Odd(Exception):
    """An error from here."""


def caught(call):
    try:
        call()
    except BaseException as error:
        return error.with_traceback(error.__traceback__.tb_next)
    raise AssertionError


def plain():
    raise ConnectionError("no route", 7) from None


def marked():
    return {"a": [1]}["a"][0] / (1 - 1)  # Python marks the part that failed


def of_this_module():
    raise Odd


def chained():
    try:
        plain()
    except ConnectionError as error:
        raise ValueError("above") from error


def while_handling():
    try:
        plain()
    except ConnectionError:
        raise ValueError("meanwhile")  # noqa: B904


def noted():
    error = ValueError("with more")
    error.add_note("and this")
    raise error


def misspelled():
    return sys.versoin


def several():
    raise ExceptionGroup("both", [ValueError("one"), TypeError("two")])


def unparsable():
    compile("a b", "there.py", "exec")


def deep(n=10):
    return deep(n - 1) if n else plain()


def by_turns(n=MOST_FRAMES):
    return to_and_fro(n) if n else plain()


def to_and_fro(n):
    return by_turns(n - 1)


ERRORS = [
    plain, marked, of_this_module, chained, while_handling, noted, misspelled, several, unparsable,
    deep, by_turns,
]  # fmt: skip


@pytest.mark.parametrize("call", ERRORS, ids=lambda call: call.__name__)
def test_it_is_what_python_writes(call):
    for _ in range(2):  # the second time some of it is remembered
        error = caught(call)
        trace = error.__traceback__

        written = traceback.format_exception(type(error), error, trace, limit=-MOST_FRAMES)

        assert traceback_text(error, trace) == "".join(written)


def test_a_place_is_written_down_once(monkeypatch):
    first, second = caught(plain), caught(plain)
    traceback_text(first, first.__traceback__)
    monkeypatch.setattr(traceback, "format_tb", None)

    assert "no route" in traceback_text(second, second.__traceback__)


def test_no_more_places_are_remembered_than_a_bound(monkeypatch):
    frames = tracebacks.Frames()
    monkeypatch.setattr(tracebacks, "_REMEMBERED", 2)

    for call in (plain, marked, noted, of_this_module, plain):
        frames.text(caught(call).__traceback__)

    assert len(frames._texts) <= 2
