"""Loads the .sql and .lua files that stand beside a driver, each once."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def load(package: str, name: str) -> str:
    """The text of one statement or script, without its header comment lines."""
    text = files(package).joinpath(name).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("--")]
    return "\n".join(lines).strip()
