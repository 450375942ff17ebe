"""Task arguments and results as JSON, by the task's own annotations.

Arguments are checked where they are given: they are written as JSON, and read back with the types
that the run will use. What a worker could not read is refused at the enqueue, with its path.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from inspect import Parameter
from types import UnionType
from typing import (
    Any,
    Final,
    LiteralString,
    Never,
    NoReturn,
    Union,
    Unpack,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from msgspec import UNSET

from oxmill.errors import BadArguments
from oxmill.model.outcome import Signal
from oxmill.queue.faults import first_fault
from oxmill.queue.gaps import Path, write_gapped
from oxmill.queue.hooks import (
    admitting_failed,
    from_plain,
    mentions_failed,
    mentions_pydantic,
    to_plain,
    validated,
)
from oxmill.queue.stand_in import StandIn

ENCODE: Final = msgspec.json.Encoder(enc_hook=to_plain).encode
CANONICAL: Final = msgspec.json.Encoder(enc_hook=to_plain, order="sorted").encode

_NOTHING: Final = b"{}"
_SHORT: Final = 640
"""Bytes of JSON in which no number has so many digits that it could be written, but not be read."""
_POSITIONAL: Final = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


class Codec:
    """Writes and reads the arguments and the result of one function.

    Annotations are resolved at the first use, not at import, so they may name types that are
    defined further down.
    """

    def __init__(self, fn: Callable[..., Any], task: str, *, skip: int, lenient: bool) -> None:
        self._fn = fn
        self._task = task
        self._lenient = lenient
        whole = inspect.signature(fn)
        parameters = list(whole.parameters.values())[skip:]
        self._signature = whole.replace(parameters=parameters)
        self._parameters = parameters
        self._positional = tuple(p.name for p in parameters if p.kind in _POSITIONAL)
        self._most = len(self._positional)
        self._plain = all(
            p.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY) for p in parameters
        )
        self._optional = all(
            p.default is not Parameter.empty
            or p.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
            for p in parameters
        )

        self._read: Callable[[bytes], msgspec.Struct] = self._read_first
        self._safe: tuple[type, ...] | None = None
        """The types of all arguments if values of just these types can always be read, once known."""

    # -- enqueue -----------------------------------------------------------------------------------

    def write(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
        """The arguments as JSON that the run will be able to read."""
        if not kwargs and tuple(map(type, args)) == self._safe:
            try:
                payload = ENCODE(dict(zip(self._positional, args)))  # noqa: B905 - as below
            except ValueError:  # half a surrogate pair
                return self.pack(args, kwargs)[0]
            if len(payload) < _SHORT:
                return payload
        return self.pack(args, kwargs)[0]

    def pack(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[bytes, msgspec.Struct]:
        """The arguments as JSON, and as the run will read them. What is not given is left out."""
        if self._plain and not kwargs and len(args) <= self._most:
            values = dict(zip(self._positional, args))  # noqa: B905 - which costs half as much again
        else:
            values = self._bind(args, kwargs)
        try:
            payload, read = ENCODE(values), self._read
            proof = read(payload)
        except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
            raise self._refusal(values, args, kwargs, error) from error
        # JSON has no NaN: it would silently become null. (`in` raises and swallows an error first.)
        if payload.find(b"null") >= 0 and (fault := first_fault(values, ENCODE)):
            raise BadArguments(f"{self._task}: {fault[0]}: {fault[1]}")
        return payload, proof

    def pack_gapped(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[bytes, list[tuple[Path, StandIn]]]:
        """The arguments as JSON, and where results are to be filled in. Parameters without such a
        gap are checked here and now, the others when the job runs."""
        try:
            values = self._signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise BadArguments(f"{self._task}: {error}; it takes {self._signature}") from None
        try:
            payload, gaps = write_gapped(values)
        except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
            raise self._refusal(values, args, kwargs, error) from error
        if not gaps:
            return self.pack(args, kwargs)[0], []
        touched = {path[0] for path, _ in gaps}
        whole = {name: value for name, value in values.items() if name not in touched}
        try:
            self._read_some(ENCODE(whole))
        except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
            raise self._refusal(whole, args, kwargs, error) from error
        return payload, gaps

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        if self._plain and len(args) <= self._most:
            values = dict(zip(self._positional, args, strict=False))
            values.update(kwargs)
            if len(values) == len(args) + len(kwargs):
                return values
        try:
            return self._signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise BadArguments(f"{self._task}: {error}; it takes {self._signature}") from None

    def _refusal(
        self,
        values: dict[str, Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        error: Exception,
    ) -> BadArguments:
        """The clearest words for what is wrong with a call."""
        if isinstance(error, BadArguments):
            return error
        try:
            self._signature.bind(*args, **kwargs)
        except TypeError as misfit:
            return BadArguments(f"{self._task}: {misfit}; it takes {self._signature}")
        if not isinstance(error, msgspec.ValidationError):
            fault = first_fault(values, ENCODE)
            if fault is not None:
                return BadArguments(
                    f"{self._task}: {fault[0]}: {fault[1]}. Pass plain values, dataclasses, "
                    f"msgspec or pydantic models"
                )
        return BadArguments(f"{self._task}: {spell(error)}")

    def complete(self, proof: msgspec.Struct) -> dict[str, Any]:
        """The arguments as read, with the defaults of those not given."""
        values: dict[str, Any] = {}
        for parameter in self._parameters:
            value = getattr(proof, parameter.name)
            if value is UNSET:
                value = parameter.default
            if value is not Parameter.empty:
                values[parameter.name] = value
        return values

    # -- run ---------------------------------------------------------------------------------------

    def unpack(self, payload: bytes) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments to call the function with."""
        if payload == _NOTHING and self._optional:
            return (), {}
        try:
            values = self._read(payload)
        except (msgspec.MsgspecError, ValueError) as error:
            if isinstance(error, BadArguments):
                raise
            raise BadArguments(
                f"{self._task}: stored arguments do not fit: {spell(error)}"
            ) from error
        named = {
            name: value
            for name in values.__struct_fields__
            if (value := getattr(values, name)) is not UNSET
        }
        return ((), named) if self._plain else self._spread(named)

    def _spread(self, named: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Positional arguments for those parameters that can be given in no other way."""
        bound = inspect.BoundArguments(self._signature, named)
        return bound.args, bound.kwargs

    def unpack_some(self, fields: Mapping[str, bytes]) -> dict[str, Any]:
        """The arguments to call the function with, where some are not known: their defaults count,
        and `None` for those without. Fields that it does not take are left out."""
        named: dict[str, Any] = {}
        for name, needed, read in self._parts:
            value = fields.get(name)
            if value is None:
                if needed:
                    named[name] = None
                continue
            try:
                named[name] = read(value)
            except (msgspec.MsgspecError, ValueError) as error:
                raise BadArguments(
                    f"{self._task}: stored fields do not fit: {spell(error, within=name)}"
                ) from error
        return named

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters."""
        return tuple(parameter.name for parameter in self._parameters)

    @cached_property
    def _parts(self) -> tuple[tuple[str, bool, Callable[[bytes], Any]], ...]:
        """The names of the parameters, each with whether it has no default, and what reads it alone."""
        return tuple(
            (
                each.name,
                each.default is Parameter.empty,
                msgspec.json.Decoder(kind, dec_hook=from_plain).decode,
            )
            for each, kind in self._kinds()
        )

    def _read_first(self, payload: bytes) -> msgspec.Struct:
        """Read, and know from then on how: a cached property is found several times as slowly."""
        self._read = self._reader(all_needed=True)
        kinds = tuple(kind for _, kind in self._kinds())
        if self._plain and len(kinds) == self._most and all(map(_is_safe, kinds)):
            self._safe = kinds
        return self._read(payload)

    @cached_property
    def _read_some(self) -> Callable[[bytes], msgspec.Struct]:
        return self._reader(all_needed=False)

    def _reader(self, *, all_needed: bool) -> Callable[[bytes], msgspec.Struct]:
        fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
        for parameter, kind in self._kinds():
            field = (parameter.name, kind)
            needed = parameter.default is Parameter.empty and parameter.kind not in (
                Parameter.VAR_POSITIONAL,
                Parameter.VAR_KEYWORD,
            )
            fields.append(field if needed and all_needed else (*field, UNSET))
        struct = msgspec.defstruct(
            "Arguments", fields, kw_only=True, forbid_unknown_fields=not self._lenient
        )
        return msgspec.json.Decoder(struct, dec_hook=from_plain).decode

    def _kinds(self) -> Iterator[tuple[Parameter, Any]]:
        """The parameters, each with its type in a form that msgspec can read."""
        hints = self._hints()
        for each in self._parameters:
            kind = _field_type(each, hints.get(each.name, Any))
            yield each, self._readable(kind, f"parameter {each.name!r}")

    def _hints(self) -> Mapping[str, Any]:
        try:
            return get_type_hints(self._fn, include_extras=True)
        except NameError as error:
            raise BadArguments(
                f"{self._task}: an annotation cannot be resolved: {error}. Oxmill reads arguments "
                f"by their annotations, so import the type outside of `if TYPE_CHECKING`"
            ) from error

    def _readable(self, annotation: Any, what: str) -> Any:
        """The annotation in a form that msgspec can read."""
        annotation = admitting_failed(annotation) if mentions_failed(annotation) else annotation
        try:
            msgspec.json.Decoder(annotation, dec_hook=from_plain)
        except (TypeError, NameError) as error:
            if mentions_pydantic(annotation):
                return validated(annotation)
            raise BadArguments(
                f"{self._task}: the annotation of {what} cannot be read from JSON: {error}"
            ) from error
        return annotation

    # -- result ------------------------------------------------------------------------------------

    def pack_result(self, value: Any) -> bytes:
        """The result as JSON."""
        try:
            return ENCODE(value)
        except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
            path, reason = first_fault(value, ENCODE) or ("$", str(error))
            raise BadArguments(
                f"{self._task}: the result cannot be stored: {path}: {reason}"
            ) from error

    def unpack_result(self, data: bytes) -> Any:
        """The result as the function's return annotation says."""
        try:
            return self._read_result(data)
        except msgspec.MsgspecError as error:
            raise BadArguments(
                f"{self._task}: the stored result does not fit the return annotation: {spell(error)}"
            ) from error

    @cached_property
    def _read_result(self) -> Callable[[bytes], Any]:
        kind = _result_type(self._hints().get("return", Any))
        return msgspec.json.Decoder(self._readable(kind, "the result"), dec_hook=from_plain).decode


def spell(error: Exception, within: str = "") -> str:
    """A validation error with its path first: `$.items[3].qty: expected ...`. `within` is the field
    that was read, if it was read alone."""
    text, _, path = str(error).partition(" - at `")
    path = path.rstrip("`")
    if within:
        path = f"$.{within}{path[1:]}"
    return f"{path}: {text[:1].lower()}{text[1:]}" if path else text


def _is_safe(kind: Any) -> bool:
    """Whether values of just this type, if they can be written, are read back as they were."""
    return kind is str or kind is int or kind is bool


def _field_type(parameter: Parameter, annotation: Any) -> Any:
    if annotation is LiteralString:
        return str
    if parameter.kind is Parameter.VAR_POSITIONAL:
        return list[annotation]
    if parameter.kind is Parameter.VAR_KEYWORD:
        if get_origin(annotation) is Unpack:
            return get_args(annotation)[0]
        return dict[str, annotation]
    return annotation


def _result_type(annotation: Any) -> Any:
    """The return annotation without the signals that never become a result."""
    if annotation in (Never, NoReturn):
        return Any
    if get_origin(annotation) in (Union, UnionType):
        kinds = [kind for kind in get_args(annotation) if not _is_signal(kind)]
        return Union[tuple(kinds)] if kinds else Any  # noqa: UP007 - made at run time
    return Any if _is_signal(annotation) else annotation


def _is_signal(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Signal)


def decode_plain(data: bytes) -> Any:
    """JSON without a type."""
    return msgspec.json.decode(data)
