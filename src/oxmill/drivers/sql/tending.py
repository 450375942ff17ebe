"""What claims and sweeps do for a queue before anything else: due, lapsed and expired jobs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from oxmill.drivers.sql.changes import Changes, changes_to
from oxmill.drivers.sql.flow_rows import Ripple
from oxmill.drivers.sql.lanes import join_lanes
from oxmill.drivers.sql.rows import Standing, failure_text, json_text, standings
from oxmill.drivers.sql.steps import Draw, Many, Rows, Statement
from oxmill.drivers.sql.tally import Tally
from oxmill.model.job import Reason
from oxmill.model.news import NO_NEWS, News
from oxmill.model.settlement import poison
from oxmill.model.state import TERMINAL, State
from oxmill.model.value import Micros
from oxmill.store.plan import Steps, ask

LAPSE: Final = "lapse"

Due = tuple[str, int, int, str | None]
"""Queue, seq, priority and group of a job that is due."""


@dataclass(frozen=True, slots=True)
class Horizon:
    """What comes next in one queue."""

    queue: str
    closed: bool
    waiting: bool
    """Whether any job waits in line."""
    due_at: Micros | None
    lease_until: Micros | None
    expires_at: Micros | None
    gated: bool
    """Whether it may have lanes, limits or rules that a plain claim does not look at."""

    def reached(self, now: Micros) -> bool:
        """Whether there is something to tend to."""
        moments = (self.due_at, self.lease_until, self.expires_at)
        return any(moment is not None and moment <= now for moment in moments)


class Ahead(NamedTuple):
    """What comes next in the queues of a claim, and what was set off by seeing to what was due."""

    horizons: list[Horizon]
    gained: tuple[str, ...] = ()
    news: News = NO_NEWS


@dataclass(slots=True)
class Tended:
    """What was done."""

    lapsed: int = 0
    poisoned: int = 0
    due: int = 0
    expired: int = 0
    ended: list[str] = field(default_factory=list)
    gained: dict[str, None] = field(default_factory=dict)
    """Queues that have gained waiting jobs."""
    news: list[Standing | Ripple] = field(default_factory=list)
    """What it has set off in flows."""


def look_ahead(queues: list[str], now: Micros) -> Steps[list[Horizon]]:
    """What comes next in these queues, in the order asked."""
    rows = yield from ask(Statement("horizon", {"queues": json_text(queues), "now": now}))
    return [
        Horizon(queue, bool(closed), bool(waiting), due_at, lease_until, expires_at, bool(gated))
        for queue, closed, waiting, due_at, lease_until, expires_at, gated in rows
    ]


def tend(horizon: Horizon, now: Micros, limit: int) -> Steps[Tended]:
    """Take back lapsed leases, let due jobs into the line, end expired jobs of one queue; at most
    `limit` of each."""
    done = Tended()
    queue = horizon.queue
    asked = {"queue": queue, "now": now, "most": limit}
    if horizon.lease_until is not None and horizon.lease_until <= now:
        rows = yield from ask(Statement("lapsed", asked, locks=True))
        yield from lapse(rows, now, done)
    if horizon.due_at is not None and horizon.due_at <= now:
        rows = yield from ask(Statement("due", asked, locks=True))
        yield from fall_due([(queue, *row[1:]) for row in rows], done)
    if horizon.expires_at is not None and horizon.expires_at <= now:
        rows = yield from ask(Statement("expired", asked, locks=True))
        yield from expire(rows, now, done)
    return done


def lapse(rows: Rows, now: Micros, done: Tended) -> Steps[None]:
    """Leases that ran out are taken back: a crash each."""
    jobs = standings(row[1:] for row in rows)
    changes = yield from changes_to(jobs, now)
    for job in jobs:
        _lapse_one(changes, job)
        done.lapsed += 1
        done.poisoned += job.state is State.FAILED
        if job.state in TERMINAL:
            done.ended.append(job.id)
        else:
            done.gained[job.queue] = None
    yield from changes.write()
    done.gained.update(changes.gained)
    done.news += changes.news
    done.gained.update(changes.gates.opened)


def _lapse_one(changes: Changes, job: Standing) -> None:
    job.crashes += 1
    changes.finish_attempt(job, LAPSE)
    changes.tell(LAPSE, job.id, detail=job.worker or "")
    if job.cancel_requested:
        changes.end(job, State.CANCELLED, job.reason)
    elif job.crashes >= job.crash_limit:
        job.error = failure_text(poison(job.crashes))
        changes.end(job, State.FAILED, Reason.POISON)
    else:
        changes.move(job, State.WAITING)


def fall_due(jobs: list[Due], done: Tended) -> Steps[None]:
    """These jobs join the end of the line, in this order."""
    if not jobs:
        return
    tally = Tally()
    places = yield from ask(Draw(len(jobs)))
    joining = [(place, job[1]) for place, job in zip(places, jobs, strict=True)]
    yield from ask(Many("join_line", joining))
    yield from join_lanes(
        (group, queue, priority, place)
        for place, (queue, _, priority, group) in zip(places, jobs, strict=True)
    )
    for queue, *_ in jobs:
        tally.move(queue, State.SCHEDULED, State.WAITING)
        done.gained[queue] = None
    done.due += len(jobs)
    yield from tally.write()


def expire(rows: Rows, now: Micros, done: Tended) -> Steps[None]:
    """Jobs whose expiry has passed before their first claim end as cancelled."""
    jobs = standings(row[1:] for row in rows)
    changes = yield from changes_to(jobs, now)
    for job in jobs:
        changes.end(job, State.CANCELLED, Reason.EXPIRED)
        done.expired += 1
        done.ended.append(job.id)
    yield from changes.write()
    done.gained.update(changes.gained)
    done.news += changes.news
