"""What jobs open and close when they stop running or leave the line."""

from __future__ import annotations

from collections.abc import Mapping

from oxmill.drivers.sql.lanes import free_lanes
from oxmill.drivers.sql.limits import frees, limits_of
from oxmill.drivers.sql.meters import MeterKey, group_key, queue_key, reopen, shut
from oxmill.drivers.sql.rows import Standing
from oxmill.model.rule import Scope
from oxmill.model.settings import QueueSettings
from oxmill.model.state import State
from oxmill.model.value import Micros
from oxmill.store.plan import Steps

_DEFAULTS = QueueSettings()


class Departures:
    """Lanes that may open and gates that shut because of what one operation does to jobs."""

    def __init__(self, now: Micros, settings: Mapping[str, QueueSettings]) -> None:
        self.opened: dict[str, None] = {}
        """Queues in which jobs may start because others run no longer."""
        self.reopened: dict[str, None] = {}
        """Queues in which jobs may start because others need not be tried again before them."""
        self._now = now
        self._settings = settings
        self._limits: dict[str, int] = {}
        self._left: dict[tuple[str, str], None] = {}
        self._gone: set[int] = set()
        self._closings: dict[MeterKey, Micros] = {}
        self._shut_by: dict[MeterKey, Micros] = {}

    def settings_of(self, job: Standing) -> QueueSettings:
        """The settings of a job's queue."""
        return self._settings.get(job.queue, _DEFAULTS)

    def leave(self, job: Standing) -> None:
        """The job runs no longer, or stands in its lane no longer as it did: what was closed because
        of it may be open. If it was to be tried again later, its ordered group need not wait for that
        any longer, unless others have closed it too."""
        self.look_again(job)
        later = job.state is State.WAITING and job.due_at > self._now
        if later and job.group is not None and job.seq not in self._gone:
            self._shut_by[group_key(job.queue, job.group)] = job.due_at
            self.reopened[job.queue] = None
        self._gone.add(job.seq)
        if job.state is State.RUNNING and self.makes_room(job):
            self.opened[job.queue] = None

    def look_again(self, job: Standing) -> None:
        """The lanes of the job's group are looked at by the next claim."""
        if job.group is not None:
            self._left[job.group, job.queue] = None

    def makes_room(self, job: Standing) -> bool:
        """Whether others may start because this job runs no longer."""
        limits = self._limits.get(job.queue)
        if limits is None:
            limits = self._limits[job.queue] = limits_of(self.settings_of(job))
        return frees(limits, job.group)

    def close(self, job: Standing, scope: Scope, until: Micros) -> None:
        """The gate of the job's group is shut, or that of its queue if it has none or if that is
        meant. Several who shut it do so for a moment longer: see the statement."""
        if scope is Scope.QUEUE or job.group is None:
            key = queue_key(job.queue)
        else:
            key = group_key(job.queue, job.group)
        before = self._closings.get(key, 0)
        self._closings[key] = max(before, until) + 1 if before > self._now else until

    def write(self) -> Steps[None]:
        """Write it down."""
        yield from free_lanes(self._left)
        yield from reopen(self._shut_by)
        yield from shut(self._closings, self._now)
