"""Where in some arguments the value is that cannot be stored."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import Any

import msgspec


def first_fault(value: Any, encode: Callable[[Any], bytes]) -> tuple[str, str] | None:
    """The path and the reason of the first part that cannot be written as JSON."""
    for path, leaf in _leaves(value, "$"):
        try:
            encode(leaf)
        except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
            return path, str(error)
        if isinstance(leaf, float) and not math.isfinite(leaf):
            return path, f"{leaf} has no form in JSON; give None or text instead"
    return None


def _leaves(value: Any, path: str, depth: int = 0) -> Iterator[tuple[str, Any]]:
    parts = list(_parts(value)) if depth < 50 else []
    if not parts:
        yield path, value
    for step, part in parts:
        yield from _leaves(part, path + step, depth + 1)
    if isinstance(value, dict):  # the values are fine: a fault left is in the keys
        yield path, dict.fromkeys(value)


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield f".{key}", part
    elif isinstance(value, list | tuple | set | frozenset):
        for index, part in enumerate(value):
            yield f"[{index}]", part
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield f".{name}", getattr(value, name)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield f".{field.name}", getattr(value, field.name)
