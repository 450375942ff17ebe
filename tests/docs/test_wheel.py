"""What people install: the wheel holds every file that the code reads, and works by itself."""

import subprocess
import sys
from zipfile import ZipFile

import pytest
from pages import ROOT, program
from running import run

SOURCES = ROOT / "src"
DATA = ("*.sql", "*.lua", "py.typed")


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """The wheel of this tree, built without a package index, and unpacked."""
    pytest.importorskip("hatchling", reason="the build backend is in the dependency group dev")
    folder = tmp_path_factory.mktemp("wheel")
    build = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", build, str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    with ZipFile(folder / done.stdout.split()[-1]) as wheel:
        wheel.extractall(folder / "unpacked")
    return folder / "unpacked"


def test_every_file_that_the_code_reads_is_in_the_wheel(unpacked):
    files = [file.relative_to(SOURCES) for kind in DATA for file in SOURCES.rglob(kind)]
    assert {file.suffix for file in files} == {".sql", ".lua", ".typed"}
    assert [str(file) for file in files if not (unpacked / file).is_file()] == []


def test_every_module_is_in_the_wheel(unpacked):
    modules = [file.relative_to(SOURCES) for file in SOURCES.rglob("*.py")]
    assert [str(file) for file in modules if not (unpacked / file).is_file()] == []


def test_the_first_program_of_the_readme_runs_from_the_wheel_alone(unpacked, tmp_path):
    file = tmp_path / "app.py"
    told = "import oxmill\nprint(oxmill.__file__)\n"
    file.write_text(program(ROOT / "README.md") + told, encoding="utf-8")
    done = run(file, tmp_path, PYTHONPATH=str(unpacked))

    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(unpacked / "oxmill" / "__init__.py")
