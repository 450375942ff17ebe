"""The public types, as mypy --strict and pyright see them."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
PLANTED = {
    number
    for number, line in enumerate((HERE / "bad.py").read_text(encoding="utf-8").splitlines(), 1)
    if re.search(r"# E\d+ ", line)
}
REVEALED = {
    number: line.partition("# ")[2]
    for number, line in enumerate((HERE / "good.py").read_text(encoding="utf-8").splitlines(), 1)
    if line.startswith("reveal_type(")
}


def mypy(name):
    """What mypy says about a file: (line, severity, text)."""
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir",
         str(ROOT / ".mypy_cache" / "typing"), "--config-file", "", name],
        cwd=HERE, env={**os.environ, "MYPYPATH": str(HERE)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert not done.stderr, done.stderr
    found = re.findall(rf"^{re.escape(name)}:(\d+): (error|note): (.*)$", done.stdout, re.MULTILINE)
    stray = [line for line in done.stdout.splitlines() if not re.match(r"(good|bad)\.py:", line)]
    assert not stray, "\n".join(stray)
    return [(int(line), severity, text) for line, severity, text in found]


def pyright(name):
    """What pyright says about a file: (line, severity, text)."""
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, name],
        cwd=HERE, capture_output=True, text=True, check=False,
    )  # fmt: skip
    words = {"information": "note"}
    return [
        (
            each["range"]["start"]["line"] + 1,
            words.get(each["severity"], each["severity"]),
            each["message"],
        )
        for each in json.loads(done.stdout)["generalDiagnostics"]
    ]


CHECKERS = pytest.mark.parametrize("check", [mypy, pyright], ids=lambda check: check.__name__)


@CHECKERS
def test_right_uses_are_accepted_and_their_types_are_known(check):
    found = check("good.py")

    assert [each for each in found if each[1] == "error"] == []
    revealed = {
        line: _plain(re.search(r'(?:Revealed type is|Type of ".*" is) "(.*)"', text, re.DOTALL)[1])
        for line, severity, text in found
        if severity == "note" and line in REVEALED
    }
    assert revealed == {line: _plain(wanted) for line, wanted in REVEALED.items()}


@CHECKERS
def test_each_planted_mistake_is_found_and_nothing_else(check):
    found = {line for line, severity, _ in check("bad.py") if severity == "error"}

    assert found == PLANTED


def test_the_planted_mistakes_are_counted():
    assert len(PLANTED) == 36
    assert len(REVEALED) == 12


def _plain(shown):
    """A type in one spelling: the checkers write modules, parameters and defaults differently."""
    bare = re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Z])", "", shown)
    return re.sub(r'\s*=\s*("[^"]*")?|\s', "", bare).replace("[(", "[[").replace(")", "]")
