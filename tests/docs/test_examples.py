"""Every example runs, as a process of its own, and ends well."""

import os
import subprocess
import sys

import pytest
from pages import ROOT

EXAMPLES = sorted(folder for folder in (ROOT / "examples").iterdir() if folder.is_dir())


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_an_example_runs(folder, tmp_path):
    file = folder / f"{folder.name}.py"
    assert file.read_text(encoding="utf-8").startswith('"""'), "an example says what it shows"
    done = subprocess.run(
        [sys.executable, "-W", "error", str(file)],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert done.stderr == ""


def test_there_are_examples():
    assert "demo" in [folder.name for folder in EXAMPLES]
