"""What is wrong with a running system: a pure decision."""

import pytest

from oxmill.cli.health import Scene, problems
from oxmill.model.info import Level, QueueInfo, Schema, WorkerInfo
from oxmill.model.job import NewJob
from oxmill.model.rule import Rule, RuleKind
from oxmill.model.schedule import Schedule, ScheduleInfo
from oxmill.model.settings import QueueSettings
from oxmill.model.state import State

NOW = 1_000_000_000_000
SECOND = 1_000_000


def queue(rules=(), **counts):
    return QueueInfo(
        name="mail",
        counts={State(state): number for state, number in counts.items()},
        totals={},
        oldest_waiting=None,
        rules=rules,
        settings=QueueSettings(),
    )


def worker():
    return WorkerInfo(id="w", host="h", pid=1, version="0", queues=("mail",), slots=1)


def schedule(**more):
    job = NewJob(id="-", queue="mail", task="t", payload=b"")
    known = {"schedule": Schedule(name="s", job=job, every=SECOND), "paused": False}
    return ScheduleInfo(**(known | {"next_at": NOW} | more))


@pytest.mark.parametrize(
    ("scene", "level", "words"),
    [
        ({"queues": (queue(waiting=3),)}, Level.WARN, "3 waiting, no worker"),
        (
            {"queues": (queue((Rule(kind=RuleKind.PAUSE, target="mail"),), waiting=3),)},
            Level.NOTE,
            "behind a pause",
        ),
        ({"queues": (queue(failed=2),)}, Level.NOTE, "2 failed"),
        ({"schedules": (schedule(error="bad"),)}, Level.WARN, "bad"),
        ({"schedules": (schedule(next_at=NOW - 61 * SECOND),)}, Level.WARN, "late by 1m 1s"),
        ({"schema": Schema(current=0, newest=2)}, Level.NOTE, "version 0"),
        ({"schema": Schema(current=1, newest=2)}, Level.WARN, "version 1"),
        ({"schema": Schema(current=3, newest=2)}, Level.WARN, "version 3"),
        ({"here": NOW + 6 * SECOND}, Level.NOTE, "6s off"),
    ],
)
def test_a_problem_is_found(scene, level, words):
    (finding,) = problems(Scene(now=NOW, **scene))
    assert finding.level is level
    assert words in finding.found
    assert finding.remedy


@pytest.mark.parametrize(
    "scene",
    [
        {},
        {"queues": (queue(waiting=3),), "workers": (worker(),)},
        {"queues": (queue(succeeded=3, running=1),)},
        {"schedules": (schedule(),)},
        {"schedules": (schedule(next_at=NOW - 61 * SECOND, paused=True),)},
        {"schedules": (schedule(next_at=None),)},
        {"schema": Schema(current=2, newest=2)},
        {"here": NOW + SECOND},
    ],
)
def test_health_is_silent(scene):
    assert problems(Scene(now=NOW, **scene)) == ()


def test_the_worst_comes_first():
    scene = Scene(now=NOW, queues=(queue(waiting=1, failed=1),), here=NOW + 6 * SECOND)
    levels = [finding.level for finding in problems(scene)]
    assert levels == [Level.WARN, Level.NOTE, Level.NOTE]
