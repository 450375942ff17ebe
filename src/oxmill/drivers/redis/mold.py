"""Single plain jobs of one kind: what their records have in common is checked and made once."""

from __future__ import annotations

from typing import Final

import msgspec

from oxmill.drivers.redis.enqueueing import answer_of, is_short, plain_form, way_of
from oxmill.drivers.redis.record import ASIDE_BYTES, pack_id
from oxmill.drivers.redis.script import ENQUEUE
from oxmill.drivers.redis.space import Space
from oxmill.model.job import Enqueued, EnqueueOne
from oxmill.store.plan import Plan, Steps, ask
from oxmill.store.prepared import BatchOfOne

_PLAIN: Final = "plain"


class Mold(msgspec.Struct, frozen=True, gc=False):
    """Makes jobs of one kind, which is known to be sound and plain."""

    usual: BatchOfOne
    """How jobs of this kind are stored beside others."""
    space: Space
    queue: str
    priority: int
    sizes: bytes
    head: bytes
    tail: bytes

    def enqueue(self, job_id: str, payload: bytes) -> Plan[tuple[Enqueued, ...]]:
        """The same as a batch of this one job."""
        if not (
            type(job_id) is str
            and type(payload) is bytes
            and 0 < len(job_id) <= self.space.bounds.id_bytes
            and len(payload) <= ASIDE_BYTES
            and job_id.isascii()
            and job_id.isprintable()
        ):
            return self.usual.enqueue(job_id, payload)  # which says what is wrong, if anything is
        cast = Cast(like=self.usual.like, id=job_id, payload=payload, mold=self)
        return Plan("enqueue", cast, cast)


class Cast(EnqueueOne, frozen=True, gc=False):
    """A job that was made in a mold, and how it is started."""

    mold: Mold

    def __call__(self) -> Steps[tuple[Enqueued, ...]]:
        """One call of the short way."""
        mold, packed = self.mold, pack_id(self.id)
        record = b"%c%b%b%b" % (len(packed), mold.sizes, packed, mold.head)
        rest = mold.tail + self.payload
        call = mold.space.call(ENQUEUE, _PLAIN, mold.queue, mold.priority, record, rest)
        return (answer_of(self.id, (yield from ask(call))[0]),)


def mold_of(usual: BatchOfOne, space: Space) -> Mold | None:
    """The mold of a sound kind, if that is plain."""
    like = usual.like
    if space.shards > 1 or way_of(like) != _PLAIN or not is_short(like):
        return None
    sizes, head, tail = plain_form(like)
    return Mold(
        usual=usual,
        space=space,
        queue=like.queue,
        priority=like.priority,
        sizes=sizes,
        head=head,
        tail=tail,
    )
