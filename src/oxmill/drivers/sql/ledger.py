"""How many live jobs a flow has, and when it ends: gathered during an operation, written at its end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from oxmill.drivers.sql.rows import json_text
from oxmill.drivers.sql.steps import Many, Statement
from oxmill.model.settings import DAY
from oxmill.model.value import Micros
from oxmill.store.plan import Steps, ask

KEEP_SUCCEEDED: Final[Micros] = DAY
KEEP_FAILED: Final[Micros] = 30 * DAY


@dataclass(slots=True)
class _Account:
    delta: int = 0
    """By how many the live jobs change."""
    opened: bool = False
    """Whether a job began to live before any was seen to end: the flow may have ended before."""
    published: int = 0
    lost: int = 0


@dataclass(slots=True)
class Ledger:
    """The flows that an operation changes."""

    _accounts: dict[str, _Account] = field(default_factory=dict)
    ended: list[str] = field(default_factory=list)
    """Flows that ended, once it is written."""

    def enter(self, flow: str, n: int = 1) -> None:
        """So many more live jobs."""
        new = flow not in self._accounts
        account = self._accounts.setdefault(flow, _Account())
        account.delta += n
        account.published = 1
        account.opened = account.opened or new

    def leave(self, flow: str) -> None:
        """One live job less."""
        self._accounts.setdefault(flow, _Account()).delta -= 1

    def go_on(self, flow: str, n: int) -> None:
        """A flow that has a live job goes on with so many more, or less."""
        self._accounts.setdefault(flow, _Account()).delta += n

    def publish(self, flow: str, n: int) -> None:
        """A stage with so many live jobs is part of the flow from now on."""
        if n:
            self.enter(flow, n)
        account = self._accounts.setdefault(flow, _Account())
        account.published = 1
        account.opened = True

    def lose(self, flow: str) -> None:
        """A job that nobody waited for was purged before it had succeeded."""
        self._accounts.setdefault(flow, _Account()).lost = 1

    def write(self, now: Micros) -> Steps[None]:
        """Write it down; flows without live jobs end."""
        touched = [
            (flow, each)
            for flow, each in sorted(self._accounts.items(), key=lambda item: item[0])
            if each.delta or each.opened or each.lost
        ]
        self._accounts = {}
        if not touched:
            return
        rows = [(each.delta, each.published, each.lost, flow) for flow, each in touched]
        yield from ask(Many("change_flow", rows))
        opened = [flow for flow, each in touched if each.opened]
        if opened:
            yield from ask(Statement("reopen_flows", {"ids": json_text(opened)}))
        maybe = [flow for flow, each in touched if each.delta <= 0]
        if maybe:
            self.ended += yield from _end(maybe, now)


def _end(flows: list[str], now: Micros) -> Steps[list[str]]:
    """Those without live jobs end; gives them."""
    rows = yield from ask(Statement("ending_flows", {"ids": json_text(flows)}))
    ended = []
    for flow, keep, failed in rows:
        usual = KEEP_FAILED if failed else KEEP_SUCCEEDED
        until = now + (usual if keep is None else keep)
        ended.append((now, until, int(bool(failed)), flow))
    if ended:
        yield from ask(Many("end_flow", ended))
    return [flow for *_, flow in ended]
