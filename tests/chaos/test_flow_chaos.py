"""Workers killed at every step of fan-out, child's end and join: each flow ends right, once."""

import signal

import pytest

from oxmill.model.flow import FlowStatus
from oxmill.model.state import State
from oxmill.queue.draft import Draft
from oxmill.queue.flows import FlowBook
from oxmill.store.capabilities import Capability
from oxmill.worker.flow_store import INLINE

from . import tasks


@pytest.fixture
def flows(scene):
    """The scene, on a store that can do flows; the tasks' own client looks at the same file."""
    if Capability.FLOWS not in scene.driver.capabilities:
        pytest.skip("this store has no flows")
    with tasks.app._client.lend(scene.driver):
        yield scene


def killed(scene, kill, **options):
    """A worker that dies at that step, then one that does not."""
    first = scene.worker(slots=1, lease=0.5, kill=kill, **options)
    assert first.code() == -signal.SIGKILL
    scene.worker(slots=4, lease=2)


def children(scene):
    path = scene.folder / "children"
    return [int(line) for line in path.read_text().split()] if path.exists() else []


STEPS = [
    ("settle", 1, "before"),  # the parent's children are not there yet
    ("settle", 1, "after"),  # they are, and the parent is held
    ("settle", 2, "before"),  # a child has run, nobody knows
    ("settle", 2, "after"),  # its edge is closed
    ("settle", 4, "before"),  # the last child has run
    ("settle", 4, "after"),  # the join has fired
    ("get", 1, "after"),  # the results are looked up
    ("settle", 5, "before"),  # the continuation has run
    ("settle", 5, "after"),  # and its end is stored
]


@pytest.mark.parametrize("kill", STEPS, ids=lambda kill: "-".join(map(str, kill)))
def test_a_worker_killed_at_a_step_of_fan_out_and_join(flows, kill):
    job = tasks.parent.enqueue(str(flows.folder), 3)
    killed(flows, kill)
    record = flows.ended(job.id)

    assert (record.state, record.result) == (State.SUCCEEDED, b"3")
    tree = tasks_flow(job.id).tree()
    assert [each.state for each in tree.jobs] == [State.SUCCEEDED] * 4
    assert tree.flow.status is FlowStatus.SUCCEEDED
    # What was settled is not run again: at most the one child that was under way runs twice.
    ran = children(flows)
    assert set(ran) == {0, 1, 2}
    assert 3 <= len(ran) <= 3 + sum(each.crashes for each in tree.jobs if each.parent)
    assert sum(each.crashes for each in tree.jobs) <= 1


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


def tasks_flow(flow_id):
    return FlowBook(tasks.app._client)[flow_id]
