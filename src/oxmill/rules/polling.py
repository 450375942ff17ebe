"""How long a worker waits before it looks again: for work, and for a store that does not answer."""

from __future__ import annotations

from typing import Final

SHARE: Final = 0.02
"""A worker that polls spends at most this share of its time on looks that find nothing."""


def poll_interval(cost: float, *, bell: bool, bounds: tuple[float, float]) -> float:
    """Seconds between two looks of an idle worker.

    With a doorbell the upper bound is only a safety net. Without one the look itself decides: as
    often as the lower bound where looks are cheap (a local file: 50 ms), and more rarely where they
    are dear (a far or a busy store), so that idle workers never become a load. `cost` is what a
    look takes, in seconds.
    """
    low, high = bounds
    return high if bell else min(max(cost / SHARE, low), high)


def look_cost(known: float, measured: float) -> float:
    """What a look is taken to cost, in seconds, after one more was measured.

    A cheaper one counts at once, a dearer one little by little: a single slow look says more about
    the moment than about the store.
    """
    return min(measured, max(known, 0.0001) * 1.25)


FIRST_PAUSE: Final = 0.05
LONGEST_PAUSE: Final = 5.0


def pause_after(troubles: int, chance: float) -> float:
    """Seconds to wait after the store has failed `troubles` times (1, 2, …) in a row.

    It doubles up to a bound. `chance` (0 up to 1) spreads workers over the second half of the wait,
    so that they do not all come back in one moment.
    """
    longest = min(FIRST_PAUSE * (1 << min(troubles - 1, 20)), LONGEST_PAUSE)
    return longest * (0.5 + chance / 2)
