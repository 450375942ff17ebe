"""Enqueueing in a SQLite file."""

from __future__ import annotations

from msgspec.structs import replace

from oxmill.drivers.sql.enqueueing import SqlEnqueueing
from oxmill.drivers.sqlite.binding import is_plain
from oxmill.drivers.sqlite.mold import mold_of
from oxmill.errors import OxmillError
from oxmill.model.bounds import Bounds
from oxmill.model.job import NewJob
from oxmill.store.admission import check_new_job
from oxmill.store.capabilities import Capability
from oxmill.store.prepared import BatchOfOne
from oxmill.store.roles.enqueueing import Prepared


class SqliteEnqueueing(SqlEnqueueing):
    """Takes jobs in; single plain ones by a shorter way."""

    def __init__(self, bounds: Bounds, able: Capability) -> None:
        super().__init__(bounds, able)
        self._limits = bounds, able

    def prepare(self, like: NewJob) -> Prepared:
        """What stores jobs like this one."""
        usual = BatchOfOne(self.enqueue, like)
        try:
            check_new_job(replace(like, id="-", payload=b""), *self._limits)
        except (OxmillError, AttributeError, TypeError):
            return usual  # it will say the same of each job
        bounds, _ = self._limits
        return mold_of(usual, bounds) if like.unique is None and is_plain(like) else usual
