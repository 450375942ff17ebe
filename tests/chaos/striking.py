"""A store under which something is struck at a chosen step: before it, amid it, or once it took effect."""

import asyncio
import dataclasses
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from oxmill.drivers.sql.steps import Start
from oxmill.errors import OutcomeUnknown
from oxmill.model.claim import Claimed
from oxmill.model.settlement import Settle


class Aim(NamedTuple):
    """The n-th plan of a kind that does something, and when: `before`, `amid` or `after` it.

    Amid it means: all statements have run and none is committed, or, on Redis, the first script has.
    After it means: it has taken effect, and nobody has learnt of it. A claim after which to strike is
    one that has granted something.
    """

    kind: str
    number: int
    when: str


def struck(driver, strike):
    """The driver with such a transport."""
    return dataclasses.replace(driver, transport=Striking(driver, strike))


class Striking:
    """A transport that strikes once, at its aim."""

    def __init__(self, driver, strike):
        self._transport, self._strike = driver.transport, strike
        self._by_scripts = driver.name == "redis"
        self._aim = Aim("", 0, "")
        self.struck = True

    def aim(self, aim):
        self._aim, self.struck = Aim(*aim), False

    def run(self, plan):
        here = self._here(plan)
        if here == "before":
            self._hit()
        answer = self._transport.run(self._divided(plan) if here == "amid" else plan)
        if here == "after" or self._granted(answer):
            self._hit()
            raise OutcomeUnknown("whoever asked was cut off")
        return answer

    async def arun(self, plan):
        here = self._here(plan)
        if here == "before":
            await asyncio.to_thread(self._hit)
        answer = await self._transport.arun(self._divided(plan) if here == "amid" else plan)
        if here == "after" or self._granted(answer):
            await asyncio.to_thread(self._hit)
            raise OutcomeUnknown("whoever asked was cut off")
        return answer

    def _here(self, plan):
        """When to strike, if this is the plan."""
        aim = self._aim
        if self.struck or aim.kind not in plan.name.split("+") or not _does_something(plan.request):
            return None
        if (aim.kind, aim.when) == ("claim", "after"):
            return None  # that depends on its answer
        self._aim = aim._replace(number=aim.number - 1)
        return aim.when if aim.number == 1 else None

    def _granted(self, answer):
        """Whether this is the answer to a claim at which to strike."""
        aim = self._aim
        if self.struck or (aim.kind, aim.when) != ("claim", "after"):
            return False
        parts = answer if isinstance(answer, tuple) else (answer,)
        if not any(isinstance(part, Claimed) and part.jobs for part in parts):
            return False
        self._aim = aim._replace(number=aim.number - 1)
        return aim.number == 1

    def _divided(self, plan):
        """The same plan, cut off on its way."""
        start = plan.start
        if isinstance(start, Start):
            cut = Start(lambda *_: self._to_the_end(start.steps()), None, plan.request)
        else:
            cut_off = self._to_the_first if self._by_scripts else self._to_the_end
            cut = partial(_begun, cut_off, start)
        return replace(plan, start=cut)

    def _to_the_end(self, steps):
        answer = yield from steps
        self._hit()
        return answer

    def _to_the_first(self, steps):
        step = next(steps)
        while True:
            reply = yield step
            self._hit()
            try:
                step = steps.send(reply)
            except StopIteration as end:
                return end.value

    def _hit(self):
        if not self.struck:
            self.struck = True
            self._strike()

    def __getattr__(self, name):
        return getattr(self._transport, name)


def _begun(cut_off, start):
    return cut_off(start())


def _does_something(request):
    parts = request if isinstance(request, tuple) else (request,)
    return all(part.items for part in parts if isinstance(part, Settle))
