"""A store that does not answer: counted, told, and waited for with growing pauses."""

from __future__ import annotations

from collections.abc import Callable
from random import random
from typing import Final

from oxmill.errors import SchemaMismatch, StoreRefused
from oxmill.observe.bus import Bus
from oxmill.observe.events import StoreBack, StoreTrouble
from oxmill.rules.polling import pause_after

FATAL: Final = (SchemaMismatch, StoreRefused)
"""What no waiting can mend: the agent gives up, and the worker ends with it."""


class Trouble:
    """The run of bad luck that one agent has with the store."""

    __slots__ = ("_agent", "_bus", "_chance", "times")

    def __init__(self, agent: str, bus: Bus, chance: Callable[[], float] = random) -> None:
        self._agent = agent
        self._bus = bus
        self._chance = chance
        self.times = 0
        """How often in a row."""

    def met(self, error: BaseException) -> float:
        """The store has failed once more; the seconds to wait before the next try.

        Told in the log at the first, second, fourth, eighth … time.
        """
        self.times += 1
        pause = pause_after(self.times, self._chance())
        if self.times & (self.times - 1) == 0:
            self._bus.emit(
                StoreTrouble(
                    agent=self._agent,
                    error=f"{type(error).__name__}: {error}",
                    times=self.times,
                    again_in=pause,
                )
            )
        return pause

    def over(self) -> None:
        """The store has answered."""
        if self.times:
            self._bus.emit(StoreBack(agent=self._agent, after=self.times))
            self.times = 0
