"""Pages of jobs, newest arrival first, over any number of shards."""

from __future__ import annotations

from collections import deque
from typing import Any, Final

from oxmill.drivers.redis.record import recorded
from oxmill.drivers.redis.script import FIND, Call
from oxmill.drivers.redis.space import Space
from oxmill.drivers.redis.steering import filter_of
from oxmill.errors import BadInput
from oxmill.model.job import Job
from oxmill.model.query import Find, Page
from oxmill.store.admission import check_find
from oxmill.store.plan import Steps, Together, ask

_LOOKS: Final = 64
"""Bounded steps that one find takes at most; a page may then be short."""
_NUMBER_BYTES: Final = 6
_TOP: Final = 0
_BOTTOM: Final = 1
"""The first number of arrival: nothing is below it."""
_MARK: Final = "-"


class Strand:
    """The jobs of one shard, as far as they have been found and not yet put on a page."""

    def __init__(self, shard: int, position: int) -> None:
        self.shard = shard
        self.position = position
        """Go on below this number of arrival; 0 is the top."""
        self.found: deque[tuple[int, Job]] = deque()
        self._edge = position
        """Where to look on once everything found is on a page."""

    @property
    def ended(self) -> bool:
        """Whether nothing is left."""
        return not self.found and self.position == _BOTTOM

    @property
    def dry(self) -> bool:
        """Whether only another look can tell what comes next."""
        return not self.found and self.position != _BOTTOM

    @property
    def newest(self) -> tuple[int, int, int]:
        """What ranks the next job of this shard among those of the others."""
        number, job = self.found[0]
        return (job.enqueued_at, number, -self.shard)

    def look(self, space: Space, wanted: bytes, limit: int) -> Call:
        """A bounded look for more."""
        edge = b"" if self.position == _TOP else self.position.to_bytes(_NUMBER_BYTES)
        return space.call(FIND, wanted, edge, limit, shard=self.shard)

    def take(self, reply: Any) -> None:
        """What a look has found."""
        more, edge, told, numbers = reply
        jobs = (recorded(each, whole=False) for each in told)
        self.found.extend(zip(map(int.from_bytes, numbers), jobs, strict=True))
        if more:
            self._edge = self.found[-1][0] if self.found else self.position
        else:
            self._edge = int.from_bytes(edge) or _BOTTOM
        if not self.found:
            self.position = self._edge

    def give(self) -> Job:
        """The newest of the jobs found."""
        self.position, job = self.found.popleft()
        if not self.found:
            self.position = self._edge
        return job


def find_page(space: Space, request: Find) -> Steps[Page]:
    """One page, and where the next one starts."""
    wanted, limit = filter_of(request.filter), min(request.limit, space.bounds.page_jobs)
    positions = positions_of(request, space.shards)
    strands = [Strand(shard, position) for shard, position in enumerate(positions)]
    jobs: list[Job] = []
    for _ in range(_LOOKS):
        dry = [strand for strand in strands if strand.dry]
        looks = tuple(strand.look(space, wanted, limit - len(jobs)) for strand in dry)
        for strand, reply in zip(dry, (yield from ask(Together(looks))), strict=True):
            strand.take(reply)
        while len(jobs) < limit and not any(strand.dry for strand in strands):
            full = [strand for strand in strands if strand.found]
            if not full:
                return Page(jobs=tuple(jobs))
            jobs.append(max(full, key=lambda strand: strand.newest).give())
        if len(jobs) == limit:
            break
    if all(strand.ended for strand in strands):
        return Page(jobs=tuple(jobs))
    return Page(jobs=tuple(jobs), next=_MARK.join(str(strand.position) for strand in strands))


def positions_of(request: Find, shards: int) -> list[int]:
    """Where each shard goes on; refuses a cursor that no page gave."""
    if shards == 1 or request.after is None:
        return [check_find(request) or _TOP] * shards
    parts = request.after.split(_MARK)
    if len(parts) != shards or not all(p.isascii() and p.isdigit() and len(p) < 16 for p in parts):
        raise BadInput(
            f"{request.after[:40]!r} is not the cursor of a page; use the `next` of the last"
        )
    return list(map(int, parts))
