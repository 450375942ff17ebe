"""Rates: how many starts a time allows, by the generic cell rate algorithm.

Whole microseconds only, so that every store computes the same. A meter is one number, `tat`: the
moment until which the rate has been used up; a meter that was never used reads 0.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from oxmill.errors import BadInput
from oxmill.model.value import Micros, Value
from oxmill.rules.duration import micros

_WRITTEN: Final = re.compile(
    r"\s*(\d+)\s*/\s*(\d*\s*[a-z]+)(?:\s+burst\s+(\d+))?\s*", re.IGNORECASE
)
_WORDS: Final = {"sec": "s", "second": "s", "min": "m", "minute": "m", "hour": "h", "day": "d"}
_LONGEST: Final[Micros] = 366 * 86_400_000_000
_MOST: Final = 1_000_000


class Rate(Value, frozen=True):
    """At most `burst + length / interval` starts in any window of that length."""

    interval: Micros
    """Between two starts, in the long run."""
    burst: int
    """Starts at once after a rest."""

    def room(self, tat: Micros, now: Micros) -> int:
        """Starts allowed now."""
        used = max(tat - now, 0)
        return max(self.burst - -(-used // self.interval), 0)

    def spend(self, tat: Micros, now: Micros, starts: int) -> Micros:
        """The meter after this many starts now."""
        return max(tat, now) + starts * self.interval

    def opens_at(self, tat: Micros) -> Micros:
        """The moment from which there is room for a start; in the past if there is room."""
        return tat - (self.burst - 1) * self.interval


@lru_cache(maxsize=1_024)
def rate(text: str) -> Rate:
    """Read `100/s`, `10/10s`, `5/min` or `5/min burst 2`.

    The burst is a tenth of the number unless it is given, and at least 1.
    """
    match = _WRITTEN.fullmatch(text)
    if match is None:
        raise BadInput(
            f"{text!r} is not a rate; write it like '100/s', '10/10s' or '5/min burst 2'"
        )
    number, window, burst = int(match[1]), _window(text, match[2]), match[3]
    if not 1 <= number <= _MOST or not 0 < window <= _LONGEST or window < number:
        raise BadInput(
            f"the rate {text!r} is out of range; use 1 to {_MOST:,} starts per at most a year"
        )
    size = max(number // 10, 1) if burst is None else int(burst)
    if not 1 <= size <= _MOST:
        raise BadInput(f"the burst of the rate {text!r} is out of range; use 1 to {_MOST:,}")
    return Rate(interval=-(-window // number), burst=size)


def _window(text: str, written: str) -> Micros:
    match = re.fullmatch(r"(\d*)\s*([a-z]+)", written.lower())
    if match is None:
        raise BadInput(f"{text!r} is not a rate; write it like '100/s' or '10/10s'")
    unit = match[2].removesuffix("s") if len(match[2]) > 2 else match[2]
    return micros(f"{match[1] or 1}{_WORDS.get(unit, match[2])}")
