"""Enqueueing: jobs come in."""

from __future__ import annotations

from typing import Protocol

from oxmill.model.job import Enqueue, Enqueued, NewJob
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

    def prepare(self, like: NewJob, /) -> Prepared:
        """What stores jobs like this one, which differ from it in id and payload only. It may do once
        what `enqueue` does for each, and never refuses: what is wrong with such jobs is said when
        one is enqueued."""
        ...


class Prepared(Protocol):
    """Takes in single jobs of one kind."""

    def enqueue(self, job_id: str, payload: bytes, /) -> Plan[tuple[Enqueued, ...]]:
        """Does, answers and refuses what `Enqueueing.enqueue` would for a batch of this one job."""
        ...
