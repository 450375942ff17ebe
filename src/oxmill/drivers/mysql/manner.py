"""What a process remembers of the gated queues that it claims from: the next claim begins with that."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import msgspec

from oxmill.drivers.sql.limits import group_slots
from oxmill.model.settings import QueueSettings
from oxmill.model.value import Micros
from oxmill.rules.rate import rate


class Terms(NamedTuple):
    """Settings under which lanes take turns of one job within limits of the queue alone."""

    settings: str | None
    """As they are stored: who uses these terms sees that they are still the same."""
    slots: int | None
    interval: Micros | None
    burst: int | None


@lru_cache(maxsize=256)
def terms_of(settings: str | None) -> Terms | None:
    """The terms that stored settings make, if they are of the usual kind."""
    found = (
        QueueSettings() if settings is None else msgspec.json.decode(settings, type=QueueSettings)
    )
    limited = group_slots(found) is not None or found.group_rate is not None
    if limited or found.group_weights or found.ageing is not None:
        return None
    pace = None if found.rate is None else rate(found.rate)
    interval, burst = (None, None) if pace is None else (pace.interval, pace.burst)
    return Terms(settings, found.concurrency, interval, burst)


@dataclass(slots=True)
class Manner:
    """What claims on a gated queue have found last."""

    crowds: bool = False
    """Whether it matters how many jobs of a group run."""
    depth: int = 2
    """How many jobs of each lane are looked at."""
    terms: Terms | None = None
    """Under these the last claim was of the usual kind, if it was."""
