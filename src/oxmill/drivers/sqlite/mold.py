"""Single plain jobs of one kind: what their rows have in common is checked and made once.

Every usual enqueue of blocking code comes through here. After each wait for the disk all that it
touches is cold, so the less that is, the better.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from oxmill.drivers.sqlite.binding import plain_form
from oxmill.model.bounds import Bounds
from oxmill.model.job import Enqueued, EnqueueOne
from oxmill.model.state import State
from oxmill.store.plan import Plan, Steps
from oxmill.store.prepared import BatchOfOne

Row = tuple[Any, ...]

_WAITING: Final = State.WAITING.value


class Mold(msgspec.Struct, frozen=True, gc=False):
    """Makes jobs of one kind, which is known to be sound and plain."""

    usual: BatchOfOne
    """How jobs of this kind are stored beside others."""
    id_bytes: int
    payload_bytes: int
    insert: str
    """The statement, of which the rows have in common:"""
    where: Row
    """what stands between the time of the enqueue and the moment when the job is due,"""
    terms: Row
    """and between that and the payload."""
    counts: tuple[Row, Row]
    """What one more job adds: to the numbers drawn, and to those who wait."""

    def enqueue(self, job_id: str, payload: bytes) -> Plan[tuple[Enqueued, ...]]:
        """The same as a batch of this one job."""
        if not (
            type(job_id) is str
            and type(payload) is bytes
            and 0 < len(job_id) <= self.id_bytes
            and len(payload) <= self.payload_bytes
            and job_id.isascii()
            and job_id.isprintable()
        ):
            return self.usual.enqueue(job_id, payload)  # which says what is wrong, if anything is
        cast = Cast(like=self.usual.like, id=job_id, payload=payload, mold=self)
        return Plan("enqueue", cast, cast)


class Cast(EnqueueOne, frozen=True, gc=False):
    """A job that was made in a mold, and how it is started. Who performs nothing beside it may store
    it as it is."""

    mold: Mold

    def __call__(self) -> Steps[tuple[Enqueued, ...]]:
        """The steps of the usual plan."""
        return self.usual().start()

    def usual(self) -> Plan[tuple[Enqueued, ...]]:
        """The plan that stores it beside others."""
        return self.mold.usual.enqueue(self.id, self.payload)


def mold_of(usual: BatchOfOne, bounds: Bounds) -> Mold:
    """The mold of a kind that is sound and plain."""
    insert, where, terms = plain_form(usual.like)
    return Mold(
        usual=usual,
        id_bytes=bounds.id_bytes,
        payload_bytes=bounds.payload_bytes,
        insert=insert,
        where=where,
        terms=terms,
        counts=(("", "seq", 1, 0), (usual.like.queue, _WAITING, 1, 0)),
    )
