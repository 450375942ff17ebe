"""Notices that Python files of a project have changed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

SKIPPED = frozenset(
    {"__pycache__", "node_modules", "site-packages", "venv", "env", "build", "dist"}
)
MOST_FILES = 5_000
"""A look stays cheap even where a home folder is watched by mistake."""


class Watch:
    """Compares the files under a folder with what they were at the last look."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen = self._look()

    def changed(self) -> bool:
        """Whether a file was added, removed or written since the last time this was asked."""
        before, self._seen = self._seen, self._look()
        return before != self._seen

    def _look(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for path in self._files():
            try:
                found[path] = os.stat(path).st_mtime_ns  # noqa: PTH116 (a Path per file is slow)
            except OSError:  # removed meanwhile
                continue
            if len(found) >= MOST_FILES:
                break
        return found

    def _files(self) -> Iterator[str]:
        for folder, folders, files in os.walk(self._folder):
            folders[:] = [
                name for name in folders if name not in SKIPPED and not name.startswith(".")
            ]
            for name in files:
                if name.endswith(".py"):
                    yield os.path.join(folder, name)  # noqa: PTH118
