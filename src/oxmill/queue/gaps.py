"""Arguments with gaps that the results of other jobs fill when the job runs.

The gaps are kept beside the arguments, as paths into them, under a content type of their own: so
nothing that people pass can be taken for one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from oxmill.errors import BadArguments
from oxmill.model.value import Value
from oxmill.queue.hooks import to_plain
from oxmill.queue.inputs import MISSING, Inputs, value_of
from oxmill.queue.stand_in import StandIn

GAPPED: Final = "application/vnd.oxmill.call+json"
"""The content type of arguments with gaps."""

Path = tuple[str | int, ...]
_REWRITE: Final = msgspec.json.Encoder().encode


class Gap(Value, frozen=True, array_like=True):
    """A place in the arguments that the result of a job fills."""

    path: Path
    job: str


class Gapped(Value, frozen=True):
    """Arguments as stored, `null` where the gaps are."""

    arguments: msgspec.Raw
    gaps: tuple[Gap, ...]
    collect: bool = False
    """Whether a failure is given in the place of a result; else it is left out."""


def write_gapped(values: dict[str, Any]) -> tuple[bytes, list[tuple[Path, StandIn]]]:
    """The JSON of the arguments, and where in it the stand-ins are."""
    mark = os.urandom(16).hex()
    seen: list[StandIn] = []

    def hook(value: Any) -> Any:
        if not isinstance(value, StandIn):
            return to_plain(value)
        seen.append(value)
        return f"{mark}{len(seen) - 1}"

    data = msgspec.json.Encoder(enc_hook=hook).encode(values)
    if not seen:
        return data, []
    plain = msgspec.json.decode(data)
    found = [(path, seen[int(text[len(mark) :])]) for path, text in _marks(plain, mark, ())]
    if len(found) != len(seen):
        raise BadArguments("the result of a job cannot be the key of a dict; make it a value")
    for path, _ in found:
        _parent(plain, path)[path[-1]] = None
    return msgspec.json.encode(plain), found


def _marks(value: Any, mark: str, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        if value.startswith(mark):
            yield path, value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _marks(part, mark, (*path, key))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _marks(part, mark, (*path, index))


def gapped_payload(arguments: bytes, gaps: list[Gap], *, collect: bool) -> bytes:
    """The payload of a job whose arguments have gaps."""
    stored = Gapped(arguments=msgspec.Raw(arguments), gaps=tuple(gaps), collect=collect)
    return msgspec.json.encode(stored)


def read_gapped(payload: bytes) -> Gapped:
    """A payload of the content type `GAPPED`."""
    try:
        return _READ(payload)
    except msgspec.MsgspecError as error:
        raise BadArguments(f"arguments with gaps cannot be read: {error}") from error


def filled(gapped: Gapped, inputs: Inputs) -> bytes:
    """The arguments with the results in their places. What gave no result is left out of lists,
    and is `null` anywhere else."""
    arguments: Any = msgspec.json.decode(gapped.arguments)
    missing: list[Path] = []
    for gap in gapped.gaps:
        value = value_of(inputs, gap.job, collect=gapped.collect)
        if value is MISSING:
            missing.append(gap.path)
        else:
            _parent(arguments, gap.path)[gap.path[-1]] = value
    for path in reversed(missing):  # from the end, so that earlier places stay where they are
        if isinstance(path[-1], int):
            del _parent(arguments, path)[path[-1]]
    return _REWRITE(arguments)


def _parent(value: Any, path: Path) -> Any:
    for step in path[:-1]:
        value = value[step]
    return value


_READ: Final[Callable[[bytes], Gapped]] = msgspec.json.Decoder(Gapped).decode
