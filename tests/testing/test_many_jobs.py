"""app.testing() with many jobs: counted, since time says little on a busy machine."""

import sys

import pytest

from oxmill import App, State


@pytest.fixture
def app():
    return App("memory://")


def _calls(work):
    """How many Python functions are called by it."""
    count = 0

    def note(_frame, event, _arg):
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def _plain(app, t, n):
    task = app.task(name="plain")(_same)
    for each in range(n):
        task.enqueue(each)
    t.run_all()
    assert t.succeeded(task) == n


def _one_by_one(app, _t, n):
    task = app.task(name="waited for")(_same)
    for each in range(n):
        assert task.enqueue(each).result() == each


def _pipelines(app, t, n):
    @app.step(name="one")
    async def one(x: int) -> dict[str, int]:
        return {"x": x + 1}

    steps = app.pipeline("steps", one)
    flows = [steps.start({"x": each}) for each in range(n)]
    t.run_all()
    assert flows[-1].outcome().counts == {State.SUCCEEDED: 1}


def _joined(app, t, n):
    task = app.task(name="joined")(_same)
    with app.flow("wide") as flow:
        nodes = [flow.add(task, each) for each in range(n)]
        flow.add(task, 0).after(*nodes)
    t.run_all()
    assert flow.outcome().counts == {State.SUCCEEDED: n + 1}


async def _same(n: int) -> int:
    return n


@pytest.mark.parametrize("work", [_plain, _one_by_one, _pipelines, _joined])
def test_many_jobs_cost_no_more_each_than_a_few(app, work):
    per_job = {}
    for n in (100, 1_000):
        with app.testing() as t:
            per_job[n] = _calls(lambda n=n, t=t: work(app, t, n)) / n

    assert per_job[1_000] < 1.1 * per_job[100], per_job
