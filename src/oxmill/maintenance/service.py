"""What all agents that do something again and again share."""

from __future__ import annotations

import logging
from collections.abc import Callable
from random import random
from typing import ClassVar, Final

from oxmill.errors import NotSupported, StoreError
from oxmill.maintenance.trouble import FATAL, Trouble
from oxmill.maintenance.wake import Wake
from oxmill.observe.bus import Bus
from oxmill.store.driver import Driver

_LOG: Final = logging.getLogger("oxmill.maintenance")


class Service:
    """Calls `run_once` at intervals until it is stopped. Never goes quiet by itself.

    A store that does not answer, and an error nobody thought of, are logged and followed by
    another try after a growing pause. Only what no waiting can mend ends the service, with that
    error. A wait is never longer than `every`, and somewhat random, so that the agents of many
    workers spread out.
    """

    name: ClassVar[str] = "service"

    def __init__(
        self,
        driver: Driver,
        bus: Bus,
        every: float,
        chance: Callable[[], float] = random,
    ) -> None:
        self.driver = driver
        self.bus = bus
        self.stopping = False
        self._every = every
        self._chance = chance
        self._wake = Wake()
        self._trouble = Trouble(self.name, bus, chance)

    async def run_once(self) -> float | None:
        """Do the work once; the seconds until the next time, or `None` for the usual interval."""
        raise NotImplementedError

    async def run(self) -> None:
        """Do it again and again."""
        while not self.stopping:
            try:
                wish = await self.run_once()
            except NotSupported as error:
                _LOG.info("%s has nothing to do on this store: %s", self.name, error)
                return
            except FATAL:
                raise
            except StoreError as error:
                pause = self._trouble.met(error)
            except Exception as error:  # noqa: BLE001 - an agent that dies of a surprise goes quiet
                _LOG.exception("%s failed and will try again", self.name)
                pause = self._trouble.met(error)
            else:
                self._trouble.over()
                usual = self._every * (0.8 + 0.2 * self._chance())
                pause = usual if wish is None else min(wish, usual)
            if not self.stopping:
                await self._wake.wait(pause)

    def wake(self) -> None:
        """Do it now, from the event loop's thread."""
        self._wake.ring()

    def stop(self) -> None:
        """End after the present round, from the event loop's thread."""
        self.stopping = True
        self._wake.ring()
