"""Lengths of time and moments as people write them, in microseconds."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from oxmill.errors import BadInput
from oxmill.model.value import Micros

Duration = timedelta | float | str
"""A timedelta, a number of seconds, or text such as `90s`, `1h30m`, `250ms`, `2d`."""

_UNITS = {
    "us": 1,
    "ms": 1_000,
    "s": 1_000_000,
    "m": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
    "w": 7 * 86_400_000_000,
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(us|ms|s|m|h|d|w)\s*")


def micros(duration: Duration) -> Micros:
    """The duration in microseconds; not negative."""
    if isinstance(duration, timedelta):
        total = duration // timedelta(microseconds=1)
    elif isinstance(duration, str):
        total = _parse(duration)
    elif not _is_number(duration):
        raise BadInput(f"{duration!r} is not a length of time; use seconds, or text such as '5m'")
    else:
        total = round(duration * 1_000_000)
    if total < 0:
        raise BadInput(f"{duration!r} is negative; a length of time starts at 0")
    return total


def _is_number(given: object) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool) and math.isfinite(given)


@lru_cache(maxsize=256)
def _parse(text: str) -> Micros:
    total, position, stripped = 0.0, 0, text.strip()
    for part in _PART.finditer(stripped):
        if part.start() != position:
            break
        total += float(part[1]) * _UNITS[part[2]]
        position = part.end()
    if position != len(stripped) or not stripped:
        raise BadInput(
            f"{text!r} is not a length of time; write numbers with units, such as '90s', '1h30m', "
            f"'250ms' or '2d'"
        )
    return round(total)


def moment(when: datetime) -> Micros:
    """An aware datetime as microseconds since the epoch."""
    if not isinstance(when, datetime):
        raise BadInput(f"{when!r} is not a moment; use an aware datetime")
    if when.tzinfo is None:
        raise BadInput(
            f"{when!r} has no time zone; use an aware time, such as datetime.now(timezone.utc)"
        )
    # Two times of one zone are subtracted by the wall clock, which is wrong across a change of
    # offset; against UTC the difference is real.
    return (when - _EPOCH) // timedelta(microseconds=1)


def spell(length: Micros) -> str:
    """A length of time for people: `1h 5m`, `3.2s`, `40ms`."""
    if length < 1_000:
        return f"{length}us"
    if length < 1_000_000:
        return f"{length / 1_000:.3g}ms"
    if length < 60_000_000:
        return f"{length / 1_000_000:.3g}s"
    parts: list[str] = []
    rest = length // 1_000_000
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)):
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count}{unit}")
    return " ".join(parts[:2])
