"""Queue settings, kept in the store and changed at run time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from oxmill.model.value import Micros, Value

SECOND: Final[Micros] = 1_000_000
DAY: Final[Micros] = 86_400 * SECOND


class QueueSettings(Value, frozen=True):
    """Settings of one queue. Unset limits cost nothing."""

    keep_succeeded: Micros = DAY
    keep_failed: Micros = 30 * DAY
    keep_cancelled: Micros = DAY
    concurrency: int | None = None
    """Jobs running at once over all workers."""
    rate: str | None = None
    """Starts per time over all workers, such as `100/s`, `10/10s` or `5/min burst 2`."""
    group_concurrency: int | None = None
    """Jobs of one group running at once."""
    group_rate: str | None = None
    """Starts per time of each group."""
    group_weights: Mapping[str, int] = {}
    """Jobs that a group is given per turn; 1 unless named here."""
    ordered_groups: bool = False
    """One job of a group at a time, strictly in order."""
    ageing: Micros | None = None
    """Waiting this long improves the priority by one."""

    @property
    def limits(self) -> bool:
        """Whether any limit is set."""
        return (
            self.concurrency is not None
            or self.rate is not None
            or self.group_concurrency is not None
            or self.group_rate is not None
            or bool(self.group_weights)
            or self.ordered_groups
            or self.ageing is not None
        )

    @property
    def summary(self) -> str:
        """What its event says: the limits that are set, such as `concurrency=5 rate=10/s`."""
        given: dict[str, object] = {
            "concurrency": self.concurrency,
            "rate": self.rate,
            "group_concurrency": self.group_concurrency,
            "group_rate": self.group_rate,
            "ageing": None if self.ageing is None else f"{self.ageing / SECOND:g}s",
            "ordered_groups": self.ordered_groups or None,
            **{f"weight[{group}]": n for group, n in sorted(self.group_weights.items())},
        }
        return " ".join(f"{name}={value}" for name, value in given.items() if value is not None)


class PutSettings(Value, frozen=True):
    """Put the settings of one queue, all of them or some."""

    queue: str
    settings: QueueSettings
    only: tuple[str, ...] = ()
    """Put those of these names, and leave the others as they are; all if none is named."""
    author: str = ""

    def onto(self, before: QueueSettings) -> QueueSettings:
        """What holds once this is put."""
        if not self.only:
            return self.settings
        return replace(before, **{name: getattr(self.settings, name) for name in self.only})
