"""Finds the user's app: --app, then OXMILL_APP, then pyproject.toml, then app.py and tasks.py."""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from oxmill.errors import BadConfig, OxmillError

if TYPE_CHECKING:
    from oxmill.app import App

VARIABLE = "OXMILL_APP"
FILES = ("app.py", "tasks.py")


class Place(NamedTuple):
    """Where an app is said to be, and who says so."""

    path: str
    """`package.module`, `package.module:name`, `folder/file.py` or `folder/file.py:name`."""
    source: str


def locate(given: str | None, by: str = "--app") -> Place | None:
    """The first place that names an app, without importing it. `by` says how one was given."""
    return next(_places(given, by), None)


def _places(given: str | None, by: str) -> Iterator[Place]:
    if given:
        yield Place(given, by)
    if named := os.environ.get(VARIABLE):
        yield Place(named, VARIABLE)
    for folder in (Path.cwd(), *Path.cwd().parents):
        file = folder / "pyproject.toml"
        if file.is_file():
            if named := _from_project(file):
                yield Place(named, str(file))
            break
    for name in FILES:
        if Path(name).is_file():
            yield Place(name, "this folder")


def _from_project(file: Path) -> str | None:
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise BadConfig(f"{file} is not valid TOML: {error}; mend it, or give --app") from None
    named = tables.get("tool", {}).get("oxmill", {}).get("app")
    if named is not None and not isinstance(named, str):
        raise BadConfig(f'{file}: [tool.oxmill] app must be text such as "package.module:app"')
    return named


def load(place: Place) -> App:
    """Import the module and take its app."""
    path, _, name = _split(place.path)
    module = _import(path, place)
    return _pick(module, name or None, place)


def check_found(place: Place) -> None:
    """Refuse a file or a module that is not there, without importing what is."""
    name, root = _whereabouts(_split(place.path)[0], place)
    top = name.partition(".")[0]
    here = (root / f"{top}.py").is_file() or (root / top).is_dir()
    if not here and find_spec(top) is None:
        raise _missing(name, place)


def _split(path: str) -> tuple[str, str, str]:
    # A drive letter (C:\app.py) is not an object name.
    head, colon, tail = path.rpartition(":")
    if colon and tail.isidentifier() and len(head) > 1:
        return head, colon, tail
    return path, "", ""


def _import(path: str, place: Place) -> ModuleType:
    name, root = _whereabouts(path, place)
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise _broken(name, error) from error
        raise _missing(name, place) from None
    except OxmillError:
        raise
    except Exception as error:
        raise _broken(name, error) from error


def _whereabouts(path: str, place: Place) -> tuple[str, Path]:
    """The dotted name of a module, and the folder it is imported from."""
    if Path(path).suffix == ".py" or Path(path).is_file():
        return _module_of(Path(path), place)
    return path, Path.cwd()


def _missing(name: str, place: Place) -> BadConfig:
    return BadConfig(
        f"there is no module {name!r} (named by {place.source}). "
        f"Run this in the project's folder, or give --app package.module:app"
    )


def _broken(name: str, error: Exception) -> BadConfig:
    """Said in the words of the error: it is the app's own."""
    return BadConfig(
        f"importing {name!r} raised {type(error).__name__}: {error}. Mend it; --debug shows where"
    )


def _module_of(file: Path, place: Place) -> tuple[str, Path]:
    """A file's dotted name and the folder it is imported from."""
    whole = file.resolve()
    if not whole.is_file():
        raise BadConfig(
            f"there is no file {file} (named by {place.source}). Write one with: oxmill init {file}"
        )
    parts = [whole.stem]
    folder = whole.parent
    while (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    return ".".join(parts), folder


def _pick(module: ModuleType, name: str | None, place: Place) -> App:
    from oxmill.app import App  # noqa: PLC0415 (the module at hand has imported it by now)

    found = {key: item for key, item in vars(module).items() if isinstance(item, App)}
    if name is None:
        # One app under two names is one app.
        if "app" in found or len({id(item) for item in found.values()}) == 1:
            return found.get("app") or next(iter(found.values()))
        names = ", ".join(found) or "none"
        raise BadConfig(
            f"module {module.__name__!r} (named by {place.source}) has no single app to take "
            f"(found: {names}). Name it: --app {module.__name__}:NAME"
        )
    if name not in found:
        raise BadConfig(
            f"{module.__name__}:{name} is not an App (apps there: {', '.join(found) or 'none'}). "
            f"Declare it with: {name} = App()"
        )
    return found[name]
