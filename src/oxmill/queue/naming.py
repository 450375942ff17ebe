"""What a task is called when nobody names it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def task_name(fn: Callable[..., Any]) -> str:
    """`module:qualname`, the same in every process that declares the function.

    A file that is run is called `__main__` in its own process only, so its jobs carry the name that
    a worker, which imports it, will know.
    """
    module = fn.__module__
    return f"{_main_module() if module == '__main__' else module}:{fn.__qualname__}"


def place_of(thing: object) -> str | None:
    """`module:name` under which another process can import this very object, if it can."""
    for name, module in list(sys.modules.items()):
        for attribute, value in list(getattr(module, "__dict__", {}).items()):
            if value is thing and attribute.isidentifier():
                return f"{_main_module() if name == '__main__' else name}:{attribute}"
    return None


def _main_module() -> str:
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if spec is not None:  # python -m package.module
        return str(spec.name)
    file = getattr(main, "__file__", None)
    return _dotted(Path(file).resolve()) if file else "__main__"


def _dotted(file: Path) -> str:
    """The name under which `oxmill worker` imports this file."""
    parts = [file.stem]
    for folder in file.parents:
        if not (folder / "__init__.py").is_file():
            break
        parts.insert(0, folder.name)
    return ".".join(parts)
