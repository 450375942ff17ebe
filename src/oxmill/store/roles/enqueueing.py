"""Enqueueing: jobs come in."""

from __future__ import annotations

from typing import Protocol

from oxmill.model.job import Enqueue, Enqueued
from oxmill.store.plan import Plan


class Enqueueing(Protocol):
    """Takes jobs in."""

    def enqueue(self, request: Enqueue, /) -> Plan[tuple[Enqueued, ...]]:
        """All jobs of the batch are stored, or none.

        One answer per job, in order. A job whose id is there with the same queue, task and payload
        is a `DUPLICATE` of itself; with other content it is an `ID_CONFLICT`. Unique keys are
        judged one job after the other within the batch. If any answer is `CONFLICT` or
        `ID_CONFLICT`, nothing of the batch is stored, and the answers say which are to blame.

        Jobs of a flow come with it. A job with `after` is held until its join fires: jobs named
        there must be of the same flow and come earlier in the batch or be there. Jobs that are
        staged are held until their stage is published; publishing is one step, whatever the number.
        """
        ...
