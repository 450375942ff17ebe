"""A store whose worker is killed at a chosen step: just before it, or just after it took effect."""

import os
import signal
from dataclasses import replace

from oxmill.model.settlement import Settle


class KillingTransport:
    """Kills its own process, without goodbye, at the n-th plan of a kind."""

    def __init__(self, transport, kind, number, when):
        self._transport = transport
        self._kind = kind
        self._number = number
        self._when = when

    def run(self, plan):
        here = self._counts(plan)
        if here and self._when == "before":
            _die()
        answer = self._transport.run(plan)
        if here:
            _die()
        return answer

    async def arun(self, plan):
        here = self._counts(plan)
        if here and self._when == "before":
            _die()
        answer = await self._transport.arun(plan)
        if here:
            _die()
        return answer

    def _counts(self, plan):
        if self._kind not in plan.name.split("+") or not _does_something(plan.request):
            return False
        self._number -= 1
        return self._number == 0

    def __getattr__(self, name):
        return getattr(self._transport, name)


def _does_something(request):
    parts = request if isinstance(request, tuple) else (request,)
    return all(part.items for part in parts if isinstance(part, Settle))


def _die():
    os.kill(os.getpid(), signal.SIGKILL)


def killing(driver, kind, number, when):
    """The driver with such a transport."""
    return replace(driver, transport=KillingTransport(driver.transport, kind, number, when))
