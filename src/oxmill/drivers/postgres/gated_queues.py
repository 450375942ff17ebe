"""What one driver remembers about gated queues, so that a claim can be one call."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

import msgspec

from oxmill.drivers.sql.limits import group_slots
from oxmill.model.settings import QueueSettings
from oxmill.rules.rate import rate

Terms = Mapping[str, Any]
"""The parameters of `claim_gated` that come from settings."""

_UNSET: Final[Terms] = {
    "known": None,
    "slots": None,
    "pace": None,
    "burst": None,
    "group_slots": None,
    "group_pace": None,
    "group_burst": None,
}
_MOMENT: Final = 1.0
"""Seconds after which settings are read again that take the long way."""


class GatedQueues:
    """Queues that were gated when they were last looked at, and the limits that they had. The server
    does not rely on it: it compares the settings, and a claim on others takes the long way."""

    __slots__ = ("_clock", "_long_until", "_terms")

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._terms: dict[str, Terms] = {}
        self._long_until: dict[str, float] = {}

    def any(self, queues: Sequence[str]) -> bool:
        """Whether one of these was gated."""
        return not self._terms.keys().isdisjoint(queues)

    def terms_of(self, queues: Sequence[str]) -> Terms | None:
        """What a call needs that claims from these queues, if it may do."""
        if len(queues) > 1 or self._long_until.get(queues[0], 0.0) > self._clock():
            return None
        return self._terms.get(queues[0])

    def see(self, queues: Sequence[str], gated: Collection[str]) -> None:
        """Those of these queues are gated, the others are not."""
        for queue in queues:
            if queue not in gated:
                self._terms.pop(queue, None)
                self._long_until.pop(queue, None)
            else:
                self._terms.setdefault(queue, _UNSET)

    def learn(self, queue: str, text: str | None) -> None:
        """These are the settings of a gated queue, or it has none."""
        settings = QueueSettings() if text is None else _settings(text)
        if settings.group_weights or settings.ageing is not None:
            self._long_until[queue] = self._clock() + _MOMENT
            return
        self._terms[queue] = {
            "known": text,
            "slots": settings.concurrency,
            **_pace("pace", "burst", settings.rate),
            "group_slots": group_slots(settings),
            **_pace("group_pace", "group_burst", settings.group_rate),
        }


def _pace(interval: str, burst: str, written: str | None) -> Terms:
    if written is None:
        return {interval: None, burst: None}
    found = rate(written)
    return {interval: found.interval, burst: found.burst}


def _settings(text: str) -> QueueSettings:
    return msgspec.json.decode(text, type=QueueSettings)
