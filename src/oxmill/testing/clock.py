"""A clock for tests."""

from __future__ import annotations

from typing import Final

from oxmill.model.value import Micros

START: Final[Micros] = 1_700_000_000_000_000
"""Some moment in November 2023: every virtual clock starts here."""


class VirtualClock:
    """A store's clock that moves only when it is told to."""

    __slots__ = ("now",)

    def __init__(self, now: Micros = START) -> None:
        self.now = now

    def __call__(self) -> Micros:
        """The moment that it is."""
        return self.now

    def advance(self, length: Micros) -> None:
        """Let this much time pass; a negative length steps the clock back."""
        self.now += length
