"""How long to wait before the next run of a job that raised."""

from __future__ import annotations

from typing import Final

from oxmill.model.outcome import Retry
from oxmill.model.value import Micros
from oxmill.rules.duration import micros

_MOST_DOUBLINGS: Final = 62
"""Beyond this every cap has long been reached, and numbers would only grow."""


def delay_after(policy: Retry, failures: int, chance: float) -> Micros:
    """The wait after `failures` runs (1, 2, …) have ended in an exception.

    `chance` is a random number from 0 up to 1. With the default policy the 19 waits between 20
    attempts add up to about a day: 1 s, 2 s, 4 s … 2.3 h, then 4 h each.
    """
    wait = min(_step(policy, max(failures, 1)), micros(policy.cap))
    return round(wait * (0.5 + chance)) if policy.jitter else wait


def _step(policy: Retry, failures: int) -> Micros:
    backoff = policy.backoff
    if not isinstance(backoff, str):
        # The last wait of a list serves for all attempts beyond it.
        return micros(backoff[min(failures, len(backoff)) - 1]) if backoff else 0
    base = micros(policy.base)
    if backoff == "exponential":
        return base << min(failures - 1, _MOST_DOUBLINGS)
    return base * failures if backoff == "linear" else base
