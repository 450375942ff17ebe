"""Workers killed at every step of fan-out, child's end and join: each flow ends right, once."""

import signal

import pytest

from oxmill.model.flow import FlowStatus
from oxmill.model.state import State
from oxmill.queue.draft import Draft
from oxmill.store.capabilities import Capability
from oxmill.worker.flow_store import INLINE

from . import tasks
from .kill_cases import KillCases, children, killed


@pytest.fixture
def flows(scene):
    """The scene, on a store that can do flows; the tasks' own client looks at the same file."""
    if Capability.FLOWS not in scene.driver.capabilities:
        pytest.skip("this store has no flows")
    with tasks.app._client.lend(scene.driver):
        yield scene


class TestKilled(KillCases):
    pass


@pytest.mark.parametrize(
    "kill",
    [
        ("enqueue", 1, "before"),
        ("enqueue", 1, "after"),
        ("settle", 1, "before"),
        ("settle", 1, "after"),
    ],
    ids=lambda kill: "-".join(map(str, kill)),
)
def test_a_worker_killed_while_it_stages_many_children(flows, kill):
    number = INLINE + 100
    job = tasks.parent.enqueue(str(flows.folder), number)
    first = flows.worker(slots=1, lease=0.5, kill=kill)
    assert first.code() == -signal.SIGKILL
    if kill != ("settle", 1, "after"):
        assert children(flows) == []
    flows.worker(slots=20, lease=5)
    record = flows.until(lambda: (job.refresh().state is State.SUCCEEDED) and job.record, bound=60)

    assert record.result == str(sum(range(number))).encode()
    assert sorted(children(flows)) == list(range(number))


@pytest.mark.parametrize(
    "kill",
    [
        ("settle", 1, "before"),
        ("settle", 1, "after"),
        ("settle", 2, "before"),
        ("settle", 2, "after"),
    ],
    ids=lambda kill: "-".join(map(str, kill)),
)
def test_a_worker_killed_between_steps_merges_once(flows, kill):
    pipeline = tasks.app.pipeline("p", tasks.first, tasks.second)
    flow = pipeline.start({"n": 1})
    killed(flows, kill)
    flow.outcome(timeout=15)

    assert flow.state() == {"n": 20}
    assert [each.state for each in flow.tree().jobs] == [State.SUCCEEDED] * 2


def test_a_graph_survives_workers_that_are_killed_again_and_again(flows):
    with Draft("graph", tasks.app._client, {}) as f:
        parents = [f.add(tasks.parent, str(flows.folder), n) for n in range(1, 9)]
        last = f.add(tasks.quick).after(*parents)
    for number in (3, 5, 7):
        worker = flows.worker(slots=3, lease=0.5, kill=("settle", number, "after"))
        assert worker.code() == -signal.SIGKILL
    flows.worker(slots=4, lease=2)

    assert f.outcome(timeout=30).status is FlowStatus.SUCCEEDED
    assert [f.result(each) for each in parents] == [sum(range(n)) for n in range(1, 9)]
    assert f.result(last)
    assert len(f.tree().jobs) == 9 + sum(range(1, 9))
