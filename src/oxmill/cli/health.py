"""What is wrong with a running system, as a pure decision over what the store shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from oxmill.model.info import Finding, Level, QueueInfo, Schema, WorkerInfo
from oxmill.model.schedule import ScheduleInfo
from oxmill.model.settings import SECOND
from oxmill.model.state import State
from oxmill.model.value import Micros
from oxmill.rules.duration import spell

LATE_TICK: Micros = 60 * SECOND
"""A tick overdue by more than this has no scheduler."""
CLOCK_SKEW: Micros = 5 * SECOND
"""This machine's clock may be off from the store's by this before it confuses people."""


class Scene(NamedTuple):
    """What the store shows at one moment."""

    now: Micros
    queues: tuple[QueueInfo, ...] = ()
    workers: tuple[WorkerInfo, ...] = ()
    schedules: tuple[ScheduleInfo, ...] = ()
    schema: Schema | None = None
    here: Micros | None = None
    """This machine's time, taken together with `now`."""


def problems(scene: Scene) -> tuple[Finding, ...]:
    """Everything worth a person's attention, the worst first."""
    found = (*_schema(scene), *_queues(scene), *_schedules(scene), *_clock(scene))
    order = list(Level)
    return tuple(sorted(found, key=lambda finding: order.index(finding.level)))


def _schema(scene: Scene) -> Iterator[Finding]:
    schema = scene.schema
    if schema is None or schema.current == schema.newest:
        return
    level, risk, remedy = Level.WARN, "", "oxmill db migrate"
    if not schema.current:
        level, risk = Level.NOTE, "none: the store is empty and is set up at its first use"
    elif schema.pending:
        risk = "the next app or worker that opens the store migrates it, at a moment it picks"
    else:
        risk = "the store was migrated by a newer Oxmill than this one"
        remedy = 'pip install --upgrade "oxmill"'
    yield Finding(
        level=level,
        name="schema",
        found=f"version {schema.current}",
        wanted=f"version {schema.newest}",
        risk=risk,
        remedy=remedy,
    )


def _queues(scene: Scene) -> Iterator[Finding]:
    served = {name for worker in scene.workers for name in worker.queues}
    for info in scene.queues:
        waiting = info.counts.get(State.WAITING, 0)
        if waiting and info.rules:
            yield _closed(info, waiting)
        elif waiting and info.name not in served:
            yield Finding(
                level=Level.WARN,
                name=f"queue {info.name}",
                found=f"{waiting:,} waiting, no worker serves it",
                wanted="a worker",
                risk="these jobs do not run",
                remedy=f"oxmill worker -q {info.name}",
            )
        if failed := info.counts.get(State.FAILED, 0):
            yield Finding(
                level=Level.NOTE,
                name=f"queue {info.name}",
                found=f"{failed:,} failed",
                wanted="none",
                risk="they are kept until their retention ends, then deleted",
                remedy=f"oxmill jobs list -q {info.name} -s failed",
            )


def _closed(info: QueueInfo, waiting: int) -> Finding:
    rule = info.rules[0]
    reason = f": {rule.reason}" if rule.reason else ""
    return Finding(
        level=Level.NOTE,
        name=f"queue {info.name}",
        found=f"{waiting:,} waiting behind a {rule.kind}{reason}",
        wanted="open",
        risk="these jobs do not run",
        remedy=f"oxmill queues {'unblock' if rule.kind == 'block' else 'resume'} {info.name}",
    )


def _schedules(scene: Scene) -> Iterator[Finding]:
    for info in scene.schedules:
        name = f"schedule {info.schedule.name}"
        if info.error:
            yield Finding(
                level=Level.WARN,
                name=name,
                found=info.error,
                wanted="a schedule that can be worked out",
                risk="it makes no jobs",
                remedy="mend its expression in the code and start a worker",
            )
        elif not info.paused and info.next_at is not None and scene.now - info.next_at > LATE_TICK:
            yield Finding(
                level=Level.WARN,
                name=name,
                found=f"its tick is late by {spell(scene.now - info.next_at)}",
                wanted="a running scheduler",
                risk="it makes no jobs",
                remedy="oxmill worker",
            )


def _clock(scene: Scene) -> Iterator[Finding]:
    if scene.here is None:
        return
    skew = abs(scene.here - scene.now)
    if skew > CLOCK_SKEW:
        yield Finding(
            level=Level.NOTE,
            name="clock",
            found=f"{spell(skew)} off the store's",
            wanted="the same time",
            risk="none for jobs, as the store's clock decides; ages shown here are off",
            remedy="set this machine's clock",
        )
