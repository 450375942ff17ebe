"""Single jobs of one kind, where a store has no shorter way for them than for any batch."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from oxmill.model.job import Enqueue, Enqueued, NewJob
from oxmill.store.plan import Plan


class BatchOfOne(msgspec.Struct, frozen=True):
    """Enqueues each as a batch."""

    batch: Callable[[Enqueue], Plan[tuple[Enqueued, ...]]]
    like: NewJob

    def enqueue(self, job_id: str, payload: bytes) -> Plan[tuple[Enqueued, ...]]:
        """The same as a batch of this one job."""
        job = replace(self.like, id=job_id, payload=payload)
        return self.batch(Enqueue(jobs=(job,)))
