"""Schedules: cron or interval that makes jobs."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from oxmill.model.job import Enqueued, NewJob
from oxmill.model.value import Micros, Value

CODE: Final = "code"
"""The source of a schedule that follows the code."""


class CatchUp(StrEnum):
    """What to do about ticks that fell due while no scheduler ran."""

    SKIP = "skip"
    ONE = "one"
    """The newest missed tick only."""
    ALL = "all"
    """Every missed tick within the window."""


class Overlap(StrEnum):
    """What to do when a tick falls due while the last one's job is still live."""

    ALLOW = "allow"
    SKIP = "skip"
    QUEUE_ONE = "queue_one"
    """At most one waits behind the one that runs."""


class Schedule(Value, frozen=True):
    """When to make which job. The tick (name, instant) makes at most one job."""

    name: str
    job: NewJob
    """The template; id, delay and unique key are set per tick."""
    cron: str | None = None
    every: Micros | None = None
    zone: str = "UTC"
    catch_up: CatchUp = CatchUp.ONE
    window: Micros = 3_600_000_000
    """How far back a missed tick still counts."""
    overlap: Overlap = Overlap.ALLOW
    jitter: Micros = 0
    """Each tick's job is delayed by up to this, the same on every scheduler."""
    source: str = CODE
    """`code`, or who has changed its times: then a worker that starts leaves them as they are."""


class ScheduleInfo(Value, frozen=True):
    """A schedule as recorded."""

    schedule: Schedule
    paused: bool
    next_at: Micros | None
    """The next tick; `None` until a scheduler has worked it out."""
    last_at: Micros | None = None
    last_job: str | None = None
    error: str | None = None
    """Why the schedule cannot be worked out, if it cannot."""


class PutSchedules(Value, frozen=True):
    """Put, drop, pause and resume schedules by name, in one step.

    A put of an unchanged schedule keeps its next tick; of a changed one, clears it. Pausing keeps
    the schedule; resuming clears its next tick, so that nothing is made up for the pause.
    """

    put: tuple[Schedule, ...] = ()
    drop: tuple[str, ...] = ()
    pause: tuple[str, ...] = ()
    resume: tuple[str, ...] = ()
    author: str = ""


class SchedulesPut(Value, frozen=True):
    """How many schedules changed."""

    changed: int


class ListSchedules(Value, frozen=True):
    """All schedules, or only those that need a scheduler now: due, or without a next tick."""

    due_only: bool = False
    limit: int = 1_000


class Schedules(Value, frozen=True):
    """The schedules asked for, by name, with the store's time."""

    items: tuple[ScheduleInfo, ...]
    now: Micros


class Fire(Value, frozen=True):
    """Make the jobs of some ticks and set the next one, if `expected` is still the next tick."""

    name: str
    expected: Micros | None
    next_at: Micros | None
    jobs: tuple[NewJob, ...] = ()
    tick: Micros | None = None
    """The newest tick that these jobs stand for."""
    error: str | None = None


class Fired(Value, frozen=True):
    """Whether this call won the tick; if so, the answers for its jobs."""

    won: bool
    answers: tuple[Enqueued, ...] = ()
