"""Every example runs, as a process of its own, and ends well."""

import pytest
from pages import ROOT
from running import run

EXAMPLES = sorted(folder for folder in (ROOT / "examples").iterdir() if folder.is_dir())


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_an_example_runs(folder, tmp_path):
    file = folder / f"{folder.name}.py"
    assert file.read_text(encoding="utf-8").startswith('"""'), "an example says what it shows"
    done = run(file, tmp_path, TMPDIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert done.stderr == ""


def test_there_are_examples():
    assert "demo" in [folder.name for folder in EXAMPLES]
