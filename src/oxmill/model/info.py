"""What people read: queues, workers, findings, events."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from oxmill.model.news import NO_NEWS, News
from oxmill.model.rule import Rule, Scope
from oxmill.model.settings import QueueSettings
from oxmill.model.state import State
from oxmill.model.value import Micros, Value

MANY: Final = 10_000
"""More jobs in line than this are not counted."""


class ListQueues(Value, frozen=True):
    """These queues, or all that have jobs, settings or rules."""

    queues: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    """Also tell about the gates of these groups, and of the queue itself, in each queue."""
    targets: tuple[tuple[Scope, str], ...] = ()
    """Of the rules on tasks, groups and fields, tell those on these, however many there are."""
    place_of: str | None = None
    """Also tell where this job stands in line."""


class GateInfo(Value, frozen=True):
    """The numbers of the gates of one queue, or of one group in it, now."""

    group: str | None
    """`None` for the queue itself."""
    running: int
    room: int | None = None
    """Starts that its rate and its throttle allow now, none while `RateLimited` closes it; `None` if
    it has neither."""
    opens_at: Micros | None = None
    """When its rate, its throttle and `RateLimited` let the next job start, if later than now."""
    paced_until: Micros | None = None
    """When its rate alone does."""
    throttled_until: Micros | None = None
    """When its throttle alone does."""
    closed_until: Micros | None = None
    """Until when a job has closed it: by `RateLimited`, or in an ordered group because it is to be
    tried again."""
    waiting: int | None = None
    """Jobs of the group in line, as far as that is cheap to know."""


class QueueInfo(Value, frozen=True):
    """One queue now; states with a count of 0 are left out.

    `counts` covers the jobs that are there. `totals` counts every end ever recorded, also of jobs
    that were pruned, purged or redriven since.
    """

    name: str
    counts: Mapping[State, int]
    totals: Mapping[State, int]
    oldest_waiting: Micros | None
    """When the job at the head of the line was enqueued."""
    rules: tuple[Rule, ...]
    settings: QueueSettings
    gates: tuple[GateInfo, ...] = ()
    """What was asked about: the queue's own first, then each group's."""


class Place(Value, frozen=True):
    """Where a job stands in line, among the waiting jobs of its queue and group that are not set
    aside; those without a group have a line of their own."""

    first: str
    """The job at the head of the line; it may be the job itself."""
    ahead: int | None
    """Jobs before it; `None` if there are too many to count."""


class Queues(Value, frozen=True):
    """Queues by name, with the store's time."""

    items: tuple[QueueInfo, ...]
    now: Micros
    rules: tuple[Rule, ...] = ()
    """Rules on tasks, groups and fields, if groups were asked about: on the targets that were named, or
    if none were, the first 1,000."""
    opens: tuple[Micros, ...] = ()
    """For each of these rules, in order: when a throttle lets the next job start; 0 for now, and for
    rules that are none."""
    place: Place | None = None
    """Where the job stands that was asked about, if it waits in line."""


class WorkerInfo(Value, frozen=True):
    """One worker process, by incarnation: the id is new at every start."""

    id: str
    host: str
    pid: int
    version: str
    queues: tuple[str, ...]
    slots: int
    running: int = 0
    done: int = 0
    rss: int = 0
    started_at: Micros = 0
    """Written by the store at the first beat."""
    beat_at: Micros = 0
    """Written by the store at every beat."""
    phase: str = "running"
    """running, quiet or stopping."""
    tasks: tuple[str, ...] = ()


class Mended(Value, frozen=True):
    """What was damaged in a store."""

    returned: int = 0
    """Jobs that stood nowhere, or that nobody could find, and are back in their places."""
    dropped: int = 0
    """Entries of indices whose jobs are gone."""
    recounted: int = 0
    """Groups that counted running jobs that are gone."""


class Command(StrEnum):
    """What people ask of a worker; it learns it with its next beat."""

    NONE = "none"
    QUIET = "quiet"
    STOP = "stop"


class Order(Value, frozen=True):
    """Ask workers to do something."""

    workers: tuple[str, ...]
    command: Command
    author: str = ""


class Ordered(Value, frozen=True):
    """The workers that are there and were asked."""

    workers: tuple[str, ...]


class Beat(Value, frozen=True):
    """A worker says that it is there. It is forgotten `ttl` after its last beat."""

    worker: WorkerInfo
    ttl: Micros
    gone: bool = False
    """The worker leaves: forget it now."""


class Beaten(Value, frozen=True):
    """The store's time and what people ask of the worker."""

    now: Micros
    command: Command = Command.NONE


class ListWorkers(Value, frozen=True):
    """All workers with a fresh beat."""


class Workers(Value, frozen=True):
    """Workers by start, with the store's time."""

    items: tuple[WorkerInfo, ...]
    now: Micros


class Sweep(Value, frozen=True):
    """Look after what nobody claims: lapsed leases, due and expired jobs, ended rules."""

    limit: int = 500


class Swept(Value, frozen=True):
    """What a sweep did. `more` asks for another call."""

    lapsed: int = 0
    poisoned: int = 0
    due: int = 0
    expired: int = 0
    more: bool = False
    queues: tuple[str, ...] = ()
    """Queues that have gained waiting jobs."""
    ended: tuple[str, ...] = ()
    """Jobs that ended."""
    news: News = NO_NEWS
    """Flows that ended, and whether jobs were asked to stop."""


class Prune(Value, frozen=True):
    """Delete ended jobs, events and used-up keys past their retention."""

    limit: int = 1_000


class Pruned(Value, frozen=True):
    """How many jobs went. `more` asks for another call."""

    jobs: int
    more: bool = False


class Level(StrEnum):
    """How bad a finding is."""

    REFUSE = "refuse"
    WARN = "warn"
    NOTE = "note"


class Finding(Value, frozen=True):
    """One thing that the doctor found about the store."""

    level: Level
    name: str
    found: str
    wanted: str
    risk: str
    remedy: str
    passes: bool = False
    """Whether it may pass by itself, as a fail-over does, and nothing is acknowledged and lost until then.
    It keeps workers from starting; those that run name it and go on trying."""


class Event(Value, frozen=True):
    """What people did and what went wrong, in order. Ordinary runs are counted, not recorded."""

    seq: int
    at: Micros
    kind: str
    target: str
    author: str = ""
    detail: str = ""


class EventsAfter(Value, frozen=True):
    """Events with a sequence number above `seq`, oldest first."""

    seq: int = 0
    limit: int = 100


class Schema(Value, frozen=True):
    """The store's schema version beside the code's."""

    current: int
    newest: int
    applied: tuple[str, ...] = ()

    @property
    def pending(self) -> bool:
        """Whether a migration is due."""
        return self.current < self.newest
