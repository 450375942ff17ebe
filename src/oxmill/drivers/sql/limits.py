"""The limits that settings hold, in the form in which statements and claims use them."""

from __future__ import annotations

from typing import Final

import msgspec

from oxmill.drivers.sql.rows import json_text
from oxmill.drivers.sql.steps import Statement
from oxmill.model.settings import QueueSettings
from oxmill.store.plan import Steps, ask

ANY_LIMIT: Final = 1
QUEUE_SLOTS: Final = 2
GROUP_SLOTS: Final = 4


def load_settings(queues: set[str]) -> Steps[dict[str, QueueSettings]]:
    """The settings of these queues, as far as any were put."""
    if not queues:
        return {}
    rows = yield from ask(Statement("settings_of", {"queues": json_text(queues)}))
    return {queue: msgspec.json.decode(text, type=QueueSettings) for queue, text in rows}


def group_slots(settings: QueueSettings) -> int | None:
    """How many jobs of one group may run at once."""
    return 1 if settings.ordered_groups else settings.group_concurrency


def limits_of(settings: QueueSettings) -> int:
    """What kinds of limits there are, as a number that statements can read."""
    found = ANY_LIMIT if settings.limits else 0
    if settings.concurrency is not None:
        found |= QUEUE_SLOTS
    if group_slots(settings) is not None:
        found |= GROUP_SLOTS
    return found


def frees(limits: int, group: str | None) -> bool:
    """Whether others may start because a job runs no longer."""
    return bool(limits & QUEUE_SLOTS or (group is not None and limits & GROUP_SLOTS))
