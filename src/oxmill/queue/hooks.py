"""Types that msgspec leaves to us: paths, subclasses of plain types, pydantic's models.

Pydantic is never imported unless an annotation or a value is one of its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache, reduce
from operator import or_
from pathlib import PurePath
from types import UnionType
from typing import Annotated, Any, ClassVar, Final, Union, get_args, get_origin

import msgspec

from oxmill.model.failed import Failed
from oxmill.queue.stand_in import StandIn

_MARK: Final = os.urandom(16).hex()
"""The key of a failure among arguments. It never leaves the process, so no data can hold it."""


class _Anything(type):
    """A type that everything is an instance of: msgspec checks what a hook has read."""

    def __instancecheck__(cls, instance: object) -> bool:
        return True


class Proxy(metaclass=_Anything):
    """Stands for an annotation that msgspec cannot read."""

    annotation: ClassVar[Any]

    @classmethod
    def read(cls, value: Any) -> Any:
        """The value as the annotation says."""
        raise NotImplementedError


class Validated(Proxy):
    """Stands for an annotation that only pydantic can read, such as a union of its models."""

    @classmethod
    def read(cls, value: Any) -> Any:
        """As pydantic reads it."""
        return _validate(cls.annotation, value)


class OrFailed(Proxy):
    """Stands for an annotation that admits `Failed` besides the type of a result."""

    @classmethod
    def read(cls, value: Any) -> Any:
        """A failure where one was marked, else a result."""
        if isinstance(value, dict) and _MARK in value:
            return msgspec.convert(value[_MARK], Failed)
        # As JSON, so that the rest is read just as it is without failures about.
        data = msgspec.json.encode(value)
        return msgspec.json.decode(data, type=cls.annotation, dec_hook=from_plain)


def to_plain(value: Any) -> Any:
    """What to write for a value that msgspec cannot write."""
    if isinstance(value, StandIn):
        raise TypeError(f"{value!r} can only be passed to jobs of its own flow, by f.add(...)")
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
        if issubclass(origin, Proxy):
            return origin.read(value)
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


def marked(failed: Failed) -> dict[str, Any]:
    """A failure in the place of a result, for a type made by `admitting_failed` to read."""
    return {_MARK: failed}


def mentions_failed(annotation: Any) -> bool:
    """Whether `Failed` is part of the annotation."""
    return annotation is Failed or any(map(mentions_failed, get_args(annotation)))


def admitting_failed(annotation: Any) -> Any:
    """The annotation with each union that names `Failed` replaced by a type that reads it."""
    if annotation is Failed:
        return _Anything("Failed", (OrFailed,), {"annotation": None})
    origin, parts = get_origin(annotation), get_args(annotation)
    if not mentions_failed(annotation):
        return annotation
    if origin is Annotated:
        return admitting_failed(parts[0])
    if origin in (Union, UnionType):
        rest = [part for part in parts if part is not Failed]
        return _Anything(str(annotation), (OrFailed,), {"annotation": reduce(or_, rest)})
    return origin[tuple(part if part is ... else admitting_failed(part) for part in parts)]


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
