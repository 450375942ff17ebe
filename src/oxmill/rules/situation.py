"""A job and its surroundings, and the gates before it: what an explanation is made from."""

from __future__ import annotations

from oxmill.model.info import Place, QueueInfo, WorkerInfo
from oxmill.model.job import Job
from oxmill.model.rule import Rule
from oxmill.model.value import Micros, Value


class Situation(Value, frozen=True):
    """What has to be known about a job and its surroundings to explain it."""

    job: Job
    now: Micros
    queue: QueueInfo | None = None
    workers: tuple[WorkerInfo, ...] = ()
    """All workers with a fresh beat, whatever they serve."""
    holder: Job | None = None
    """The live job that holds this job's unique key, if it is another one."""
    rules: tuple[Rule, ...] = ()
    """Rules on tasks, groups and fields; those on the queue come with it."""
    opens: tuple[Micros, ...] = ()
    """For each of these rules, when a throttle lets the next job start; 0 for now."""
    running: tuple[Job, ...] = ()
    """Some of the jobs that run in its queue and group: they hold what the job waits for."""
    place: Place | None = None
    """Where it stands in line, if it waits there."""
    first: Job | None = None
    """The job before it that goes first in its ordered group."""
    missing: tuple[Job, ...] = ()
    """Those of the jobs it waits for that have not ended; a few, if there are very many."""


class Gate(Value, frozen=True):
    """One condition for a job to run."""

    name: str
    open: bool
    detail: str
    opens_at: Micros | None = None
    """When it opens by itself, if that is known."""
    remedy: str = ""
    """What a person can do about it."""
