"""Meters: what the gates of queues, groups and rules have let through, and until when they are shut."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from oxmill.drivers.sql.rows import json_text
from oxmill.drivers.sql.steps import Many, Statement
from oxmill.model.rule import Scope
from oxmill.model.value import Micros
from oxmill.store.plan import Steps, ask

EVERYWHERE: Final = ""
"""Stands for the queue where a meter is not about one queue."""
OWN: Final = ""
"""Stands for the target where a meter is about the queue as a whole."""


class MeterKey(NamedTuple):
    """Names one meter. Settings and rules have meters of their own, since their rates differ."""

    queue: str
    scope: str
    target: str


def queue_key(queue: str) -> MeterKey:
    """The meter of a queue's own rate, and of its being shut by a job."""
    return MeterKey(queue, Scope.QUEUE.value, OWN)


def group_key(queue: str, group: str) -> MeterKey:
    """The same of a group in a queue."""
    return MeterKey(queue, Scope.GROUP.value, group)


@dataclass(slots=True)
class Meter:
    """One meter as it stands."""

    tat: Micros = 0
    closed_until: Micros = 0
    spent: bool = False
    """Whether an operation has used some of it."""

    def spend(self, tat: Micros) -> None:
        """The rate behind this meter is used up until then."""
        self.tat = tat
        self.spent = True


@dataclass(slots=True)
class Meters:
    """The meters that an operation looks at, and those it has changed."""

    locks: bool = True
    """Whether nobody else may use them meanwhile."""
    known: dict[MeterKey, Meter] = field(default_factory=dict)

    def at(self, key: MeterKey) -> Meter:
        """This meter; one that was never used reads 0."""
        meter = self.known.get(key)
        if meter is None:
            meter = self.known[key] = Meter()
        return meter

    def load(self, keys: Iterable[MeterKey]) -> Steps[None]:
        """Read these meters, unless they are known."""
        wanted = [key for key in dict.fromkeys(keys) if key not in self.known]
        if not wanted:
            return
        asked = {"keys": json_text(wanted)}
        rows = yield from ask(Statement("meters_by_key", asked, locks=self.locks))
        self.known.update((key, Meter()) for key in wanted)
        for queue, scope, target, tat, closed_until in rows:
            self.known[MeterKey(queue, scope, target)] = Meter(tat, closed_until)

    def write(self) -> Steps[None]:
        """Write down what was used up."""
        spent = [(*key, meter.tat, meter.tat) for key, meter in self.known.items() if meter.spent]
        if spent:
            yield from ask(Many("spend_meters", spent))


def shut(closings: dict[MeterKey, Micros], now: Micros) -> Steps[None]:
    """Shut these gates until then, or longer if they were to be shut for longer."""
    if closings:
        rows = [(*key, now, until, until) for key, until in closings.items()]
        yield from ask(Many("shut_gates", rows))


def reopen(closings: dict[MeterKey, Micros]) -> Steps[None]:
    """Open the gates that are shut until this very moment."""
    if closings:
        yield from ask(Many("reopen_gates", [(*key, until) for key, until in closings.items()]))
