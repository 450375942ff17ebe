"""What jobs open and close when they stop running or leave the line."""

from __future__ import annotations

from collections.abc import Mapping

from oxmill.drivers.sql.lanes import free_lanes
from oxmill.drivers.sql.limits import frees, limits_of
from oxmill.drivers.sql.meters import MeterKey, group_key, queue_key, shut
from oxmill.drivers.sql.rows import Standing
from oxmill.model.rule import Scope
from oxmill.model.settings import QueueSettings
from oxmill.model.state import State
from oxmill.model.value import Micros
from oxmill.store.plan import Steps

_DEFAULTS = QueueSettings()


class Departures:
    """Lanes that may open and gates that shut because of what one operation does to jobs."""

    def __init__(self, settings: Mapping[str, QueueSettings]) -> None:
        self.opened: dict[str, None] = {}
        """Queues in which jobs may start because others run no longer."""
        self._settings = settings
        self._left: dict[tuple[str, str], None] = {}
        self._closings: dict[MeterKey, Micros] = {}

    def settings_of(self, job: Standing) -> QueueSettings:
        """The settings of a job's queue."""
        return self._settings.get(job.queue, _DEFAULTS)

    def leave(self, job: Standing) -> None:
        """The job runs no longer, or stands in its lane no longer as it did: what was closed because
        of it may be open."""
        if job.group is not None:
            self._left[job.group, job.queue] = None
        if job.state is State.RUNNING and self.makes_room(job):
            self.opened[job.queue] = None

    def makes_room(self, job: Standing) -> bool:
        """Whether others may start because this job runs no longer."""
        return frees(limits_of(self.settings_of(job)), job.group)

    def close(self, job: Standing, scope: Scope, until: Micros) -> None:
        """The gate of the job's group is shut, or that of its queue if it has none or if that is
        meant."""
        if scope is Scope.QUEUE or job.group is None:
            key = queue_key(job.queue)
        else:
            key = group_key(job.queue, job.group)
        self._closings[key] = max(self._closings.get(key, 0), until)

    def write(self) -> Steps[None]:
        """Write it down."""
        yield from free_lanes(self._left)
        yield from shut(self._closings)
