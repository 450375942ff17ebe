"""What is done to any number of jobs, in bounded steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oxmill.model.query import Cancel, Purge, Redrive, Steered
from oxmill.queue.talk import Talk
from oxmill.store.plan import Plan


def repeat(step: Callable[[Any], Plan[Steered]], request: Cancel | Redrive | Purge) -> Talk[int]:
    """Steer in bounded steps until nothing is left to do."""
    total = 0
    while True:
        steered: Steered = yield step(request)
        changed = len({*steered.ids, *steered.asked})
        total += changed
        if not steered.more or not changed:
            return total
