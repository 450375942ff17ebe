"""One plain new job: the plan that callers wait for most often, with as little around it as can be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from oxmill.drivers.mysql.arriving import texts_of_one
from oxmill.drivers.mysql.faults import Taken
from oxmill.drivers.mysql.literals import SERVER_TIME, literal
from oxmill.drivers.mysql.session import Frame, Session
from oxmill.drivers.mysql.talk import Talk
from oxmill.drivers.sql.rows import extras_of
from oxmill.drivers.sql.steps import Fresh, Start
from oxmill.model.job import Enqueued, NewJob, Verdict
from oxmill.model.value import Micros
from oxmill.store.plan import Plan


def lone_job(plan: Plan[Any]) -> Sequence[NewJob] | None:
    """The jobs of the plan, if it stores just one that needs no more than its own row."""
    start = plan.start
    if not isinstance(start, Start) or type(fresh := start.shortcut) is not Fresh:
        return None
    if len(fresh.jobs) != 1:
        return None
    job = fresh.jobs[0]
    plain = job.group is None and job.run_at is None and extras_of(job) is None
    return fresh.jobs if plain else None


def storing(
    plan: Plan[Any], jobs: Sequence[NewJob], clock: Callable[[], Micros] | None, frame: Frame
) -> Talk[Any]:
    """What is said to store it: one packet, in which the server fills in the moment. If the id is taken
    the plan goes its long way."""
    (job,) = jobs
    moment = SERVER_TIME if clock is None else literal(clock())
    state, texts = texts_of_one(job, moment)
    try:
        yield [*frame.opening, *texts, *frame.closing]
    except Taken:
        return (yield from Session(clock, frame, refused=jobs).talk(plan))
    return (Enqueued(id=job.id, verdict=Verdict.CREATED, state=state),)
