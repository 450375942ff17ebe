"""Types that msgspec leaves to us: paths, subclasses of plain types, pydantic's models.

Pydantic is never imported unless an annotation or a value is one of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import PurePath
from typing import Any, ClassVar, get_args, get_origin

import msgspec


class _Anything(type):
    """A type that everything is an instance of: msgspec checks what a hook has read."""

    def __instancecheck__(cls, instance: object) -> bool:
        return True


class Validated(metaclass=_Anything):
    """Stands for an annotation that only pydantic can read, such as a union of its models."""

    annotation: ClassVar[Any]


def to_plain(value: Any) -> Any:
    """What to write for a value that msgspec cannot write."""
    if isinstance(value, PurePath):
        return str(value)
    # Subclasses of plain types, whose own conversions may have been replaced.
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    kind: Any = type(value)
    if is_pydantic(kind):
        return _adapter(kind).dump_python(value, mode="json")
    raise TypeError(f"objects of type {type(value).__qualname__} cannot be stored as JSON")


def from_plain(kind: Any, value: Any) -> Any:
    """Read a value of a type that msgspec cannot read; `ValueError` if it does not fit."""
    origin: Any = get_origin(kind) or kind
    if isinstance(origin, type):
        if issubclass(origin, PurePath) and isinstance(value, str):
            return origin(value)
        if issubclass(origin, str | int | float) and isinstance(value, str | int | float):
            return origin(value)
        if issubclass(origin, Validated):
            return _validate(origin.annotation, value)
        if is_pydantic(origin):
            return _validate(kind, value)
        if isinstance(value, list) and issubclass(list, origin) and issubclass(origin, Iterable):
            return msgspec.convert(value, list.__class_getitem__(get_args(kind) or Any))
        if isinstance(value, origin):
            return value
    raise ValueError(f"expected `{getattr(kind, '__qualname__', kind)}`, got `{_name(value)}`")


def is_pydantic(kind: Any) -> bool:
    """Whether pydantic knows how to read and write this type."""
    return hasattr(kind, "__pydantic_core_schema__") or hasattr(
        kind, "__get_pydantic_core_schema__"
    )


def mentions_pydantic(annotation: Any) -> bool:
    """Whether one of pydantic's types is part of the annotation."""
    return is_pydantic(annotation) or any(map(mentions_pydantic, get_args(annotation)))


def validated(annotation: Any) -> type:
    """A type that makes pydantic read this annotation as a whole."""
    return _Anything(str(annotation), (Validated,), {"annotation": annotation})


def _validate(annotation: Any, value: Any) -> Any:
    from pydantic import ValidationError  # noqa: PLC0415 - only for users of pydantic

    try:
        # As JSON, not as Python: models in strict mode then accept a date written as text.
        return _adapter(annotation).validate_json(msgspec.json.encode(value))
    except ValidationError as error:
        first = error.errors()[0]
        where = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in first["loc"])
        raise ValueError(f"{where.lstrip('.')}: {first['msg']}".lstrip(": ")) from None


@cache
def _adapter(annotation: Any) -> Any:
    from pydantic import TypeAdapter  # noqa: PLC0415 - only for users of pydantic

    return TypeAdapter(annotation)


def _name(value: Any) -> str:
    return {dict: "object", list: "array", type(None): "null"}.get(
        type(value), type(value).__name__
    )
