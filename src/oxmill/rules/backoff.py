"""How long to wait before the next run of a job that raised."""

from __future__ import annotations

from typing import Final

from oxmill.errors import BadConfig, BadInput
from oxmill.model.outcome import Retry
from oxmill.model.value import Micros
from oxmill.rules.duration import micros

_BACKOFFS: Final = ("exponential", "linear", "fixed")
_MOST_DOUBLINGS: Final = 62
"""Beyond this every cap has long been reached, and numbers would only grow."""


def check_policy(policy: Retry) -> None:
    """Raise `BadConfig` unless the policy can be followed, whatever a run raises."""
    most = policy.max_attempts
    if most is not None and (not isinstance(most, int) or isinstance(most, bool)):
        raise BadConfig(f"Retry({most!r}) is not a whole number of attempts")
    if most is not None and most < 1:
        raise BadConfig(f"retry={most} allows no run at all; use 1 for a single attempt")
    if isinstance(policy.backoff, str) and policy.backoff not in _BACKOFFS:
        raise BadConfig(
            f"Retry(backoff={policy.backoff!r}): use one of {', '.join(_BACKOFFS)}, or a list of waits"
        )
    try:
        waits = () if isinstance(policy.backoff, str) else tuple(policy.backoff)
        for span in (policy.base, policy.cap, *waits):
            micros(span)
    except (BadInput, TypeError) as error:
        raise BadConfig(f"Retry: {error}") from None
    for name, kinds in (("on", policy.on), ("give_up_on", policy.give_up_on)):
        try:
            isinstance(None, kinds)
        except TypeError:
            raise BadConfig(
                f"Retry({name}={kinds!r}): give a tuple of exception classes, such as (ValueError,)"
            ) from None


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
